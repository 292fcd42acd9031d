// The session: a JSON Web Token (RFC 7519) that the browser stores but cannot forge. It is signed with the operator's token (HS256), so that
// a new token ends the sessions of the old one, and nobody else's. It contains no secret of the gateway's.
//
// Ending all sessions starts a new generation (see kernel/object/operator-calls.ts). Whom Access proves needs no session.

import { decodeJwt, errors, jwtVerify, SignJWT } from "jose";

import type { OperatorTokens } from "../../kernel/config/operators.ts";
import type { Role } from "../../kernel/record/audit.ts";

/** A working day. Sessions are not renewed: sign in again. */
export const SESSION_MS = 8 * 3_600_000;

const AUDIENCE = "onceway console";
const ALGORITHM = "HS256";

export interface Session {
  readonly name: string;
  readonly role: Role;
  /** In every form that changes something. */
  readonly formToken: string;
  /** The session is valid while this is the current generation. */
  readonly generation: string;
}

export async function beginSession(
  operator: string,
  everybody: readonly OperatorTokens[],
  generation: string,
  now: number,
): Promise<string> {
  const known = everybody.find(({ name }) => name === operator);
  if (known === undefined) throw new TypeError("nobody has this name");
  // No script of a page can read the cookie that has it, so whoever writes it into a form has been shown one.
  const formToken = hex(crypto.getRandomValues(new Uint8Array(32)));
  return new SignJWT({ generation, formToken })
    .setProtectedHeader({ alg: ALGORITHM })
    .setSubject(operator)
    .setAudience(AUDIENCE)
    .setExpirationTime(new Date(now + SESSION_MS))
    .sign(keyOf(known.values[0]));
}

/** `null` when there is none, it has ended, or its signature is wrong. */
export async function readSession(
  value: string | undefined,
  everybody: readonly OperatorTokens[],
  now: number,
): Promise<Session | null> {
  if (value === undefined) return null;
  // Not proved yet: it only says whose tokens to try.
  const operator = everybody.find(({ name }) => name === subjectOf(value));
  if (operator === undefined) return null;
  const options = {
    algorithms: [ALGORITHM],
    audience: AUDIENCE,
    subject: operator.name,
    requiredClaims: ["exp"],
    currentDate: new Date(now),
  };
  for (const token of operator.values) {
    const claims = await jwtVerify(value, keyOf(token), options).then(
      ({ payload }) => payload,
      (error: unknown) => nullIfRefused(error),
    );
    const { generation, formToken } = claims ?? {};
    if (typeof generation !== "string" || typeof formToken !== "string") continue;
    return { name: operator.name, role: operator.role, generation, formToken };
  }
  return null;
}

/** The form token for an operator whom Access has proved: nobody else has the assertion. */
export async function formTokenOf(assertion: string): Promise<string> {
  const text = new TextEncoder().encode(`onceway console form\n${assertion}`);
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", text)));
}

function subjectOf(value: string): string | null {
  try {
    return decodeJwt(value).sub ?? null;
  } catch (error) {
    return nullIfRefused(error);
  }
}

function nullIfRefused(error: unknown): null {
  if (error instanceof errors.JOSEError) return null;
  throw error;
}

function keyOf(token: string): Uint8Array {
  return new TextEncoder().encode(token);
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
