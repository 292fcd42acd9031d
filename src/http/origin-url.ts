// Where a request goes at its origin: the origin's base, then the request's path and query as they came.

import type { Origin } from "../config/resolved.ts";

export function originUrl(origin: Origin, requestUrl: string): string {
  switch (origin.kind) {
    case "binding":
    case "zone":
      return requestUrl;
    case "url": {
      const { pathname, search } = new URL(requestUrl);
      return origin.url.replace(/\/$/, "") + pathname + search;
    }
  }
}
