// The words of the audit log: who operators are to the gateway, and what its entries call a deed.

/** `admin` may read and change, `reader` may read. */
export const ROLES = ["admin", "reader"] as const;
export type Role = (typeof ROLES)[number];

/** How an operator has shown who he is: with a token, or by an assertion of Cloudflare Access. */
export const PROOFS = ["token", "access"] as const;
export type OperatorProof = (typeof PROOFS)[number];

/** What was done, in the word of whoever does it: `release`, `close-layout`. */
export const AUDIT_WORD = /^[a-z]+(?:-[a-z]+)*$/;
