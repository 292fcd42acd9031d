// What a request needs on its way to its origin: the URL there, and a mark by which the gateway recognises a request that comes
// back. A request comes back where its origin is the zone's own and the zone leads to the gateway again, as it does everywhere but
// on Cloudflare. The mark is in CDN-Loop (RFC 8586), which proxies have to leave alone.

import type { Origin } from "../config/resolved.ts";
import type { HeadersView } from "./headers.ts";

/**
 * The origin's base, then the request's path and query as the runtime gives them (it resolves dot segments and more: src/kernel/request/README.md,
 * "What the platform changes").
 */
export function originUrl(origin: Origin, url: URL): string {
  switch (origin.kind) {
    case "binding":
    case "entrypoint":
    case "zone":
      return url.href;
    case "url":
      return (origin.url.endsWith("/") ? origin.url.slice(0, -1) : origin.url) + url.pathname + url.search;
  }
}

export const LOOP_HEADER = "cdn-loop";
const MARK = "onceway";

export function hasLooped(origin: Origin, headers: Headers): boolean {
  if (origin.kind !== "zone") return false;
  return (headers.get(LOOP_HEADER) ?? "").split(",").some((entry) => entry.trim() === MARK);
}

/** The value of `CDN-Loop` on its way to the origin; `null` where no mark is needed. */
export function loopMark(origin: Origin, headers: HeadersView): string | null {
  if (origin.kind !== "zone") return null;
  const before = headers.get(LOOP_HEADER);
  return before === null ? MARK : `${before}, ${MARK}`;
}
