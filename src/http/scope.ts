// Whose key it is: the values of the request's parts that the route names. They enter a digest only, so no credential
// is ever stored. A part that a request lacks is a value of its own: anonymous callers share one scope, and no caller
// with a credential is ever in it.

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
      return cookieValues(headers.get("cookie") ?? "", part.name);
    case "ip":
      return headers.get(CLIENT_ADDRESS);
  }
}

/**
 * The text after each `name=`, as it was sent. Nothing is decoded, unquoted or judged: two values that differ in a byte
 * are two callers, and one that a stricter reader would drop is no anonymous one.
 */
function cookieValues(header: string, name: string): string | null {
  const pairs = header.split(";").map((pair) => pair.trim());
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  return values.length === 0 ? null : values.join(";");
}

/** What the runtime makes of bytes that are not UTF-8. Callers that differ only there would look alike. */
const REPLACEMENT = "\ufffd";

/** The name of the first part that cannot be told apart from others, or `null`. */
export function unreadablePart(headers: Headers, parts: readonly ScopePart[]): string | null {
  const part = parts.find((one) => valueOf(headers, one)?.includes(REPLACEMENT) ?? false);
  return part === undefined ? null : labelOf(part);
}
