// The calls of the claims API, one record each. A call whose answer is lost is repeated: the gateway takes it for the same one, because
// it has the same attempt id.

import { ClaimFailedError } from "./claim-errors.ts";
import { exactJson } from "./exact-json.ts";
import { parseRetryAfter, retryPauseMs } from "./pause.ts";
import { readAnswerJson } from "./read-answer.ts";
import type { Backoff, Clock, Fetch } from "./client-settings.ts";

/** What the gateway says of one record. `Result`: what its handlers return, which nobody else writes. */
export interface ClaimCallAnswer<Result = unknown> {
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
  /** Stands for the gateway: the caller's binding, or the function that sends. */
  readonly sender: object;
}

/** @throws {ClaimFailedError} if the gateway refuses, or gives no answer in all tries. */
export function callClaims<Result>(
  calls: ClaimCalls,
  operation: string,
  entry: object,
): Promise<ClaimCallAnswer<Result>> {
  const path = operation === "" ? "" : `/${operation}`;
  return repeated(calls, path, postOf(entry), answerIn<Result>, (failed, tries) => failed.again && tries < calls.tries);
}

/**
 * Says how an attempt ended, until the gateway has heard it or `until` has come. A refusal may be one of now (the group's token is being
 * changed, the gateway deployed), so it ends the tries only if the entry itself is refused.
 *
 * @throws {ClaimFailedError} if the entry is refused, or the time is over.
 */
export function endClaim(calls: ClaimCalls, operation: string, entry: object, until: number): Promise<ClaimCallAnswer> {
  const mayRepeat = (failed: Failed): boolean => !isRefusedEntry(failed.failed) && calls.clock.now() < until;
  return repeated(calls, `/${operation}`, postOf(entry), answerIn, mayRepeat);
}

/** Whether the gateway, or a proxy before it, takes no such entry. */
export function isRefusedEntry({ code, status }: ClaimFailedError): boolean {
  return code === "claim-invalid" || status === 413;
}

function postOf(entry: object): RequestInit {
  return { method: "POST", body: JSON.stringify({ claims: [entry] }) };
}

/** @throws {ClaimFailedError} as above. */
export async function askPosition(calls: ClaimCalls, query: URLSearchParams): Promise<number | null> {
  const path = `/positions?${query.toString()}`;
  const mayRepeat = (failed: Failed, tries: number): boolean => failed.again && tries < calls.tries;
  const { next } = await repeated(calls, path, { method: "GET" }, positionIn, mayRepeat);
  return next;
}

async function repeated<Answer>(
  calls: ClaimCalls,
  path: string,
  init: RequestInit,
  read: (json: unknown) => Answer | null,
  mayRepeat: (failed: Failed, tries: number) => boolean,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const tried = await tryOnce(calls, path, init, read);
    if ("answer" in tried) return tried.answer;
    if (!mayRepeat(tried, tries)) throw tried.failed;
    // No pause outlasts a lock that is running out, whatever `Retry-After` says.
    const ms = Math.min(calls.maxPauseMs, retryPauseMs(calls, tries, tried.retryAfterMs, calls.clock.random()));
    await new Promise<void>((resolve) => {
      calls.clock.after(ms, resolve);
    });
  }
}

/** Request Timeout, Too Early, Too Many Requests: of proxies, and of the gateway while wrong tokens come from this address. */
const TRY_LATER: ReadonlySet<number> = new Set([408, 425, 429]);

interface Failed {
  readonly failed: ClaimFailedError;
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
    const json: unknown = response.ok
      ? await readAnswerJson(response)
      : await readAnswerJson(response).catch(() => null);
    const answer = response.ok ? read(json) : null;
    if (answer !== null) return { answer };
    const code = codeIn(json);
    const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"), calls.clock.now());
    // An answer that says "unavailable" is one to ask for again.
    const { status } = response;
    const again = response.ok || status >= 500 || TRY_LATER.has(status);
    return { failed: new ClaimFailedError(`${url}: ${code ?? status}`, { code, status }), again, retryAfterMs };
  } catch (error) {
    const failed = new ClaimFailedError(`${url}: no answer`, { code: null, status: null, cause: error });
    return { failed, again: true, retryAfterMs: null };
  } finally {
    stop();
  }
}

/** `null`: there is none, or the record could not be reached. */
function answerIn<Result>(read: unknown): ClaimCallAnswer<Result> | null {
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
function isAnswer<Result>(value: unknown): value is ClaimCallAnswer<Result> {
  return typeof value === "object" && value !== null && "state" in value && typeof value.state === "string";
}

function codeIn(read: unknown): string | null {
  const code = typeof read === "object" && read !== null && "code" in read ? read.code : null;
  return typeof code === "string" ? code : null;
}

/**
 * The digest by which the gateway tells a redelivery from another operation under the same key: SHA-256, in hexadecimal, of text and bytes
 * as they are, of anything else as JSON with its members sorted.
 *
 * @throws {TypeError} if the payload is neither text nor bytes, and JSON does not say exactly what it is.
 */
export async function payloadHash(payload: unknown): Promise<string> {
  const bytes = bytesOf(payload) ?? new TextEncoder().encode(textOf(payload));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A copy, because memory that is shared has no digest. `null`: the payload is not bytes. */
function bytesOf(payload: unknown): Uint8Array<ArrayBuffer> | null {
  if (ArrayBuffer.isView(payload)) {
    return Uint8Array.from(new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength));
  }
  const isShared = typeof SharedArrayBuffer !== "undefined" && payload instanceof SharedArrayBuffer;
  return isShared || payload instanceof ArrayBuffer ? Uint8Array.from(new Uint8Array(payload)) : null;
}

function textOf(payload: unknown): string {
  if (typeof payload !== "string") return exactJson(payload);
  // Half of a surrogate pair has no bytes: each would be encoded alike.
  if (/[\ud800-\udfff]/u.test(payload))
    throw new TypeError("The payload is no valid text: it has half a surrogate pair.");
  return payload;
}
