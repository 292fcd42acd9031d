// Why a gateway refuses a JWT, for the person who tries it: the token's own claims beside what the configuration expects of them. The
// gateway itself tells nobody. Pure; no signature is verified here.

import type { JWTPayload } from "jose";
import { decodeJwt } from "jose/jwt/decode";

import type { Identity } from "../../../kernel/config/identity.ts";
import type { TrustedIssuer } from "../../../kernel/config/trusted-issuer.ts";

type HeaderLine = readonly [name: string, value: string];

/** A sentence for each claim that is not accepted. Empty if none is, or if no identity reads a JWT from these headers. */
export function tokenFaults(
  headers: readonly HeaderLine[],
  identities: readonly Identity[],
  nowMs: number,
): readonly string[] {
  for (const { proof, credential } of identities) {
    const [place] = credential;
    if (proof.kind !== "jwt" || place?.kind !== "header") continue;
    const value = headers.find(([name]) => name.toLowerCase() === place.name)?.[1];
    if (value === undefined) continue;
    const claims = claimsOf(value.replace(/^bearer +/i, ""));
    if (claims === null) return [`What ${place.name} carries is no JWT.`];
    const issuer = proof.issuers.find((one) => one.issuer === claims.iss);
    if (issuer !== undefined) return faultsOf(claims, issuer, nowMs);
    const known = proof.issuers.map((one) => JSON.stringify(one.issuer)).join(" or ");
    return [`The token's iss is ${said(claims.iss)}, and the configuration expects ${known}.`];
  }
  return [];
}

function faultsOf(claims: JWTPayload, issuer: TrustedIssuer, nowMs: number): readonly string[] {
  const audiences = claims.aud === undefined ? [] : [claims.aud].flat();
  const expected = issuer.audience.map((one) => JSON.stringify(one)).join(" or ");
  const endsAt = (claims.exp ?? 0) * 1000 + issuer.clockToleranceMs;
  return [
    ...(audiences.some((one) => issuer.audience.includes(one))
      ? []
      : [`The token's aud is ${said(claims.aud)}, and the configuration expects ${expected}.`]),
    ...(claims.exp === undefined ? ["The token has no exp."] : []),
    ...(claims.exp !== undefined && endsAt <= nowMs ? [`The token expired at ${timeOf(claims.exp)}.`] : []),
    ...((claims.nbf ?? 0) * 1000 - issuer.clockToleranceMs > nowMs
      ? [`The token is not valid before ${timeOf(claims.nbf ?? 0)}.`]
      : []),
  ];
}

function claimsOf(token: string): JWTPayload | null {
  try {
    return decodeJwt(token);
  } catch {
    return null;
  }
}

function said(claim: unknown): string {
  return claim === undefined ? "missing" : JSON.stringify(claim);
}

function timeOf(seconds: number): string {
  const ms = seconds * 1000;
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(seconds);
}
