// The session: a value that the browser stores but cannot forge. It is signed with the operator's token, so that a new token
// ends the sessions of the old one. It contains no secret.
//
//   admin.1795267816000.9b1d….4f0c….mac      role, end, generation, a random name, HMAC-SHA-256 of them
//
// Ending all sessions starts a new generation (see shard/operator-calls.ts).

import type { Tokens } from "../../config/read-tokens.ts";
import type { Role } from "../auth.ts";
import type { Viewer } from "./view.ts";

/** A working day. Sessions are not renewed: sign in again. */
export const SESSION_MS = 8 * 3_600_000;

export interface Session extends Viewer {
  /** The session is valid while this is the current generation. */
  readonly generation: string;
}

export async function beginSession(role: Role, tokens: Tokens, generation: string, now: number): Promise<string> {
  const token = tokenOf(tokens, role);
  if (token === null) throw new TypeError("nobody has this role");
  const name = hex(crypto.getRandomValues(new Uint8Array(16)));
  const claims = `${role}.${now + SESSION_MS}.${generation}.${name}`;
  return `${claims}.${await sign(token, "session", claims)}`;
}

/** `null` when there is none, it has ended, or its signature is wrong. */
export async function readSession(value: string | undefined, tokens: Tokens, now: number): Promise<Session | null> {
  const [, role, end, generation, name, mac] =
    /^(admin|reader)\.(\d{1,15})\.([0-9a-f]{32})\.([0-9a-f]{32})\.([0-9a-f]{64})$/.exec(value ?? "") ?? [];
  if ((role !== "admin" && role !== "reader") || generation === undefined || mac === undefined) return null;
  if (Number(end) <= now) return null;
  const token = tokenOf(tokens, role);
  const claims = `${role}.${end}.${generation}.${name}`;
  if (token === null || !(await isSigned(token, "session", claims, mac))) return null;
  return { role, generation, formToken: await sign(token, "form", claims) };
}

function tokenOf({ admin, read }: Tokens, role: Role): string | null {
  return role === "admin" ? admin : read;
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
