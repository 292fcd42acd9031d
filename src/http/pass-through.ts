// What no route protects: streamed to the origin and back as it is, whatever its method, size or protocol (WebSocket
// upgrades included). Nothing is remembered, no object is touched.

import type { Origin } from "../config/resolved.ts";
import { forwardedFor } from "./forwarded.ts";
import { ATTEMPT_HEADER } from "./headers.ts";
import { LOOP_HEADER, loopMark } from "./loop.ts";
import { originUrl } from "./origin-url.ts";
import { problemResponse } from "./problem-response.ts";

/** Something that answers requests: the network, or a binding. */
export interface Fetcher {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

/** A CGI-style server takes both for the same (RFC 3875, section 4.1.18). */
const ATTEMPT_NAMES = [ATTEMPT_HEADER, ATTEMPT_HEADER.replace("-", "_")];

/** Untouched bytes: the runtime neither decodes the body nor follows a redirect (platform rule). */
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
    // By its parts: a request made of a request costs the runtime a tenth of what all of this does (measured).
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
 * Whether the request is made of the request itself. A Worker behind a binding may want to know what Cloudflare tells of the
 * client, which no other way carries; and of its parts none can be made that has a body and is a GET or HEAD (Fetch standard).
 */
function goesWhole({ method, body }: Request, origin: Origin): boolean {
  return origin.kind === "binding" || (body !== null && (method === "GET" || method === "HEAD"));
}

/** Says and unsays what is the gateway's to say; only it may number attempts, also where it makes none. */
function mark(headers: Headers, { request, url, origin, trustForwarded }: Passing): void {
  for (const name of ATTEMPT_NAMES) headers.delete(name);
  const forwarded = forwardedFor(url, request.headers, trustForwarded);
  for (const name of forwarded.drop) headers.delete(name);
  for (const [name, value] of forwarded.set) headers.set(name, value);
  const loop = loopMark(origin, request.headers);
  if (loop !== null) headers.set(LOOP_HEADER, loop);
}
