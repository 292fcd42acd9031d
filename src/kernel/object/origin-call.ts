// One call to the origin, from its beginning to its end. It is built from parts, never from the client's request itself, so that
// the client cannot influence it (for example by disconnecting). Every deadline of the call is enforced here, and whether the origin can be
// reached at all is found out before anything is sent (`OriginReachability`).

import type { Origin } from "../config/resolved.ts";
import type { Attempt, Started } from "../record/record.ts";
import { type BrokenOff, finalStatus, type UnansweredEnd } from "../record/verdict.ts";
import { joinBytes } from "../request/body.ts";
import { type BodyReader, ByteReader, type NextPiece, WHOLE } from "../request/body-reader.ts";
import {
  ATTEMPT_HEADER,
  declaredLength,
  EVENT_HEADER,
  type HeaderPairs,
  HeaderSnapshot,
  headersOf,
  type HeadersView,
  responseHeaders,
} from "../request/headers.ts";
import { type ExchangeHead, type LogNames, logNames } from "../request/message.ts";
import type { Fetcher } from "../request/pass-through.ts";
import { logFailure } from "../traffic/bookkeep.ts";
import { TRACEPARENT_HEADER, traceparentOf } from "../traffic/trace-context.ts";
import { bindingIn, entrypointIn } from "./bindings.ts";
import type { RequestBody } from "../body/request-body.ts";
import type { OriginReachability } from "./reachability.ts";
import type { ScheduledWork, ObjectTimers } from "./timers.ts";

/** A piece of the origin's body, or how the body ended. */
export type BodyPiece = NextPiece<BrokenOff>;

/**
 * The origin's response, which is also the reader of its body. Reading never rejects: the last piece says how a body broke off.
 * `cancel` ends the call.
 */
export interface OriginResponse extends BodyReader<BrokenOff> {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
  /** What it says in `Onceway-Event`, which is for the gateway; `null`: nothing. */
  readonly events: string | null;
  /** The length of its body; `null` when it is not certain: a Worker behind a binding may declare anything. */
  readonly length: number | null;
}

export type OriginOutcome = OriginResponse | UnansweredEnd;

/** One request to the origin. */
export interface OriginRequest {
  readonly names: LogNames;
  readonly origin: Origin;
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderPairs;
  readonly body: RequestBody | null;
  /** The longest wait for the response's headers. */
  readonly timeoutMs: number;
  /** The longest wait for the next piece of its body. */
  readonly idleTimeoutMs: number;
  /** The longest time until the last byte of its body; `null` for no limit. */
  readonly totalMs: number | null;
}

/**
 * How long the answer to an accepted request may take in total, after the longest wait for its headers. Nobody waits for it and would leave,
 * so this bounds how many are received at a time; and the platform keeps no object for a call that takes longer.
 */
export const LONGEST_ANSWER_MS = 15 * 60_000;

/** The origin's request: the client's request with the number of the attempt. */
export function originRequest(head: ExchangeHead, body: RequestBody, { attempt, accepted }: Started): OriginRequest {
  const { origin, method, url, headers, hasBody } = head.call;
  const { timeoutMs, idleTimeoutMs, uncompressed } = head.rules;
  const totalMs = accepted === undefined ? null : timeoutMs + LONGEST_ANSWER_MS;
  const own = uncompressed === true ? withoutCoding(headers) : headers;
  const pairs: HeaderPairs = [...own, [ATTEMPT_HEADER, String(attempt.number)], ...traceHeaders(head, attempt)];
  return {
    names: logNames(head),
    origin,
    method,
    url,
    headers: pairs,
    body: hasBody ? body : null,
    timeoutMs,
    idleTimeoutMs,
    totalMs,
  };
}

/** Asks for a body as it is: what is in it counts. */
function withoutCoding(headers: HeaderPairs): HeaderPairs {
  return [...headers.filter(([name]) => name.toLowerCase() !== "accept-encoding"), ["accept-encoding", "identity"]];
}

/** Names the attempt as the parent of the origin's spans. Empty when the request has no trace. */
function traceHeaders({ telemetry: { trace } }: ExchangeHead, { id }: Attempt): HeaderPairs {
  return trace === null ? [] : [[TRACEPARENT_HEADER, traceparentOf(trace, id)]];
}

/** What a call needs of its shard. */
export interface CallPorts {
  readonly reachability: OriginReachability;
  readonly timers: ObjectTimers;
}

/** `target` is where the call goes: the network or a binding; `null` when the binding does not exist. */
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
    if (network) logFailure("noting a broken call", () => reachability.broke(call.url));
    const { passed: timedOut } = deadline;
    console.warn({ message: "origin call failed", ...call.names, timedOut, reason: String(error) });
    return { kind: deadline.passed ? "timed-out" : "dropped" };
  };
  // Only the call may be in this block: every exception in it counts as a broken call.
  let response;
  try {
    response = await target.fetch(call.url, partsOf(call, deadline));
  } catch (error) {
    return broken(error);
  }
  deadline.pause();
  if (network) logFailure("noting an answer", () => reachability.answered(call.url));
  return originResponse(response, call, deadline, broken);
}

/** Ends a call that broke, and says how it ended. */
type Broken = (error: unknown) => BrokenOff;

function originResponse(
  response: Response,
  { origin, idleTimeoutMs }: OriginRequest,
  deadline: Deadline,
  broken: Broken,
): OriginResponse {
  const status = finalStatus(response.status);
  const statusText = status === response.status ? response.statusText : "";
  const headers = new HeaderSnapshot(response.headers);
  const length = origin.kind === "url" ? lengthOf(headers) : null;
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
      piece = await reader.next();
    } catch (error) {
      return broken(error);
    }
    deadline.pause();
    if (piece.kind === "whole") {
      deadline.end();
      return piece;
    }
    if (left !== null) left -= piece.bytes.byteLength;
    // The body is whole after its declared length: the runtime passes on no more bytes, and reports fewer as an error.
    if (left === 0) deadline.end();
    return piece;
  };
  return {
    status,
    statusText,
    headers: responseHeaders(headers),
    events: headers.get(EVENT_HEADER),
    length,
    next,
    cancel: () => {
      deadline.end();
      reader?.cancel();
    },
  };
}

/**
 * Parts and no `Request`, which the runtime would copy. Redirects are results and never followed; bodies keep their content
 * coding.
 */
function partsOf({ method, headers, body }: OriginRequest, deadline: Deadline): RequestInit {
  return {
    method,
    headers: headersOf(headers),
    signal: deadline.signal,
    redirect: "manual",
    encodeResponseBody: "manual",
    ...(body === null ? {} : { body: body.open(() => deadline.abort()) }),
  };
}

/** `Transfer-Encoding` overrides the declared length (RFC 9112, section 6.3), and more than 2^53 bytes cannot be counted. */
function lengthOf(headers: HeadersView): number | null {
  const length = headers.has("transfer-encoding") ? null : declaredLength(headers);
  return Number.isSafeInteger(length) ? length : null;
}

export type SmallBody =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  /** There are more bytes than `limitBytes`. */
  | { readonly kind: "more" }
  | BrokenOff;

/** Reads the body of a response into memory if it has no more bytes than `limitBytes`. */
export async function readSmallBody(response: OriginResponse, limitBytes: number): Promise<SmallBody> {
  const pieces: Uint8Array[] = [];
  for (let size = 0; size <= limitBytes;) {
    const piece = await response.next();
    switch (piece.kind) {
      case "bytes":
        pieces.push(piece.bytes.slice());
        size += piece.bytes.byteLength;
        piece.release();
        break;
      case "whole":
        return { kind: "whole", bytes: joinBytes(pieces) };
      case "dropped":
      case "timed-out":
        return piece;
    }
  }
  return { kind: "more" };
}

/**
 * One deadline that is set again for each wait, and one for the whole call if it has a limit. When either passes, the call is
 * aborted. If the runtime has no timer left, the call runs without a deadline.
 */
class Deadline {
  readonly #controller = new AbortController();
  readonly #dues: ScheduledWork[] = [];
  /** The longest time that the call may take until its answer begins. */
  readonly mostMs: number;
  passed = false;

  constructor(timers: ObjectTimers, { timeoutMs, totalMs }: Pick<OriginRequest, "timeoutMs" | "totalMs">) {
    this.mostMs = Math.min(timeoutMs, totalMs ?? timeoutMs);
    const pass = (): void => {
      this.passed = true;
      this.abort();
    };
    logFailure("setting a deadline", () => this.#dues.push(timers.set(Number.POSITIVE_INFINITY, pass)));
    if (totalMs !== null) logFailure("setting a deadline", () => this.#dues.push(timers.set(totalMs, pass)));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }

  restart(ms: number): void {
    logFailure("setting a deadline", () => this.#dues[0]?.move(ms));
  }

  /** To be called when a wait has ended. The deadline of the whole call stays. */
  pause(): void {
    this.restart(Number.POSITIVE_INFINITY);
  }

  /** The call is over. */
  end(): void {
    for (const due of this.#dues) due.cancel();
  }
}

export const NETWORK: Fetcher = { fetch: (request, init) => fetch(request, init) };

/**
 * Where a route's requests go: the network for a URL and for the zone's own origin, otherwise a binding; `null` when the binding
 * does not exist. `exports`: the Worker's own (`cloudflare:workers`).
 */
export function originTarget(origin: Origin, env: Readonly<Record<string, unknown>>, exports: object): Fetcher | null {
  switch (origin.kind) {
    case "url":
    case "zone":
      return NETWORK;
    case "binding":
      return bindingIn(env, origin.binding);
    case "entrypoint":
      return entrypointIn(exports, origin.entrypoint);
  }
}
