// What the origin is told of the URL that its client asked for: the host and the scheme, which an origin behind a URL of
// its own cannot know otherwise. They are the gateway's to say, so that no client can claim others; with
// `trust_forwarded`, what a proxy in front has said stays. `X-Forwarded-For` is never touched: the gateway knows no address.

import type { Route } from "../config/resolved.ts";
import type { HeaderPairs } from "./headers.ts";

/** RFC 7239 says the same in another way, and frameworks that know it prefer it. */
const FORWARDED = "forwarded";
const HOST = "x-forwarded-host";
const PROTO = "x-forwarded-proto";

export interface ForwardedHeaders {
  /** Names of what the request brought, and the origin does not get; lower case. */
  readonly drop: readonly string[];
  /** In place of what the request brought under these names; lower case. */
  readonly set: HeaderPairs;
}

/** Names that a CGI-style server takes for the real ones (RFC 3875, section 4.1.18). No proxy says anything under them. */
const IMITATIONS: readonly string[] = [HOST, PROTO].flatMap(imitations);
const UNTRUSTED: readonly string[] = [FORWARDED, ...IMITATIONS];

/** The name with any of its two dashes as an underscore. */
function imitations(name: string): readonly string[] {
  return [name.replace("-", "_"), name.replace(/-(?=[^-]*$)/, "_"), name.replaceAll("-", "_")];
}

/** `trusts`: whoever sends requests to the gateway has seen to these headers. */
export function forwardedFor(url: URL, headers: Headers, trusts: boolean): ForwardedHeaders {
  const set: HeaderPairs = [
    [HOST, url.host],
    [PROTO, url.protocol.slice(0, -1)],
  ];
  return trusts ? { drop: IMITATIONS, set: set.filter(([name]) => !headers.has(name)) } : { drop: UNTRUSTED, set };
}

/**
 * The host that tells callers apart (`scope = ["host"]`): the one by which the origin can. A URL as origin is told it in
 * `X-Forwarded-Host` alone; a binding and the zone's own origin see that of the request's URL as well.
 */
export function hostForScope(url: URL, headers: Headers, { origin, trustForwarded }: Route): string {
  const said = trustForwarded ? headers.get(HOST) : null;
  if (said === null || said === url.host) return url.host;
  return origin.kind === "url" ? said : `${url.host} ${said}`;
}
