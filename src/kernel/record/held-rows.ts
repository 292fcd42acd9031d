// What an object may hold, by kinds: all that would be lost to operators and clients without its layout.

export const HELD = ["records", "bodies", "events", "positions", "alerts", "audit entries"] as const;
export type HeldKind = (typeof HELD)[number];

/** So many of a kind are counted in an object at most: it is asked every few seconds, and the question is whether there are any. */
export const MAX_HELD = 100;

/** How many of one kind: MAX_HELD stands for more, too. */
export interface HeldRows {
  readonly what: HeldKind;
  readonly count: number;
}
