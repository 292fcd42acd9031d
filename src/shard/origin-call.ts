// One call to the origin, to its end. Built from parts, never from a client's request, so that
// nothing that the client does reaches it. Both deadlines are enforced here: an attempt never outlives them unseen.

import type { Origin } from "../config/resolved.ts";
import type { Attempt } from "../core/record.ts";
import { type AttemptEnd, finalStatus } from "../core/verdict.ts";
import { ByteReader } from "../http/body.ts";
import { ATTEMPT_HEADER, type HeaderPairs, headersOf, responseHeaders } from "../http/headers.ts";
import type { ExchangeHead } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import { TRACEPARENT_HEADER, traceparentOf } from "../traffic/trace-context.ts";
import type { RequestBody } from "./body/request-body.ts";
import type { Reachability } from "./reachability.ts";
import type { Due, Timers } from "./timers.ts";

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
  /** Until the last byte of its body; `null`: as long as it comes. */
  readonly totalMs: number | null;
}

/** What goes to the origin: the client's request, and which attempt it is. */
export function originRequest(head: ExchangeHead, body: RequestBody, attempt: Attempt): OriginRequest {
  const { origin, method, url, headers, hasBody } = head.call;
  const { timeoutMs, idleTimeoutMs } = head.rules;
  const pairs: HeaderPairs = [...headers, [ATTEMPT_HEADER, String(attempt.number)], ...traceHeaders(head, attempt)];
  return { origin, method, url, headers: pairs, body: hasBody ? body : null, timeoutMs, idleTimeoutMs, totalMs: null };
}

/** The attempt as the parent of what the origin does; nothing where the request is part of no trace. */
function traceHeaders({ telemetry: { trace } }: ExchangeHead, { id }: Attempt): HeaderPairs {
  return trace === null ? [] : [[TRACEPARENT_HEADER, traceparentOf(trace, id)]];
}

/** What a call needs of its shard. */
export interface CallPorts {
  readonly reachability: Reachability;
  readonly timers: Timers;
}

/** `target` is where the call goes: the network, or a binding; `null` when there is no such binding. */
export async function callOrigin(
  call: OriginRequest,
  target: Fetcher | null,
  { reachability, timers }: CallPorts,
): Promise<OriginOutcome> {
  const network = call.origin.kind === "url";
  const deadline = new Deadline(timers, call);
  if (target === null || (network && !(await reachability.isReachable(call.url, deadline.mostMs)))) {
    deadline.end();
    return { kind: "unreachable" };
  }
  deadline.restart(call.timeoutMs);
  const broken: Broken = (error) => {
    deadline.end();
    if (network) bookkeep("noting a broken call", () => reachability.broke(call.url));
    console.warn({ message: "origin call failed", timedOut: deadline.passed, reason: String(error) });
    return { kind: deadline.passed ? "timed-out" : "dropped" };
  };
  // Within stands the call and nothing else: whatever throws here is taken for a call that broke.
  let response;
  try {
    response = await target.fetch(requestOf(call, deadline), OPTIONS);
  } catch (error) {
    return broken(error);
  }
  deadline.pause();
  if (network) bookkeep("noting an answer", () => reachability.answered(call.url));
  return originResponse(response, call, deadline, broken);
}

/** How a call ends that broke, and what is done about it. */
type Broken = (error: unknown) => { readonly kind: "dropped" | "timed-out" };

function originResponse(
  response: Response,
  { origin, idleTimeoutMs }: OriginRequest,
  deadline: Deadline,
  broken: Broken,
): OriginResponse {
  const status = finalStatus(response.status);
  const statusText = status === response.status ? response.statusText : "";
  const length = origin.kind === "url" ? lengthOf(response.headers) : null;
  const reader = response.body === null ? null : new ByteReader(response.body, length ?? undefined);
  let left = length;
  const next = async (): Promise<BodyPiece> => {
    if (reader === null || left === 0) {
      deadline.end();
      return WHOLE;
    }
    deadline.restart(idleTimeoutMs);
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      return broken(error);
    }
    deadline.pause();
    if (piece.done) {
      deadline.end();
      return WHOLE;
    }
    if (left !== null) left -= piece.value.byteLength;
    // What has come as far as its length is whole: the runtime hands over no more, and no less without an error.
    if (left === 0) deadline.end();
    return { kind: "bytes", bytes: piece.value };
  };
  return {
    status,
    statusText,
    headers: responseHeaders(response.headers),
    length,
    next,
    cancel: () => {
      deadline.end();
      // Whether the origin takes notice is of no matter: nobody reads on.
      void reader?.cancel().catch(() => undefined);
    },
  };
}

const WHOLE = { kind: "whole" } as const;

/** Redirects are results, never followed; bodies keep the very bytes of their content coding. */
const OPTIONS = { redirect: "manual", encodeResponseBody: "manual" } as const;

function requestOf({ method, url, headers, body }: OriginRequest, deadline: Deadline): Request {
  return new Request(url, {
    method,
    headers: headersOf(headers),
    signal: deadline.signal,
    redirect: "manual",
    ...(body === null ? {} : { body: body.open(() => deadline.abort()) }),
  });
}

function lengthOf(headers: Headers): number | null {
  const value = headers.has("transfer-encoding") ? null : headers.get("content-length");
  return value !== null && /^\d+$/.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : null;
}

/**
 * A deadline that is set anew for each wait, and aborts the whole call when one of them passes; and one for all of the call,
 * where it has one. A runtime that gives no timer leaves the call without a deadline, and never judges it.
 */
class Deadline {
  readonly #controller = new AbortController();
  readonly #dues: Due[] = [];
  /** The longest that the call may take until its answer begins. */
  readonly mostMs: number;
  passed = false;

  constructor(timers: Timers, { timeoutMs, totalMs }: Pick<OriginRequest, "timeoutMs" | "totalMs">) {
    this.mostMs = Math.min(timeoutMs, totalMs ?? timeoutMs);
    const pass = (): void => {
      this.passed = true;
      this.abort();
    };
    bookkeep("setting a deadline", () => this.#dues.push(timers.set(Number.POSITIVE_INFINITY, pass)));
    if (totalMs !== null) bookkeep("setting a deadline", () => this.#dues.push(timers.set(totalMs, pass)));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  restart(ms: number): void {
    bookkeep("setting a deadline", () => this.#dues[0]?.move(ms));
  }

  /** Nothing is waited for now, but for the whole call. */
  pause(): void {
    this.restart(Number.POSITIVE_INFINITY);
  }

  /** Nothing will be waited for any more. */
  end(): void {
    for (const due of this.#dues) due.cancel();
  }
}

const NETWORK: Fetcher = { fetch: (request, init) => fetch(request, init) };

/**
 * Where a route's requests go: the network for a URL and for the zone's own origin, otherwise a binding; `null` when there is
 * no such binding. The configuration alone says what a binding is: asking one for its methods tells nothing (platform rule).
 */
export function originTarget(origin: Origin, env: Readonly<Record<string, unknown>>): Fetcher | null {
  switch (origin.kind) {
    case "url":
    case "zone":
      return NETWORK;
    case "binding": {
      const binding = env[origin.binding];
      return isBinding(binding) ? binding : null;
    }
  }
}

function isBinding(value: unknown): value is Fetcher {
  return typeof value === "object" && value !== null;
}
