// Whose key it is: the values of the request's parts that the route names. They enter a digest only, so no credential
// is ever stored. A part that a request lacks is a value of its own: anonymous callers share one scope, and no caller
// with a credential is ever in it.

import { parse } from "hono/utils/cookie";
import type { ScopePart } from "../config/resolved.ts";

/** Set by Cloudflare, over whatever a client sends (developers.cloudflare.com, "HTTP headers"). */
const CLIENT_ADDRESS = "cf-connecting-ip";

/** One value for each part, in order; `null` for a part that the request lacks. */
export function scopeOf(headers: Headers, parts: readonly ScopePart[]): readonly (string | null)[] {
  return parts.flatMap((part) => [labelOf(part), valueOf(headers, part)]);
}

/** The part's own name is digested too: a cookie's value never passes for a header's. */
function labelOf(part: ScopePart): string {
  return part.kind === "ip" ? part.kind : `${part.kind}:${part.name}`;
}

function valueOf(headers: Headers, part: ScopePart): string | null {
  switch (part.kind) {
    case "header":
      return headers.get(part.name);
    case "cookie":
      return parse(headers.get("cookie") ?? "", part.name)[part.name] ?? null;
    case "ip":
      return headers.get(CLIENT_ADDRESS);
  }
}
