// An issuer of tokens that prove who somebody is: a caller, or an operator behind Cloudflare Access.

/** Signature algorithms with a public key that workerd has. None of them has a secret that the gateway would have to know. */
export const JWT_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number];

/** An issuer of tokens, and what its tokens must be. */
export interface TrustedIssuer {
  /** The `iss` of its tokens. It is part of the identity's value, so that the callers of two issuers never meet. */
  readonly issuer: string;
  /** At least one of these must be in `aud`. */
  readonly audience: readonly string[];
  /** Where the caller's id is in the claims: the names to follow. */
  readonly claim: readonly string[];
  /** Where its public keys are. */
  readonly jwks: string;
  readonly algorithms: readonly JwtAlgorithm[];
  readonly clockToleranceMs: number;
}
