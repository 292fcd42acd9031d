// Where a request goes at its origin: the origin's base, then the request's path and query as the runtime gives
// them (it resolves dot segments and more: README.md, "What the platform changes").

import type { Origin } from "../config/resolved.ts";

export function originUrl(origin: Origin, url: URL): string {
  switch (origin.kind) {
    case "binding":
    case "zone":
      return url.href;
    case "url":
      return (origin.url.endsWith("/") ? origin.url.slice(0, -1) : origin.url) + url.pathname + url.search;
  }
}
