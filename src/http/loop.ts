// A request that comes back to the gateway, because its origin is the zone's own and the zone leads here again (as it
// does everywhere but on Cloudflare). Told by a mark in CDN-Loop (RFC 8586), which proxies have to leave alone.

import type { Origin } from "../config/resolved.ts";

export const LOOP_HEADER = "cdn-loop";
const MARK = "onceway";

export function hasLooped(origin: Origin, headers: Headers): boolean {
  if (origin.kind !== "zone") return false;
  return (headers.get(LOOP_HEADER) ?? "").split(",").some((entry) => entry.trim() === MARK);
}

/** The value that `CDN-Loop` has on its way to the origin; `null` where none is needed. */
export function loopMark(origin: Origin, headers: Headers): string | null {
  if (origin.kind !== "zone") return null;
  const before = headers.get(LOOP_HEADER);
  return before === null ? MARK : `${before}, ${MARK}`;
}
