// The session: a value that the browser stores but cannot forge. It is signed with the operator's token, so that a new token
// ends the sessions of the old one, and nobody else's. It contains no secret.
//
//   ann.1795267816000.9b1d….4f0c….mac      name, end, generation, a random name, HMAC-SHA-256 of them
//
// Ending all sessions starts a new generation (see kernel/object/operator-calls.ts). Whom Access proves needs no session.

import type { OperatorTokens } from "../../kernel/config/operators.ts";
import type { Role } from "../../kernel/record/audit.ts";

/** A working day. Sessions are not renewed: sign in again. */
export const SESSION_MS = 8 * 3_600_000;

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
  const random = hex(crypto.getRandomValues(new Uint8Array(16)));
  const claims = `${operator}.${now + SESSION_MS}.${generation}.${random}`;
  return `${claims}.${await sign(known.values[0], "session", claims)}`;
}

/** `null` when there is none, it has ended, or its signature is wrong. */
export async function readSession(
  value: string | undefined,
  everybody: readonly OperatorTokens[],
  now: number,
): Promise<Session | null> {
  const [, name, end, generation, random, mac] =
    /^([a-z0-9-]{1,63})\.(\d{1,15})\.([0-9a-f]{32})\.([0-9a-f]{32})\.([0-9a-f]{64})$/.exec(value ?? "") ?? [];
  if (generation === undefined || mac === undefined || Number(end) <= now) return null;
  const operator = everybody.find((one) => one.name === name);
  if (operator === undefined) return null;
  const claims = `${name}.${end}.${generation}.${random}`;
  for (const token of operator.values) {
    if (await isSigned(token, "session", claims, mac)) {
      return { name: operator.name, role: operator.role, generation, formToken: await sign(token, "form", claims) };
    }
  }
  return null;
}

/** The form token for an operator whom Access has proved: nobody else has the assertion. */
export function formTokenOf(assertion: string): Promise<string> {
  return sign(assertion, "form", "access");
}

type Purpose = "session" | "form";

async function sign(token: string, purpose: Purpose, claims: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", await keyOf(token), message(purpose, claims))));
}

/** In constant time. */
async function isSigned(token: string, purpose: Purpose, claims: string, mac: string): Promise<boolean> {
  return crypto.subtle.verify("HMAC", await keyOf(token), bytesOf(mac), message(purpose, claims));
}

/** A signature for one purpose is invalid for another. */
function message(purpose: Purpose, claims: string): Uint8Array {
  return new TextEncoder().encode(`onceway console ${purpose}\n${claims}`);
}

function keyOf(token: string): Promise<CryptoKey> {
  const bytes = new TextEncoder().encode(token);
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function bytesOf(hexadecimal: string): Uint8Array {
  return Uint8Array.from(hexadecimal.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
