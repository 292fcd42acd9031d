// One call to the origin, to its end. Built from parts, never from a client's request, so that
// nothing that the client does reaches it. Both deadlines are enforced here: an attempt never outlives them unseen.

import type { Origin } from "../config/resolved.ts";
import type { AttemptEnd } from "../core/verdict.ts";
import { ByteReader } from "../http/body.ts";
import { ATTEMPT_HEADER, type HeaderPairs, responseHeaders } from "../http/headers.ts";
import type { ExchangeHead } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import type { Reachability } from "./reachability.ts";
import type { RequestBody } from "./request-body.ts";

/** What the origin answered, as far as it has come. */
export interface OriginResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
  /** The length of its body; `null` when nothing certain is known: a binding's Worker may say anything. */
  readonly length: number | null;
  /** The next piece of the body, valid until the one after it. Never rejects: a body that breaks off says so. */
  next(): Promise<BodyPiece>;
  /** Ends the call, when nobody needs the rest. */
  cancel(): void;
}

export type BodyPiece =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "whole" }
  | Extract<AttemptEnd, { kind: "dropped" | "timed-out" }>;

export type OriginOutcome = OriginResponse | Exclude<AttemptEnd, { kind: "answered" }>;

/** One request to the origin. */
export interface OriginRequest {
  readonly origin: Origin;
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderPairs;
  readonly body: RequestBody | null;
  /** Until the response's headers, and between two pieces of its body. */
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number;
}

/** What goes to the origin: the client's request, and which attempt it is. */
export function originRequest(head: ExchangeHead, body: RequestBody, attempt: number): OriginRequest {
  const { origin, method, url, headers, hasBody } = head.call;
  const { timeoutMs, idleTimeoutMs } = head;
  const pairs: HeaderPairs = [...headers, [ATTEMPT_HEADER, String(attempt)]];
  return { origin, method, url, headers: pairs, body: hasBody ? body : null, timeoutMs, idleTimeoutMs };
}

/** `target` is where the call goes: the network, or a binding; `null` when there is no such binding. */
export async function callOrigin(
  call: OriginRequest,
  target: Fetcher | null,
  reachability: Reachability,
): Promise<OriginOutcome> {
  const { timeoutMs, idleTimeoutMs } = call;
  const network = call.origin.kind === "url";
  if (target === null || (network && !(await reachability.isReachable(call.url, timeoutMs)))) {
    return { kind: "unreachable" };
  }
  const deadline = new Deadline();
  const broken = (error: unknown): { readonly kind: "dropped" | "timed-out" } => {
    if (network) reachability.broke(call.url);
    console.warn({ message: "origin call failed", timedOut: deadline.passed, reason: String(error) });
    return { kind: deadline.passed ? "timed-out" : "dropped" };
  };
  try {
    const request = requestOf(call, deadline);
    const response = await deadline.within(timeoutMs, target.fetch(request, OPTIONS));
    if (network) reachability.answered(call.url);
    const { status, statusText } = response;
    const reader = response.body === null ? null : new ByteReader(response.body);
    const read = async (): Promise<BodyPiece> => {
      const piece = reader === null ? END : await reader.read();
      return piece.done ? { kind: "whole" } : { kind: "bytes", bytes: piece.value };
    };
    return {
      status,
      statusText,
      headers: responseHeaders(response.headers),
      length: network ? lengthOf(response.headers) : null,
      next: () => deadline.within(idleTimeoutMs, read()).catch(broken),
      cancel: () => {
        // Whether the origin takes notice is of no matter: nobody reads on.
        void reader?.cancel().catch(() => undefined);
      },
    };
  } catch (error) {
    return broken(error);
  }
}

const END = { done: true } as const;

/** Redirects are results, never followed; bodies keep the very bytes of their content coding. */
const OPTIONS = { redirect: "manual", encodeResponseBody: "manual" } as const;

function requestOf({ method, url, headers, body }: OriginRequest, deadline: Deadline): Request {
  return new Request(url, {
    method,
    headers: headers.map(([name, value]) => [name, value]),
    signal: deadline.signal,
    redirect: "manual",
    ...(body === null ? {} : { body: body.open(() => deadline.abort()) }),
  });
}

function lengthOf(headers: Headers): number | null {
  const value = headers.has("transfer-encoding") ? null : headers.get("content-length");
  return value !== null && /^\d+$/.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : null;
}

/** A deadline that is set anew for each wait, and aborts the whole call when one of them passes. */
class Deadline {
  readonly #controller = new AbortController();
  passed = false;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  async within<T>(ms: number, wait: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      this.passed = true;
      this.abort();
    }, ms);
    try {
      return await wait;
    } finally {
      clearTimeout(timer);
    }
  }
}
