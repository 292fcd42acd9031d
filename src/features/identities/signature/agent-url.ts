// URLs of documents that hold the keys of agents: which of them may be asked, and the one spelling under which a caller is known. Whoever could
// write a URL that is trusted here and fetched from elsewhere could be any caller, so what has an odd form is refused instead of mended.

import type { TrustedAgents } from "../../../kernel/config/identity.ts";
import { type ParsedSetting, refuseValue } from "../../../kernel/config/units.ts";
import { isLoopback } from "../../../kernel/config/values.ts";

/** As long as ids of other identities may be. */
const MAX_LENGTH = 1024;

/** A scheme, a host that begins at once, and visible ASCII without what URL parsers read differently. */
const PLAIN = /^https?:\/\/[^/?#\\@"<>^`{|}\s][^#\\"<>^`{|}\s]*$/i;

/** The URL in the one spelling that counts (RFC 3986, section 6.2.2); `null`: no document may be fetched from there. */
export function agentUrl(text: string): URL | null {
  if (text.length > MAX_LENGTH || !PLAIN.test(text) || !/^[!-~]*$/.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || (url.protocol === "http:" && !isLoopback(url.hostname))) return null;
  // Credentials are another spelling of the same document, and so is the root's dot.
  if (url.username !== "" || url.password !== "" || /^[^/]*\/\/[^/?]*@/.test(text) || url.hostname.endsWith(".")) {
    return null;
  }
  // Some servers take these for slashes, and then leave the path that is trusted.
  if (/%2f|%5c/i.test(url.pathname)) return null;
  url.pathname = plainEscapes(url.pathname);
  url.search = plainEscapes(url.search);
  return url;
}

/** Escapes in upper case, and none of what needs no escape. */
function plainEscapes(text: string): string {
  return text.replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCodePoint(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : escape.toUpperCase();
  });
}

/** Whether a URL may be asked, and whether it is listed itself: then it is known, and no stranger's. */
export function trustOf(url: URL, trust: readonly TrustedAgents[]): "listed" | "below" | null {
  const meant = trust.filter((one) => means(one, url));
  if (meant.length === 0) return null;
  return meant.some(({ isBelow, isPrefix }) => !isBelow && !isPrefix) ? "listed" : "below";
}

function means({ protocol, host, isBelow, path, isPrefix }: TrustedAgents, url: URL): boolean {
  if (url.protocol !== protocol) return false;
  if (!isBelow && url.host !== host) return false;
  if (isBelow && !isOneBelow(url.host, host)) return false;
  const sent = url.pathname + url.search;
  // Queries have no end, and each would be a caller of its own.
  return isPrefix ? url.search === "" && sent.startsWith(path) : sent === path;
}

function isOneBelow(host: string, domain: string): boolean {
  const name = host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : "";
  return name !== "" && !name.includes(".");
}

const ADVICE =
  'write "https://platform.example/.well-known/ucp", "https://platform.example/*" or "https://*.example.com/*"';

/** One entry of `trust`. */
export function parseTrust(value: string): ParsedSetting<TrustedAgents> {
  const isPrefix = value.endsWith("/*");
  const isBelow = /^https?:\/\/\*\./i.test(value);
  const plain = (isPrefix ? value.slice(0, -1) : value).replace(isBelow ? "://*." : "://", "://");
  const url = plain.includes("*") ? null : agentUrl(plain);
  if (url === null) {
    return refuseValue(
      `"${value}" is no https URL (or http on the same machine), perhaps with "*" for the first name of its host or for the end of its path: ${ADVICE}`,
    );
  }
  if (!/^[a-z]+:\/\/[^/]+\//i.test(plain)) return refuseValue(`"${value}" has no path: write "${value}/*"`);
  if (isBelow && (!url.hostname.includes(".") || /^[0-9.]+$/.test(url.hostname) || url.hostname.startsWith("["))) {
    return refuseValue(`"${value}" trusts the keys of strangers: ${ADVICE}`);
  }
  if (isPrefix && url.search !== "") return refuseValue(`"${value}" must not have a query before "*": ${ADVICE}`);
  const { protocol, host, pathname, search } = url;
  return { ok: true, value: { protocol, host, isBelow, path: pathname + search, isPrefix } };
}
