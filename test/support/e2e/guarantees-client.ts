// A client of a protected route for tests of the guarantees: sends one request with a key over its own connection, reads the
// gateway's problems, and waits for deadlines by polling.

import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import { endpoint, headerValue, openRequest } from "../http.ts";
import type { HeaderPair, OpenRequest, RawResponse } from "../http.ts";

export interface Call {
  readonly path: string;
  readonly key: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: readonly HeaderPair[];
}

/** Sends a request with its key; `url` is the gateway's. */
export function open(url: string, { path, key, method = "POST", body = "{}", headers = [] }: Call): OpenRequest {
  return openRequest({
    ...endpoint(url),
    method,
    target: path,
    headers: [["Idempotency-Key", key], ...headers],
    body,
  });
}

export function send(url: string, call: Call): Promise<RawResponse> {
  return open(url, call).response;
}

const problem = v.object({ code: v.string(), status: v.number(), retryable: v.boolean() });

/** The code of a problem that the gateway made; `null` for any other answer. */
export function problemCode(response: RawResponse): string | null {
  if (headerValue(response, "content-type") !== "application/problem+json") return null;
  return problemOf(response).code;
}

export function problemOf(response: RawResponse): v.InferOutput<typeof problem> {
  return v.parse(problem, JSON.parse(response.body.toString()));
}

export function isReplay(response: RawResponse): boolean {
  return headerValue(response, "idempotent-replayed") === "true";
}

/** What a replay has to repeat: everything but the mark that it is one. */
export function essence(response: RawResponse): object {
  const { status, statusText, headers, body, complete } = response;
  const repeated = headers.filter(([name]) => !NOT_REPEATED.has(name.toLowerCase()));
  return { status, statusText, headers: repeated, body: body.toString("base64"), complete };
}

/** The mark of a replay, and headers that a streamed first answer does not have yet, or that belong to its framing or to one connection. */
const NOT_REPEATED = new Set([
  "connection",
  "idempotent-replayed",
  "idempotency-status",
  "idempotency-expires",
  "content-length",
  "transfer-encoding",
]);

const POLL_MS = 50;

/** Retries until `accept` accepts the answer. Throws with the last answer once `withinMs` has passed. */
export async function until<T>(ask: () => Promise<T>, accept: (answer: T) => boolean, withinMs: number): Promise<T> {
  const giveUpAt = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (accept(answer)) return answer;
    if (Date.now() > giveUpAt) throw new Error(`not within ${withinMs} ms; the last answer: ${JSON.stringify(answer)}`);
    await pause(POLL_MS);
  }
}

/** Sends the same request until it is answered otherwise than with `in-flight`. */
export function untilNotInFlight(url: string, call: Call, withinMs: number): Promise<RawResponse> {
  return until(
    () => send(url, call),
    (response) => problemCode(response) !== "in-flight",
    withinMs,
  );
}
