// The words of the audit log: who operators are to the gateway, and which of their deeds are written down.

/** `admin` may read and change, `reader` may read. */
export const ROLES = ["admin", "reader"] as const;
export type Role = (typeof ROLES)[number];

/** How an operator has shown who he is: with a token, or by an assertion of Cloudflare Access. */
export const PROOFS = ["token", "access"] as const;
export type OperatorProof = (typeof PROOFS)[number];

export const AUDITED = [
  "release",
  "resolve",
  "forget",
  "release-all",
  "resolve-all",
  "forget-all",
  "forget-scope",
  "resend",
  "drop",
  "set-position",
  "close-layout",
  "end-sessions",
  "try-queue",
  "read-body",
  "sign-in",
] as const;
export type AuditedChange = (typeof AUDITED)[number];
