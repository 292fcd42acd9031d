// Origins of web pages, as `cors.origins` lists them and as browsers send them in `Origin`: which are valid, and which page a
// listed one means. A page counts only if its origin is in the list letter by letter, or is one name below a listed domain.

import { type ParsedSetting, refuseValue } from "./units.ts";
import { firstRepeated } from "./values.ts";

/** A listed origin: of one page, or of the pages one name below a domain (`https://*.example.com`). */
export type PageOrigin =
  | { readonly kind: "exact"; readonly origin: string }
  | { readonly kind: "below"; readonly before: string; readonly after: string };

const ADVICE = 'write "https://shop.example.com"';

/** `origins` as a whole: at least one entry, none twice, `"*"` (null) only alone. `null`: every page. */
export function parsePageOrigins(list: readonly (PageOrigin | null)[]): ParsedSetting<readonly PageOrigin[] | null> {
  if (list.length === 0) return refuseValue(`must name at least one origin: ${ADVICE}, or leave out cors`);
  if (firstRepeated(list.map((one) => JSON.stringify(one))) !== null) {
    return refuseValue("lists an origin twice: write it once");
  }
  const named = list.filter((one) => one !== null);
  if (named.length === list.length) return { ok: true, value: named };
  return named.length === 0
    ? { ok: true, value: null }
    : refuseValue('"*" means every page, so nothing else can be listed: write ["*"], or leave it out');
}

/** One entry of `origins`; `"*"`, every page, comes back as `null`. */
export function parsePageOrigin(value: string): ParsedSetting<PageOrigin | null> {
  if (value === "*") return { ok: true, value: null };
  // Pages without an origin of their own say "null": files, sandboxed frames. Any page can make a frame that does.
  if (value === "null")
    return refuseValue(`"null" would let in any page, because each can make a frame with it: ${ADVICE}`);
  if (value.includes("*")) return parseBelow(value);
  const canonical = canonicalOf(value);
  if (canonical === null) {
    return refuseValue(
      `"${value}" is not the origin of a page, which is a scheme, a host and perhaps a port: ${ADVICE}`,
    );
  }
  return canonical === value
    ? { ok: true, value: { kind: "exact", origin: value } }
    : refuseValue(`browsers send this origin in another form: write "${canonical}"`, canonical);
}

function parseBelow(value: string): ParsedSetting<PageOrigin> {
  const advice = 'write "https://*.example.com"';
  const [scheme = "", domain = "", ...others] = value.split("://*.");
  const whole = `${scheme}://${domain}`;
  if (others.length > 0 || !/^https?$/.test(scheme) || canonicalOf(whole) === null || whole.includes("*")) {
    return refuseValue(`"*" may only stand for the first name of a host: ${advice}`);
  }
  const canonical = canonicalOf(whole);
  if (canonical !== whole)
    return refuseValue(`browsers send this origin in another form: write "${canonical}" with "*."`);
  // Everybody may have a name below such a domain.
  if (!domain.includes(".") || /^[0-9.:]+$/.test(domain)) {
    return refuseValue(`"${value}" lets in the pages of strangers: ${advice}`);
  }
  return { ok: true, value: { kind: "below", before: `${scheme}://`, after: `.${domain}` } };
}

/** The origin as browsers send it (HTML standard, "ASCII serialization of an origin"); `null` if it is none. */
function canonicalOf(value: string): string | null {
  const isOrigin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,"'\\]+$/i.test(value);
  if (!isOrigin || !URL.canParse(value)) return null;
  // Only the origins of such URLs have a serialization; applications in a shell send theirs as written: capacitor://localhost.
  const { origin } = new URL(value);
  return origin === "null" ? value.toLowerCase() : origin;
}

/** Whether a listed origin means the page that sent this `Origin`. */
export function isListed(listed: PageOrigin, origin: string): boolean {
  if (listed.kind === "exact") return origin === listed.origin;
  const { before, after } = listed;
  if (!origin.startsWith(before) || !origin.endsWith(after)) return false;
  return ONE_NAME.test(origin.slice(before.length, origin.length - after.length));
}

/** One name of a host, as browsers send it: lower case, in ASCII. */
const ONE_NAME = /^[a-z0-9_-]+$/;
