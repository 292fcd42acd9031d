// One try: sends the request as it was taken down, and reads of the answer what the judgement needs.

import type { Answer } from "./judge.ts";
import { parseProblem, type Problem } from "./problem.ts";
import type { Settings } from "./settings.ts";

/** A request that can be sent again and again, byte for byte. */
export interface Repeatable {
  /** All but the body and the signal. */
  readonly template: Request;
  readonly body: ArrayBuffer | null;
  readonly key: string;
  /** The caller's. */
  readonly signal: AbortSignal;
}

export type Try =
  | { readonly kind: "answer"; readonly response: Response; readonly answer: Answer }
  | { readonly kind: "lost"; readonly cause: unknown };

const KEY_HEADER = "Idempotency-Key";

/**
 * Takes a request down. Makes a key where it carries none. Throws a TypeError for a body that is a stream, and for
 * whatever else `fetch` does not take.
 */
export async function takeDown(...[input, init]: Parameters<typeof fetch>): Promise<Repeatable> {
  if (isStream(init?.body)) {
    throw new TypeError("The body is a stream, which cannot be sent again. Give a string, bytes, a Blob or FormData.");
  }
  // The body is read here, once: FormData would get another boundary with each request, and so other bytes.
  const request = new Request(input, init);
  const template = request.clone();
  const bytes = await request.arrayBuffer();
  const key = template.headers.get(KEY_HEADER) ?? crypto.randomUUID();
  template.headers.set(KEY_HEADER, key);
  return { template, body: bytes.byteLength === 0 ? null : bytes, key, signal: request.signal };
}

function isStream(body: unknown): boolean {
  return typeof body === "object" && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body);
}

/** Rejects with the caller's reason where the caller aborts, and only then. */
export async function sendOnce(request: Repeatable, limitMs: number, settings: Settings): Promise<Try> {
  const { template, body, key, signal } = request;
  const limit = new AbortController();
  const tooLate = (): void => limit.abort(new DOMException(`no answer within ${limitMs} ms`, "TimeoutError"));
  const callOff = settings.surroundings.after(limitMs, tooLate);
  let response: Response | null = null;
  try {
    const { method, headers } = template;
    const both = AbortSignal.any([signal, limit.signal]);
    response = await settings.fetch(new Request(template, { method, headers, body, signal: both }));
    let problem: Problem | null = null;
    if (isProblem(response)) problem = parseProblem(await response.clone().text());
    // A break inside the body shows here; the caller gets the other branch, whole.
    else if (!settings.streaming) await response.clone().arrayBuffer();
    return { kind: "answer", response, answer: describe(response, problem, key) };
  } catch (error) {
    discard(response);
    signal.throwIfAborted();
    return { kind: "lost", cause: error };
  } finally {
    callOff();
  }
}

function isProblem(response: Response): boolean {
  return response.headers.get("Content-Type")?.startsWith("application/problem+json") === true;
}

function describe({ status, headers }: Response, problem: Problem | null, key: string): Answer {
  const shouldRetry = headers.get("X-Should-Retry");
  return {
    status,
    problem,
    shouldRetry: shouldRetry === "true" ? true : shouldRetry === "false" ? false : null,
    isProtected: headers.get(KEY_HEADER) === key,
    isKept: headers.has("Idempotency-Expires"),
    isUnprotected: headers.has("Idempotency-Unprotected"),
  };
}

/** Frees the connection of an answer that nobody reads. */
export function discard(response: Response | null): void {
  response?.body?.cancel().catch(() => {});
}
