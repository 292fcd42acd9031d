// Checks that a `Host` header is a plain host. workerd joins it with the target to make a request's URL, so a
// header `x/_onceway/health?` would add a path, and two lines would become one host.
//
// Tells the origin the host and scheme of the URL that the client requested, because an origin with its own URL cannot know them
// otherwise. The gateway sets them itself, so that no client can claim others. With `trust_forwarded`, the values of a proxy in
// front of the gateway stay. `X-Forwarded-For` is never changed, because the gateway knows no client address.

import type { Route } from "../config/resolved.ts";
import type { HeaderPairs, HeadersView } from "./headers.ts";

/**
 * An authority without credentials (RFC 9112, section 3.2; RFC 3986, section 3.2.2). Escapes and commas are not allowed, because
 * no name in use has them, the URL parser decodes escapes, and several lines arrive joined by a comma.
 */
const PLAIN_HOST = /^(?:[A-Za-z0-9._~!$&'()*+;=-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Whether the header is a valid host. `null`, no header at all, is valid: a call from another Worker has none. */
export function isHost(host: string | null): boolean {
  return host === null || PLAIN_HOST.test(host);
}

/**
 * The host without its port, in lower case. It comes from the header as sent, because the URL parser would turn other spellings
 * into the same name.
 */
export function hostnameOf(host: string | null): string | null {
  return host === null ? null : host.replace(/:\d*$/, "").toLowerCase();
}

/** This header says the same in another format (RFC 7239), and frameworks that support it prefer it. */
const FORWARDED = "forwarded";
const HOST = "x-forwarded-host";
const PROTO = "x-forwarded-proto";

/** The headers that tell the origin where the client sent its request, in lower case. */
export const FORWARDED_NAMES: ReadonlySet<string> = new Set([HOST, PROTO]);

export interface ForwardedHeaders {
  /** Names of request headers that the origin must not get, in lower case. */
  readonly drop: readonly string[];
  /** Headers to set, replacing the request's own; the names are in lower case. */
  readonly set: HeaderPairs;
}

/** Names that a CGI-style server takes for the real ones (RFC 3875, section 4.1.18). No proxy uses them. */
const IMITATIONS: readonly string[] = [HOST, PROTO].flatMap(imitations);
const UNTRUSTED: readonly string[] = [FORWARDED, ...IMITATIONS];

/** Names of request headers that the origin must not get, in lower case. `trusts`: see `forwardedFor`. */
export function unforwardedNames(trusts: boolean): readonly string[] {
  return trusts ? IMITATIONS : UNTRUSTED;
}

/** The name with its first, its last or both dashes replaced by underscores. */
function imitations(name: string): readonly string[] {
  return [name.replace("-", "_"), name.replace(/-(?=[^-]*$)/, "_"), name.replaceAll("-", "_")];
}

/** `trusts`: a proxy in front of the gateway sets or removes these headers, so their values can be trusted. */
export function forwardedFor(url: URL, headers: HeadersView, trusts: boolean): ForwardedHeaders {
  const set: HeaderPairs = [
    [HOST, url.host],
    [PROTO, url.protocol.slice(0, -1)],
  ];
  return { drop: unforwardedNames(trusts), set: trusts ? set.filter(([name]) => !headers.has(name)) : set };
}

/**
 * The host of the request's URL, as it separates callers (`scope = ["host"]`): the same whether it ends with the root's dot or names the
 * port that its scheme implies.
 */
export function requestedHost(url: URL): string {
  return plainHost(url.host);
}

/**
 * The host that the origin sees where a proxy in front is trusted. An origin with a URL sees it only in `X-Forwarded-Host`. A binding and
 * the zone's own origin also see the host of the request's URL, so both count there.
 */
export function forwardedHost(url: URL, headers: HeadersView, { origin, trustForwarded }: Route): string {
  const requested = requestedHost(url);
  const sent = trustForwarded ? (headers.get(HOST) ?? "") : "";
  // Several proxies make a list.
  const forwarded = sent.split(",").map(plainHost).join(", ");
  if (forwarded === "" || forwarded === requested) return requested;
  return origin.kind === "url" ? forwarded : `${requested} ${forwarded}`;
}

/** Two spellings of one host are one caller's: a retry that comes by another proxy must not act again. */
function plainHost(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/:(?:80|443)?$/, "")
    .replace(/\.(?=$|:)/, "");
}
