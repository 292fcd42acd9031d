// What goes to the origin without a record. A request that no route protects is streamed there and back as it is, whatever its
// method, size or protocol (WebSocket upgrades included): nothing is remembered, and no object is touched.

import type { Origin } from "../config/resolved.ts";
import { finalStatus } from "../core/verdict.ts";
import { forwardedFor } from "./forwarded.ts";
import { ATTEMPT_HEADER, ECHO_HEADER, responseHeaders, UNPROTECTED_HEADER } from "./headers.ts";
import type { ExchangeMessage } from "./message.ts";
import { LOOP_HEADER, loopMark, originUrl } from "./origin.ts";
import { problemResponse } from "./problem-response.ts";

/** Something that answers requests: the network, or a binding. */
export interface Fetcher {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

/** A CGI-style server takes both for the same header (RFC 3875, section 4.1.18). */
const ATTEMPT_NAMES = [ATTEMPT_HEADER, ATTEMPT_HEADER.replace("-", "_")];

/** The bytes stay as they are: the runtime neither decodes the body nor follows a redirect (platform rule). */
const AS_IT_IS = { redirect: "manual", encodeResponseBody: "manual" } as const;

/** What passes, and what decides how. */
export interface Passing {
  readonly request: Request;
  readonly url: URL;
  readonly origin: Origin;
  readonly trustForwarded: boolean;
}

export async function passThrough(passing: Passing, target: Fetcher): Promise<Response> {
  const { request, url, origin } = passing;
  const to = originUrl(origin, url);
  try {
    if (goesWhole(request, origin)) {
      const whole = new Request(to, request);
      mark(whole.headers, passing);
      return await target.fetch(whole, AS_IT_IS);
    }
    // By its parts: to make a request from a request takes a tenth of the time that all of this takes (measured).
    const { method, body, signal } = request;
    const headers = new Headers(request.headers);
    mark(headers, passing);
    return await target.fetch(to, { method, headers, body, signal, ...AS_IT_IS });
  } catch (error) {
    console.error({ message: "pass-through failed", reason: String(error) });
    return problemResponse({ code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 }, null);
  }
}

/**
 * Whether the forwarded request is made from the request itself. A Worker behind a binding may need what Cloudflare says of the
 * client (`request.cf`), which no other way carries; and a GET or HEAD with a body cannot be made from parts (Fetch standard).
 */
function goesWhole({ method, body }: Request, origin: Origin): boolean {
  return origin.kind === "binding" || (body !== null && (method === "GET" || method === "HEAD"));
}

/** Sets and deletes the headers that only the gateway may set. It alone numbers attempts, also where it makes none. */
function mark(headers: Headers, { request, url, origin, trustForwarded }: Passing): void {
  for (const name of ATTEMPT_NAMES) headers.delete(name);
  const forwarded = forwardedFor(url, request.headers, trustForwarded);
  for (const name of forwarded.drop) headers.delete(name);
  for (const [name, value] of forwarded.set) headers.set(name, value);
  const loop = loopMark(origin, request.headers);
  if (loop !== null) headers.set(LOOP_HEADER, loop);
}

/**
 * What a route with `on_store_failure = "open"` does when the record cannot be reached: the request goes to the origin as if no
 * route protected it, and the answer says so. A retry may take effect once more; the operator chose that.
 */
export async function forwardUnprotected({ head, body }: ExchangeMessage, target: Fetcher | null): Promise<Response> {
  if (target === null) return problemResponse({ code: "origin-unreachable" }, head.echo);
  console.error({ message: "record unreachable, request forwarded UNPROTECTED", record: head.recordId });
  const { method, url, headers, hasBody } = head.call;
  try {
    const request = new Request(url, {
      method,
      headers: headers.map(([name, value]) => [name, value]),
      redirect: "manual",
      ...(hasBody ? { body } : {}),
    });
    const response = await target.fetch(request, { redirect: "manual", encodeResponseBody: "manual" });
    const { statusText } = response;
    const status = finalStatus(response.status);
    const pairs = responseHeaders(response.headers).map(([name, value]) => [name, value]);
    const marked = [...pairs, [ECHO_HEADER, head.echo], [UNPROTECTED_HEADER, "true"]];
    return new Response(response.body, { status, statusText, headers: marked, encodeBody: "manual" });
  } catch (error) {
    console.error({ message: "unprotected call failed", reason: String(error) });
    return problemResponse({ code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 }, head.echo);
  }
}
