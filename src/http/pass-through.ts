// What no route protects: streamed to the origin and back as it is, whatever its method, size or protocol (WebSocket
// upgrades included). Nothing is remembered, no object is touched.

import type { Origin } from "../config/resolved.ts";
import { ATTEMPT_HEADER } from "./headers.ts";
import { LOOP_HEADER, loopMark } from "./loop.ts";
import { originUrl } from "./origin-url.ts";
import { problemResponse } from "./problem-response.ts";

/** Something that answers requests: the network, or a binding. */
export interface Fetcher {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

/** Untouched bytes: the runtime neither decodes the body nor follows a redirect (platform rule). */
const AS_IT_IS = { redirect: "manual", encodeResponseBody: "manual" } as const;

export async function passThrough(request: Request, url: URL, origin: Origin, target: Fetcher): Promise<Response> {
  const to = originUrl(origin, url);
  try {
    if (origin.kind !== "binding") {
      // By its parts: a request made of a request costs the runtime a tenth of what all of this does (measured).
      const { method, body, signal } = request;
      const headers = headersFor(origin, request.headers);
      return await target.fetch(to, { method, headers, body, signal, ...AS_IT_IS });
    }
    // Whole: a Worker behind a binding may want to know what Cloudflare tells of the client, which no other way carries.
    const whole = new Request(to, request);
    whole.headers.delete(ATTEMPT_HEADER);
    return await target.fetch(whole, AS_IT_IS);
  } catch (error) {
    console.error({ message: "pass-through failed", reason: String(error) });
    return problemResponse({ code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 }, null);
  }
}

/** The request's own, unless something has to be said or unsaid: only the gateway may number attempts, also where it makes none. */
function headersFor(origin: Origin, own: Headers): Headers {
  const mark = loopMark(origin, own);
  if (mark === null && !own.has(ATTEMPT_HEADER)) return own;
  const headers = new Headers(own);
  headers.delete(ATTEMPT_HEADER);
  if (mark !== null) headers.set(LOOP_HEADER, mark);
  return headers;
}
