// `verify`: where the origin is asked whether an operation took effect, and which of the client's headers the verification carries. The
// answer's status decides alone, so the key may stand only in the path: there a 404 says that nothing has this name. A search
// by a key in the query is answered with 200 and an empty list.

import type { Origin } from "../config/resolved.ts";
import { type ParsedSetting, refuseValue } from "../config/units.ts";
import { firstRepeated, TOKEN } from "../config/values.ts";
import type { StateRule } from "./state-rule.ts";

/** How the origin is asked what became of an attempt. */
export interface VerifyRule {
  /** A path at the origin, or a URL. Its path contains `{key}`. */
  readonly target: string;
  /** The names of the client's headers that the verification carries, in lower case; `null`: all of them. */
  readonly headers: readonly string[] | null;
  /** What the state of the origin's resources says; absent: the answer's status decides. Then `target` is only shown. */
  readonly state?: StateRule;
}

/** A rule as the configuration writes it. */
type WrittenVerify = string | { readonly url: string; readonly headers: readonly string[] };

export const VERIFY_PATTERN = "^(?:/|https?://[^/?#]+/)[^?#]*\\{key\\}[^#]*$";
export const VERIFY_URL_PATTERN = "^https?://[^/?#]+/[^?#]*\\{key\\}[^#]*$";

const ADVICE = 'write "/v1/payments/by-key/{key}"';
export const VERIFY_TABLE_ADVICE =
  'write { url = "https://status.example.com/by-key/{key}", headers = ["authorization"] }';

/** Stands for the key while the form of a URL is checked. */
const SAMPLE = "onceway-key";

export function parseVerify(value: WrittenVerify): ParsedSetting<VerifyRule> {
  const [written, headers] = typeof value === "string" ? [value, null] : [value.url, value.headers];
  const target = parseTarget(written);
  if (!target.ok) return target;
  if (headers === null) return { ok: true, value: { target: target.value, headers } };
  if (written.startsWith("/")) {
    return refuseValue(`a path is at the origin, which gets all headers of the request: ${ADVICE}, without a table`);
  }
  const names = headers.map((name) => name.toLowerCase());
  const unusable = headers.find((name) => !TOKEN.test(name));
  if (unusable !== undefined)
    return refuseValue(`"${unusable}" is not a header name (RFC 9110, 5.6.2): write "authorization"`);
  const twice = firstRepeated(names);
  if (twice !== null) return refuseValue(`lists ${twice} twice: write it once`);
  return { ok: true, value: { target: target.value, headers: names } };
}

function parseTarget(text: string): ParsedSetting<string> {
  // "//host" would be another host.
  if (!/^(?:\/(?!\/)|https?:\/\/)/i.test(text) || !URL.canParse(text, "https://origin")) {
    return refuseValue(`must be a path at the origin or an http or https URL: ${ADVICE}`);
  }
  if (text.includes("#")) return refuseValue(`must not carry a fragment: ${ADVICE}`);
  if (/\{(?!key\})|(?<!\{key)\}/.test(text)) return refuseValue(`has a placeholder other than {key}: ${ADVICE}`);
  if (!text.includes("{key}")) return refuseValue(`must name the key: ${ADVICE}`);
  const url = new URL(text.replaceAll("{key}", SAMPLE), "https://origin");
  if (url.username !== "" || url.password !== "") {
    return refuseValue(`must not carry credentials, because variables are readable: ${ADVICE}`);
  }
  if (url.search.includes(SAMPLE)) {
    return refuseValue(
      "must name the key in the path, not in the query, because a search that finds nothing is answered with 200, " +
        `which would count as "took effect": ${ADVICE}`,
    );
  }
  // Dot segments can take the key out of the path again.
  if (!url.pathname.includes(SAMPLE)) return refuseValue(`must name the key in the path: ${ADVICE}`);
  return { ok: true, value: text };
}

/**
 * Why the origin's clients' headers must not go to this address; `null`: they may. Another host may get a client's credential only
 * where the configuration lists it.
 */
export function strangeHost({ target, headers }: VerifyRule, origin: Origin): string | null {
  if (headers !== null || target.startsWith("/")) return null;
  if (origin.kind === "url" && new URL(target).origin === new URL(origin.url).origin) return null;
  return (
    "is at another host than the origin, which must not get the credentials of its clients unasked: list the headers that it needs, " +
    `write { url = ${JSON.stringify(target)}, headers = ["authorization"] }, or headers = [] for none`
  );
}
