// What no route protects: streamed to the origin and back as it is, whatever its method, size or protocol (WebSocket
// upgrades included). Nothing is remembered, no object is touched.

import type { Origin } from "../config/resolved.ts";
import { ATTEMPT_HEADER } from "./headers.ts";
import { LOOP_HEADER, loopMark } from "./loop.ts";
import { originUrl } from "./origin-url.ts";
import { problemResponse } from "./problem-response.ts";

/** Something that answers requests: the network, or a binding. */
export interface Fetcher {
  fetch(request: Request, init?: RequestInit): Promise<Response>;
}

export async function passThrough(request: Request, url: URL, origin: Origin, target: Fetcher): Promise<Response> {
  // Untouched bytes: the runtime neither decodes the body nor follows a redirect (platform rule).
  const forwarded = new Request(originUrl(origin, url), request);
  // Only the gateway may number attempts, also where it makes none.
  forwarded.headers.delete(ATTEMPT_HEADER);
  const mark = loopMark(origin, request.headers);
  if (mark !== null) forwarded.headers.set(LOOP_HEADER, mark);
  try {
    return await target.fetch(forwarded, { redirect: "manual", encodeResponseBody: "manual" });
  } catch (error) {
    console.error({ message: "pass-through failed", reason: String(error) });
    return problemResponse({ code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 }, null);
  }
}
