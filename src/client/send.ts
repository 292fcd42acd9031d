// One try: sends the snapshot of the request, and reads from the answer what decides whether to retry.

import type { JudgedAnswer } from "./judge.ts";
import { parseProblem, type ProblemDetails } from "./problem-details.ts";
import { comesWhole, MAX_PROBLEM_BYTES, readAtMost } from "./read-answer.ts";
import type { ClientSettings } from "./client-settings.ts";

/** A request that can be sent again and again, byte for byte. */
export interface RequestSnapshot {
  /** All but the body and the signal. */
  readonly template: Request;
  /** `null` for a method that has no body. */
  readonly body: ArrayBuffer | null;
  readonly key: string;
  /** The caller's signal. */
  readonly signal: AbortSignal;
  /** The Requests that it comes from. In Node, the signal of a Request aborts only as long as somebody holds the Request. */
  readonly sources: readonly unknown[];
}

export type TryResponse =
  | { readonly kind: "answer"; readonly response: Response; readonly answer: JudgedAnswer }
  | { readonly kind: "lost"; readonly cause: unknown };

/** An answer of up to this size is held whole before the caller gets it. */
export const HELD_BYTES = 16 << 20;

const KEY_HEADER = "Idempotency-Key";

/**
 * Reads a request once, so that every try sends the same bytes. Makes a key if it has none.
 *
 * @throws {TypeError} if the body is a stream, or if `fetch` would not take the request.
 */
export async function snapshotRequest(...[input, init]: Parameters<typeof fetch>): Promise<RequestSnapshot> {
  if (isStream(init?.body)) {
    throw new TypeError("The body is a stream, which cannot be sent again. Give a string, bytes, a Blob or FormData.");
  }
  // Read once: FormData gets a new boundary with each request, and so other bytes.
  const request = new Request(input, init);
  const template = request.clone();
  const bytes = await request.arrayBuffer();
  const key = template.headers.get(KEY_HEADER) ?? randomUuid();
  template.headers.set(KEY_HEADER, key);
  // Without a body of its own, the second try would take the template's, which the first has used up; it may be empty.
  const body = HAS_NO_BODY.has(template.method) ? null : bytes;
  return { template, body, key, signal: request.signal, sources: [input, request] };
}

/** RFC 9562, section 5.4. Browsers have `crypto.randomUUID` only in pages with TLS. */
function randomUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte, at) => withVersion(byte, at).toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The byte with the bits that say that it is a random UUID. */
function withVersion(byte: number, at: number): number {
  if (at === 6) return (byte & 0x0f) | 0x40;
  return at === 8 ? (byte & 0x3f) | 0x80 : byte;
}

const HAS_NO_BODY = new Set(["GET", "HEAD"]);

function isStream(body: unknown): boolean {
  return typeof body === "object" && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body);
}

/** Rejects only if the caller aborts, with the signal's reason. */
export async function sendOnce(
  request: RequestSnapshot,
  limitMs: number,
  settings: ClientSettings,
): Promise<TryResponse> {
  const { template, body, key, signal } = request;
  const limit = new AbortController();
  const tooLate = (): void => limit.abort(new DOMException(`no answer within ${limitMs} ms`, "TimeoutError"));
  const cancel = settings.clock.after(limitMs, tooLate);
  let response: Response | null = null;
  try {
    const { method, headers } = template;
    const both = AbortSignal.any([signal, limit.signal]);
    // The signal is given to `fetch` as well, because nobody holds this Request while the call waits (see `sources`).
    response = await settings.fetch(new Request(template, { method, headers, body, signal: both }), { signal: both });
    let problem: ProblemDetails | null = null;
    if (isProblem(response)) {
      const bytes = await readAtMost(response.clone(), MAX_PROBLEM_BYTES);
      problem = bytes === null ? null : parseProblem(new TextDecoder().decode(bytes));
    }
    // A break inside the body shows here; the caller gets the other branch, complete, or a larger one as it comes.
    else if (!settings.streaming) await comesWhole(response.clone(), HELD_BYTES);
    return { kind: "answer", response, answer: describe(response, problem, key) };
  } catch (error) {
    discardBody(response);
    signal.throwIfAborted();
    return { kind: "lost", cause: error };
  } finally {
    cancel();
  }
}

function isProblem(response: Response): boolean {
  return response.headers.get("Content-Type")?.startsWith("application/problem+json") === true;
}

function describe({ status, headers }: Response, problem: ProblemDetails | null, key: string): JudgedAnswer {
  const shouldRetry = headers.get("X-Should-Retry");
  return {
    status,
    problem,
    shouldRetry: shouldRetry === "true" ? true : shouldRetry === "false" ? false : null,
    isProtected: headers.get(KEY_HEADER) === key,
    isKept: headers.has("Idempotency-Expires"),
    isUnprotected: headers.get("Idempotency-Status") === "unprotected",
  };
}

/** Frees the connection of an answer that nobody will read. */
export function discardBody(response: Response | null): void {
  response?.body?.cancel().catch(() => {});
}
