// Proves who a caller is from a JWT (RFC 7519) that a trusted issuer has signed. What a token says about its own key (`jwk`, `jku`,
// `x5u`) counts for nothing: keys come from the configured JWKS alone, algorithms from the configured list. A replay does not
// pay for the signature again: proved tokens are remembered by their digest for a short time, and only until they expire.

import { createLocalJWKSet, decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from "jose";
import type { TrustedIssuer } from "../config/trusted-issuer.ts";
import type { CredentialFault } from "../record/caller-problem.ts";
import type { ClientProblem } from "../record/problem.ts";
import { callerIdAt } from "./read-json.ts";
import { digest } from "./digest.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import { KeySet } from "./key-set.ts";
import type { Fetcher } from "./pass-through.ts";
import type { CallerProof } from "./scope.ts";
import type { WaitUntil } from "./shared-work.ts";

/** Decoding a longer token would take the isolate too long, and few servers accept one. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/** How long a proved token is not proved again. For as long, a key that the issuer withdraws still counts. */
const PROVED_MS = 60_000;

/** A token that names no key is tried with each key of its kind, up to this many. */
const MAX_TRIES = 4;

export interface JwtPorts {
  readonly network: Fetcher;
  readonly waitUntil: WaitUntil;
}

/** Finds the key for a token's header. */
type FindKey = ReturnType<typeof createLocalJWKSet>;

interface IssuerWithKeys extends TrustedIssuer {
  readonly keySet: KeySet<FindKey>;
}

export class JwtProver {
  /** By `iss`. */
  readonly #issuers: ReadonlyMap<string, IssuerWithKeys>;
  readonly #proved = new ExpiringCache<CallerProof>();

  constructor(issuers: readonly TrustedIssuer[], ports: JwtPorts) {
    const keySetOf = ({ jwks }: TrustedIssuer): KeySet<FindKey> => new KeySet(jwks, ports, createLocalJWKSet);
    this.#issuers = new Map(issuers.map((one) => [one.issuer, { ...one, keySet: keySetOf(one) }]));
  }

  async prove(token: string): Promise<CallerProof> {
    if (token.length > MAX_TOKEN_LENGTH) return refuse("invalid");
    const now = Date.now();
    const name = await digest([token]);
    const known = this.#proved.get(name, now);
    if (known !== null) return known;
    // The claims are not proved yet: they choose whose keys to try, and may only refuse.
    const claims = unprovedClaims(token);
    const issuer = this.#issuers.get(String(claims?.iss));
    if (claims === null || issuer === undefined) return refuse("invalid");
    if (hasExpired(claims, issuer, now)) return refuse("expired");
    const proved = await verify(token, issuer);
    if ("problem" in proved) return { problem: proved.problem };
    const id = callerIdAt(proved.claims, issuer.claim, "text-only");
    if (id === null) return refuse("invalid");
    const proof = { value: `${issuer.issuer} ${id}` };
    const expiresAt = (proved.claims.exp ?? 0) * 1000 + issuer.clockToleranceMs;
    this.#proved.set(name, proof, Math.min(expiresAt, now + PROVED_MS));
    return proof;
  }
}

type Verified = { readonly claims: JWTPayload } | { readonly problem: ClientProblem };

async function verify(token: string, issuer: IssuerWithKeys): Promise<Verified> {
  const keys = await issuer.keySet.keys();
  if (keys.kind === "unavailable") return unavailable(keys.retryAfterMs);
  const tried = await tryKeys(token, issuer, keys.keys);
  if (tried !== "unknown-key") return tried;
  if (keys.isNew) return refuse("invalid");
  const newer = await issuer.keySet.newerKeys();
  if (newer.kind === "unavailable") return unavailable(newer.retryAfterMs);
  const again = await tryKeys(token, issuer, newer.keys);
  return again === "unknown-key" ? refuse("invalid") : again;
}

async function tryKeys(token: string, issuer: IssuerWithKeys, find: FindKey): Promise<Verified | "unknown-key"> {
  const options: JWTVerifyOptions = {
    issuer: issuer.issuer,
    audience: [...issuer.audience],
    algorithms: [...issuer.algorithms],
    clockTolerance: issuer.clockToleranceMs / 1000,
    requiredClaims: ["exp"],
  };
  try {
    return { claims: (await jwtVerify(token, find, options)).payload };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return "unknown-key";
    if (error instanceof errors.JWTExpired) return refuse("expired");
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return refuse("invalid");
    return tryEach(token, error, options);
  }
}

async function tryEach(
  token: string,
  keys: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<Verified> {
  let tries = 0;
  for await (const key of keys) {
    tries += 1;
    if (tries > MAX_TRIES) break;
    try {
      return { claims: (await jwtVerify(token, key, options)).payload };
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return refuse("invalid");
    }
  }
  return refuse("invalid");
}

function unprovedClaims(token: string): JWTPayload | null {
  try {
    return decodeJwt(token);
  } catch {
    return null;
  }
}

function hasExpired({ exp }: JWTPayload, { clockToleranceMs }: TrustedIssuer, now: number): boolean {
  return typeof exp === "number" && exp * 1000 + clockToleranceMs <= now;
}

function refuse(why: CredentialFault): { readonly problem: ClientProblem } {
  return { problem: { code: "credential-invalid", why } };
}

function unavailable(retryAfterMs: number): { readonly problem: ClientProblem } {
  return { problem: { code: "identity-unavailable", retryAfterMs } };
}
