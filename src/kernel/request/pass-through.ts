// What goes to the origin without a record. A request that no route protects is streamed to the origin and back unchanged,
// whatever its method, size or protocol, WebSocket upgrades included: it stores nothing and calls no Durable Object.

import type { HeldBody } from "./body.ts";
import type { Origin } from "../config/resolved.ts";
import type { Problem } from "../record/problem.ts";
import { finalStatus } from "../record/verdict.ts";
import { forwardedFor, unforwardedNames } from "./host.ts";
import {
  ECHO_HEADER,
  GATEWAY_REQUEST_HEADERS,
  type HeaderPairs,
  headersOf,
  PRIVATE_HEADERS,
  responseHeaders,
  STATUS_HEADER,
  UNPROTECTED,
} from "./headers.ts";
import { type ExchangeMessage, logNames } from "./message.ts";
import { LOOP_HEADER, loopMark, originUrl } from "./origin.ts";
import { problemResponse } from "./problem-response.ts";

/** Answers requests: the network, or a service binding. */
export interface Fetcher {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

/** With these options the runtime neither decodes the body nor follows a redirect (platform rule). */
const UNCHANGED = { redirect: "manual", encodeResponseBody: "manual" } as const;

/** A request to pass through, and what decides how. */
export interface PassThroughRequest {
  readonly request: Request;
  readonly url: URL;
  readonly origin: Origin;
  readonly trustForwarded: boolean;
  /** The headers that carry a key on some route. */
  readonly keyNames: readonly string[];
  /** The request's body, if it has been read. */
  readonly bytes?: Uint8Array;
  /** Looks on; `null`: nobody does. */
  readonly tap?: PassTap | null;
}

/** Looks at a request that passes, and at its answer, from the side: it may take copies. It must change neither, hold up neither, and never throw. */
export interface PassTap {
  /** The request is about to be sent. */
  readonly sending: () => void;
  /** The answer is about to go to the client. */
  readonly answered: (response: Response) => void;
  /** The origin gave none. */
  readonly dropped: () => void;
}

/**
 * Says so in the answer if the request carries a key: its client may believe that it is protected. What an origin says to the gateway alone
 * is left out. `refuse` makes the gateway's own answer where there is none from the origin.
 */
export async function passThrough(
  passing: PassThroughRequest,
  target: Fetcher,
  refuse: (problem: Problem) => Response,
): Promise<Response> {
  const { request, keyNames, tap = null } = passing;
  tap?.sending();
  const forwarded = await forward(passing, target);
  const response = forwarded ?? refuse(DROPPED);
  const { headers } = request;
  const isKeyed = keyNames.some((name) => headers.has(name));
  const answer = withoutPrivate(isKeyed ? withStatus(response, "ignored") : response);
  if (forwarded === null) tap?.dropped();
  else tap?.answered(answer);
  return answer;
}

/** Nobody knows whether the origin has acted. */
const DROPPED: Problem = { code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 };

/** `null`: the origin gave no answer. */
async function forward(passing: PassThroughRequest, target: Fetcher): Promise<Response | null> {
  const { request, url, origin, bytes } = passing;
  const to = originUrl(origin, url);
  try {
    if (mustCopyRequest(request, origin)) {
      const copy = new Request(
        to,
        bytes === undefined ? request : new Request(request, { method: request.method, body: bytes }),
      );
      setGatewayHeaders(copy.headers, passing);
      return await target.fetch(copy, UNCHANGED);
    }
    // Otherwise from the request's parts, because copying the request takes a tenth of the time of a pass-through (measured).
    const { method, signal } = request;
    const headers = new Headers(request.headers);
    setGatewayHeaders(headers, passing);
    return await target.fetch(to, { method, headers, body: bytes ?? request.body, signal, ...UNCHANGED });
  } catch (error) {
    console.error({ message: "pass-through failed", reason: String(error) });
    return null;
  }
}

/** Nearly every answer has none of these headers and stays the same object. */
function withoutPrivate(response: Response): Response {
  const { headers } = response;
  if (!PRIVATE_HEADERS.some((name) => headers.has(name))) return response;
  const { status, statusText, body } = response;
  const init = { status: finalStatus(status), statusText, headers, encodeBody: "manual" } as const;
  // An upgrade is copied from the response itself, with its connection.
  const copy = status === 101 ? new Response(null, response) : new Response(body, init);
  for (const name of PRIVATE_HEADERS) copy.headers.delete(name);
  return copy;
}

/** An upgrade, or an answer with a status that HTTP does not define, cannot be made anew and stays as it is. */
function withStatus(response: Response, value: string): Response {
  if (finalStatus(response.status) !== response.status) return response;
  // Unlike one made of parts, it needs no `Headers` of its own; how its body is coded stays as it is, too.
  const copy = new Response(response.body, response);
  copy.headers.set(STATUS_HEADER, value);
  return copy;
}

/**
 * Whether the new request must be a copy of the request itself. Only a copy carries Cloudflare's data about the client, which a
 * Worker behind a binding may read. And a GET or HEAD with a body cannot be built from parts (Fetch standard).
 */
function mustCopyRequest({ method, body }: Request, origin: Origin): boolean {
  return (
    origin.kind === "binding" ||
    origin.kind === "entrypoint" ||
    (body !== null && (method === "GET" || method === "HEAD"))
  );
}

/** Without and with a proxy in front that is trusted. One pattern for all names is faster than a set, for which V8 digests each (measured). */
const LEFT_OUT = leftOutNames(false);
const LEFT_OUT_TRUSTING = leftOutNames(true);

/** The gateway's own headers are dropped in each spelling that a CGI-style server takes for them (`dashedName`). */
function leftOutNames(trusts: boolean): RegExp {
  const own = [...GATEWAY_REQUEST_HEADERS].map((name) => name.replaceAll("-", "[^a-z0-9]"));
  return new RegExp(`^(?:${[...own, ...unforwardedNames(trusts)].join("|")})$`);
}

/**
 * Sets the headers that only the gateway may set, and removes a client's. That includes those of attempts and messages, although
 * a pass-through is neither, because a client must not fake them.
 */
function setGatewayHeaders(headers: Headers, { request, url, origin, trustForwarded }: PassThroughRequest): void {
  const sent = request.headers;
  const leftOut = trustForwarded ? LEFT_OUT_TRUSTING : LEFT_OUT;
  // Nearly every request has none of them: to look at its names is faster than to delete each (measured).
  for (const name of sent.keys()) if (leftOut.test(name)) headers.delete(name);
  for (const [name, value] of forwardedFor(url, sent, trustForwarded).set) headers.set(name, value);
  const loop = loopMark(origin, sent);
  if (loop !== null) headers.set(LOOP_HEADER, loop);
}

/**
 * What a route with `on_store_failure = "open"` does when the record cannot be reached: the request goes to the origin as if no
 * route protected it, and the answer says so. A retry may take effect once more; the operator chose that.
 */
export async function forwardUnprotected({ head, body }: ExchangeMessage, target: Fetcher | null): Promise<Response> {
  const names = logNames(head);
  // The record says whether an earlier try may have taken effect, and nobody has read it.
  if (target === null)
    return problemResponse({ code: "origin-unreachable", mayHaveActed: true }, head.request.echo, names.instance);
  console.error({ message: "record unreachable, request forwarded UNPROTECTED", ...names });
  const { method, url, headers, hasBody } = head.call;
  try {
    const request = new Request(url, {
      method,
      headers: headers.map(([name, value]) => [name, value]),
      redirect: "manual",
      ...(hasBody ? { body } : {}),
    });
    const response = await target.fetch(request, UNCHANGED);
    const { statusText } = response;
    const status = finalStatus(response.status);
    const own: HeaderPairs = [
      [ECHO_HEADER, head.request.echo],
      [STATUS_HEADER, UNPROTECTED],
    ];
    const sent = headersOf([...responseHeaders(response.headers), ...own]);
    const init = { status, statusText, headers: sent, encodeBody: "manual" } as const;
    return new Response(response.body, init);
  } catch (error) {
    console.error({ message: "unprotected call failed", ...names, reason: String(error) });
    const problem = { code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 } as const;
    return problemResponse(problem, head.request.echo, names.instance);
  }
}

/** A request that its route lets pass, and its body if that has been read. */
export interface PassOn {
  readonly kind: "pass";
  readonly passing: PassThroughRequest;
  readonly body: HeldBody | null;
}
