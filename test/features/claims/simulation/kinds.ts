// The kinds of steps that consumers take.

export const KINDS = ["claim", "claim again", "extend", "complete", "claim released", "position"] as const;
export type ClaimKind = (typeof KINDS)[number];

export function isClaim(kind: string): kind is ClaimKind {
  return KINDS.some((one) => one === kind);
}
