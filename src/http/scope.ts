// Whose key it is: the values of the request's parts that the route names. They enter a digest only, so no credential
// is ever stored. A part that a request lacks is a value of its own: anonymous callers share one scope, and no caller
// with a credential is ever in it. A part that is there and cannot be read with certainty is refused, never taken for absent.

import { type ScopePart, scopePartName } from "../config/resolved.ts";

/** Set by Cloudflare, over whatever a client sends (developers.cloudflare.com, "HTTP headers"). */
const CLIENT_ADDRESS = "cf-connecting-ip";

/** Characters of all cookies together, of which the worst are looked through in a few milliseconds. Few servers take more. */
const LONGEST_COOKIES = 16 * 1024;

/** For each part its name and its value; `null` for a part that the request lacks. */
export type ScopeValues = readonly (string | null)[];

/** What a digest takes, or why there is none, for the client to read. */
export type Scope = { readonly values: ScopeValues } | { readonly problem: string };

/** `host` is the one that the origin is told. The part's own name is a value too: a cookie's never passes for a header's. */
export function readScope(headers: Headers, host: string, parts: readonly ScopePart[]): Scope {
  const values: (string | null)[] = [];
  for (const part of parts) {
    const name = scopePartName(part);
    if (part.kind === "cookie" && (headers.get("cookie")?.length ?? 0) > LONGEST_COOKIES) {
      const problem = `The cookies, one of which tells whose key it is, have more than ${LONGEST_COOKIES} characters.`;
      return { problem };
    }
    const value = readPart(headers, host, part);
    if (value === UNREADABLE) {
      const problem = `The cookie ${name.slice("cookie:".length)}, which tells whose key it is, cannot be read for certain: send one Cookie line, with "; " between cookies and "name=value" for each.`;
      return { problem };
    }
    if (value?.includes(REPLACEMENT) ?? false) {
      return { problem: `The value of ${name}, which tells whose key it is, is not UTF-8.` };
    }
    values.push(name, value);
  }
  return { values };
}

/** What the runtime makes of bytes that are not UTF-8. Callers that differ only there would look alike. */
const REPLACEMENT = "\ufffd";

const UNREADABLE = Symbol("unreadable");

function readPart(headers: Headers, host: string, part: ScopePart): string | null | typeof UNREADABLE {
  switch (part.kind) {
    case "header":
      return headers.get(part.name);
    case "cookie":
      return readCookie(headers.get("cookie") ?? "", part.name);
    case "ip":
      return headers.get(CLIENT_ADDRESS);
    case "host":
      return host;
  }
}

/**
 * The text after each `name=`, as it was sent. Nothing is decoded, unquoted or judged: two values that differ in a byte
 * are two callers, and one that a stricter reader would drop is no anonymous one. Servers do not agree on how a cookie is
 * found (the runtime joins two lines with a comma; some servers take that for a separator, trim names, decode them). Where any of them
 * might find the cookie and this does not, or might end its value elsewhere, it is unreadable.
 */
function readCookie(header: string, name: string): string | null | typeof UNREADABLE {
  const values: string[] = [];
  for (const pair of header.split(";")) {
    const text = pair.trim();
    const isNamed = text.startsWith(`${name}=`);
    if (isNamed) values.push(text.slice(name.length + 1));
    const [first = "", ...others] = text.split(",");
    if (!isNamed && looksLike(first, name)) return UNREADABLE;
    if (others.some((other) => looksLike(other, name) || (isNamed && BEGINS_COOKIE.test(other)))) return UNREADABLE;
  }
  return values.length === 0 ? null : values.join(";");
}

/** A cookie of a second `Cookie` line, joined to the one before it. A value may have a comma, even one before a space. */
const BEGINS_COOKIE = /^[\t ]*[!#$%&'*+.^_`|~0-9A-Za-z-]+=/;

/** Whether a reader that trims, unquotes or decodes names would take this for the cookie. */
function looksLike(pair: string, name: string): boolean {
  // Nothing of that makes it longer.
  if (pair.length < name.length) return false;
  const [written = ""] = pair.split("=", 1);
  const bare = written
    .trim()
    .replace(/^"(.*)"$/, "$1")
    .trim();
  return bare === name || decoded(bare) === name;
}

/** A cookie's name is ASCII. Other escapes are left alone: `decodeURIComponent` throws at them, which takes long. */
function decoded(text: string): string {
  return text.replaceAll(/%[0-7][0-9a-f]/gi, (escape) => String.fromCodePoint(Number.parseInt(escape.slice(1), 16)));
}
