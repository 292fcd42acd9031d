// The calls of the claims API, one record each. A call whose answer is lost is repeated: the gateway takes it for the same one, because
// it has the same attempt id.

import { ClaimFailed } from "./claim-errors.ts";
import { type Backoff, parseRetryAfter, pauseMs } from "./pause.ts";
import type { Clock, Fetch } from "./settings.ts";

/** What the gateway says of one record. `Result`: what its handlers return, which nobody else writes. */
export interface ClaimAnswer<Result = unknown> {
  readonly state: string;
  readonly attempt?: number;
  readonly lockedForMs?: number;
  readonly retryAfterMs?: number;
  readonly completedAt?: string | null;
  readonly result: Result;
}

export interface ClaimCalls extends Backoff {
  /** The group's address, without a slash at its end. */
  readonly url: string;
  readonly token: string;
  readonly tries: number;
  readonly tryMs: number;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

/** @throws {ClaimFailed} if the gateway refuses, or gives no answer in all tries. */
export function callClaims<Result>(calls: ClaimCalls, operation: string, entry: object): Promise<ClaimAnswer<Result>> {
  const path = operation === "" ? "" : `/${operation}`;
  const read = (json: unknown): ClaimAnswer<Result> | null => answerIn<Result>(json);
  return repeated(calls, path, { method: "POST", body: JSON.stringify({ claims: [entry] }) }, read);
}

/** @throws {ClaimFailed} as above. */
export async function askPosition(calls: ClaimCalls, query: URLSearchParams): Promise<number | null> {
  const { next } = await repeated(calls, `/positions?${query.toString()}`, { method: "GET" }, positionIn);
  return next;
}

async function repeated<Answer>(
  calls: ClaimCalls,
  path: string,
  init: RequestInit,
  read: (json: unknown) => Answer | null,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const tried = await tryOnce(calls, path, init, read);
    if ("answer" in tried) return tried.answer;
    if (!tried.again || tries >= calls.tries) throw tried.failed;
    const ms = pauseMs(calls, tries, tried.retryAfterMs, calls.clock.random());
    await new Promise<void>((resolve) => {
      calls.clock.after(ms, resolve);
    });
  }
}

interface Failed {
  readonly failed: ClaimFailed;
  readonly again: boolean;
  readonly retryAfterMs: number | null;
}

async function tryOnce<Answer>(
  calls: ClaimCalls,
  path: string,
  init: RequestInit,
  read: (json: unknown) => Answer | null,
): Promise<{ readonly answer: Answer } | Failed> {
  const url = calls.url + path;
  const headers = { authorization: `Bearer ${calls.token}`, "content-type": "application/json" };
  const controller = new AbortController();
  const stop = calls.clock.after(calls.tryMs, () => controller.abort());
  try {
    const response = await calls.fetch(url, { ...init, headers, signal: controller.signal });
    const json: unknown = await response.json();
    const answer = response.ok ? read(json) : null;
    if (answer !== null) return { answer };
    const code = codeIn(json);
    const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"), calls.clock.now());
    // An answer that says "unavailable" is one to ask for again.
    const again = response.ok || response.status >= 500;
    return { failed: new ClaimFailed(`${url}: ${code ?? response.status}`, code), again, retryAfterMs };
  } catch (error) {
    return { failed: new ClaimFailed(`${url}: no answer`, null, error), again: true, retryAfterMs: null };
  } finally {
    stop();
  }
}

/** `null`: there is none, or the record could not be reached. */
function answerIn<Result>(read: unknown): ClaimAnswer<Result> | null {
  if (typeof read !== "object" || read === null || !("claims" in read) || !Array.isArray(read.claims)) return null;
  const [answer]: readonly unknown[] = read.claims;
  return isAnswer<Result>(answer) && answer.state !== "unavailable" ? answer : null;
}

function positionIn(read: unknown): { readonly next: number | null } | null {
  if (typeof read !== "object" || read === null || !("next" in read)) return null;
  const { next } = read;
  return next === null || typeof next === "number" ? { next } : null;
}

/** The gateway's own answers have the types that they should have. */
function isAnswer<Result>(value: unknown): value is ClaimAnswer<Result> {
  return typeof value === "object" && value !== null && "state" in value && typeof value.state === "string";
}

function codeIn(read: unknown): string | null {
  const code = typeof read === "object" && read !== null && "code" in read ? read.code : null;
  return typeof code === "string" ? code : null;
}

/**
 * The digest by which the gateway tells a redelivery from another operation under the same key: SHA-256, in hexadecimal, of text and bytes as they are, of anything else as JSON with its
 * members sorted.
 */
export async function payloadHash(payload: unknown): Promise<string> {
  const bytes = payload instanceof Uint8Array ? new Uint8Array(payload) : new TextEncoder().encode(textOf(payload));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Producers write the members of an object in any order. */
function textOf(payload: unknown): string {
  if (typeof payload === "string") return payload;
  const text: unknown = JSON.stringify(payload, (_name, value: unknown) => sorted(value));
  if (typeof text !== "string") throw new TypeError("The payload has no JSON form. Give text, bytes or JSON.");
  return text;
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members: [string, unknown][] = Object.entries(value);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members);
}
