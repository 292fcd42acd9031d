// One call to the origin, from a claimed attempt to its end. Built from parts, never from a client's request, so that
// nothing that the client does reaches it. Both deadlines are enforced here: an attempt never outlives them unseen.

import type { AttemptEnd } from "../core/verdict.ts";
import type { BoundedBody } from "../http/body.ts";
import { readBounded } from "../http/body.ts";
import { ATTEMPT_HEADER, type HeaderPairs, responseHeaders } from "../http/headers.ts";
import type { ExchangeMessage } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import type { Reachability } from "./reachability.ts";

/** What the origin answered, as far as it has come. */
export interface OriginResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
  readonly body: BoundedBody;
}

export type OriginOutcome =
  | { readonly end: Extract<AttemptEnd, { kind: "answered" }>; readonly response: OriginResponse }
  | { readonly end: Exclude<AttemptEnd, { kind: "answered" }>; readonly response: null };

/** `target` is where the call goes: the network, or a binding; `null` when there is no such binding. */
export async function callOrigin(
  message: ExchangeMessage,
  attemptNumber: number,
  target: Fetcher | null,
  reachability: Reachability,
): Promise<OriginOutcome> {
  const { call, timeoutMs, idleTimeoutMs, maxResponseBodyBytes } = message.head;
  const network = call.origin.kind === "url";
  if (target === null || (network && !(await reachability.isReachable(call.url, timeoutMs)))) {
    return { end: { kind: "unreachable" }, response: null };
  }
  const deadline = new Deadline();
  try {
    const response = await deadline.within(
      timeoutMs,
      target.fetch(originRequest(message, attemptNumber, deadline.signal), OPTIONS),
    );
    const body = await readBounded(response.body, maxResponseBodyBytes, (read) => deadline.within(idleTimeoutMs, read));
    if (network) reachability.answered(call.url);
    const { status, statusText } = response;
    return {
      end: { kind: "answered", status },
      response: { status, statusText, headers: responseHeaders(response.headers), body },
    };
  } catch (error) {
    if (network) reachability.broke(call.url);
    console.warn({ message: "origin call failed", timedOut: deadline.passed, reason: String(error) });
    return { end: { kind: deadline.passed ? "timed-out" : "dropped" }, response: null };
  }
}

/** Redirects are results, never followed; bodies keep the very bytes of their content coding. */
const OPTIONS = { redirect: "manual", encodeResponseBody: "manual" } as const;

function originRequest({ head, body }: ExchangeMessage, attemptNumber: number, signal: AbortSignal): Request {
  const { method, url, headers, hasBody } = head.call;
  const pairs = [...headers.map(([name, value]) => [name, value]), [ATTEMPT_HEADER, String(attemptNumber)]];
  return new Request(url, { method, headers: pairs, signal, redirect: "manual", ...(hasBody ? { body } : {}) });
}

/** A deadline that is set anew for each wait, and aborts the whole call when one of them passes. */
class Deadline {
  readonly #controller = new AbortController();
  passed = false;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async within<T>(ms: number, wait: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.passed = true;
      this.#controller.abort();
    }, ms);
    try {
      return await wait;
    } finally {
      clearTimeout(timer);
    }
  }
}
