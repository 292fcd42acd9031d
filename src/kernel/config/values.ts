// Parses the texts of a configuration that have their own syntax: origins, parts of a scope, names of headers and methods.
// Checks one value alone; `cross-checks.ts` checks the relations between settings.

import { type ForwardKey, type Origin } from "./resolved.ts";
import { type ParsedSetting, refuseValue } from "./units.ts";

/** RFC 9110, 5.6.2: a token. */
export const TOKEN_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
export const TOKEN = new RegExp(TOKEN_PATTERN);

/** Names of bindings as wrangler accepts them. No two leading underscores: `__proto__` must not look like a binding. */
export const BINDING_PATTERN = "^(?!__)[A-Za-z_$][A-Za-z0-9_$]*$";
const BINDING = new RegExp(BINDING_PATTERN);

/** Names of classes that the Worker's entry exports, without the gateway's own. */
export const ENTRYPOINT_PATTERN = "^(?!__|default$|KeyShard$|Operators$)[A-Za-z_$][A-Za-z0-9_$]*$";
const ENTRYPOINT = new RegExp(ENTRYPOINT_PATTERN);

/** Methods that are safe to repeat by definition (RFC 9110, 9.2.1), or that never reach a Worker as themselves. */
const REPEATABLE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"]);

const EVERY_METHOD: ReadonlySet<string> = new Set(["ALL", "ANY", "*"]);

const ORIGIN_ADVICE = 'write "https://api.example.com", { binding = "NAME" } or { entrypoint = "NAME" }';

/** `origin = "https://…"`, which may carry a path prefix (kept without its last slash), or `{ binding = "NAME" }`. */
export function parseOrigin(
  value: string | { readonly binding: string } | { readonly entrypoint: string },
): ParsedSetting<Origin> {
  if (typeof value !== "string" && "entrypoint" in value) {
    return ENTRYPOINT.test(value.entrypoint)
      ? { ok: true, value: { kind: "entrypoint", entrypoint: value.entrypoint } }
      : refuseValue('entrypoint must be the name of an exported class: write { entrypoint = "Origin" }');
  }
  if (typeof value !== "string") {
    return BINDING.test(value.binding)
      ? { ok: true, value: { kind: "binding", binding: value.binding } }
      : refuseValue('binding must be a name of letters, digits and "_": write { binding = "API" }');
  }
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) {
    return refuseOrigin(value);
  }
  const url = new URL(value);
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  if (url.username !== "" || url.password !== "") {
    return refuseValue(
      `must not carry credentials, because variables are readable: write "${base}" and let clients send theirs`,
      base,
    );
  }
  if (value.includes("?") || value.includes("#")) {
    return refuseValue(`must not carry a query or a fragment: write "${base}"`, base);
  }
  return { ok: true, value: { kind: "url", url: base } };
}

/** A host alone is a URL that lacks its scheme. */
function refuseOrigin(value: string): ParsedSetting<never> {
  const wrong = "must be an absolute http or https URL";
  // As somebody writes it who has read that it begins with a slash.
  const bare = value.trim().replace(/^\/+/, "");
  if (bare !== value && URL.canParse(bare) && parseOrigin(bare).ok)
    return refuseValue(`${wrong}: write "${bare}"`, bare);
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::\d+)?(?:\/[^\s?#]*)?$/i.test(value) || value.startsWith("http")) {
    return refuseValue(`${wrong}: ${ORIGIN_ADVICE}`);
  }
  const host = value.split("/")[0]?.replace(/:\d+$/, "") ?? "";
  const url = `${isLoopback(host) ? "http" : "https"}://${value}`;
  return refuseValue(`${wrong}: write "${url}"${host.includes(".") ? "" : `, or { binding = "NAME" }`}`);
}

/** The name of a binding that is no origin. */
export function parseBindingName(value: string): ParsedSetting<string> {
  return BINDING.test(value)
    ? { ok: true, value }
    : refuseValue(`"${value}" is not the name of a binding: write letters, digits and "_", such as "NEW_KEYS"`);
}

/** The message for an origin that is neither text nor a table with a binding. */
export const ORIGIN_TYPE_MESSAGE = `must be a URL or a table with one member, binding or entrypoint: ${ORIGIN_ADVICE}`;

/** `forward_key`: "client", "none", or the name of a step, which has the characters of a token. */
export function parseForwardKey(value: string): ParsedSetting<ForwardKey> {
  if (value === "client" || value === "none") return { ok: true, value: { kind: value } };
  if (TOKEN.test(value) && value.length <= 64) return { ok: true, value: { kind: "step", step: value } };
  return refuseValue(
    'must be "client", "none" or a step name of 1 to 64 letters, digits and hyphens: write "charge" to send <key>:charge',
  );
}

export function parseHeaderName(value: string): ParsedSetting<string> {
  return TOKEN.test(value)
    ? { ok: true, value }
    : refuseValue(
        `"${value}" is not a header name (RFC 9110, 5.6.2): write letters, digits and hyphens, "Idempotency-Key"`,
      );
}

export function parseMethod(value: string): ParsedSetting<string> {
  const upper = value.toUpperCase();
  if (!TOKEN.test(value)) {
    const names = upper.match(/\b(?:POST|PATCH|PUT|DELETE)\b/g) ?? ["POST"];
    const each = names.map((name) => `"${name}"`).join(", ");
    return refuseValue(`"${value}" is not a method: write ${each}`);
  }
  // "ALL" would reach the router as "every method", and no request has the others.
  if (EVERY_METHOD.has(upper)) return refuseValue('name the methods one by one: write ["POST", "PATCH"]');
  if (REPEATABLE_METHODS.has(upper)) {
    return refuseValue(`${upper} is safe to repeat without a key: leave it out (write ["POST", "PATCH"])`);
  }
  return value === upper ? { ok: true, value } : refuseValue(`methods are upper case: write "${upper}"`, upper);
}

/** A pattern for keys; it has to compile as `new RegExp(pattern, "u")`. */
export function parseKeyPattern(value: string): ParsedSetting<string> {
  try {
    void new RegExp(value, "u");
    return { ok: true, value };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /, "") : "syntax";
    return refuseValue(`is not a regular expression (${reason}): write a JavaScript pattern, "^[0-9a-f-]{36}$"`);
  }
}

/** RFC 6901, section 3; not the empty pointer, which means the whole document. */
export const POINTER_PATTERN = "^(?:/(?:[^~/]|~[01])*)+$";
const POINTER = new RegExp(POINTER_PATTERN, "u");

/** Whether this points into a JSON document, below its root. */
export function isPointer(value: string): boolean {
  return POINTER.test(value) && value.isWellFormed();
}

/** A pointer of `fingerprint`. */
export function parsePointer(value: string): ParsedSetting<string> {
  if (isPointer(value)) return { ok: true, value };
  if (value === "")
    return refuseValue('is the whole body: write a pointer below it, "/timestamp", or set body instead');
  const advice = value.startsWith("/")
    ? "write ~0 for ~ and ~1 for / in a name"
    : 'write "/timestamp", with a slash first';
  return refuseValue(`"${value}" is not a JSON pointer (RFC 6901): ${advice}`);
}

/** The names and indices of a valid pointer. */
export function pointerTokens(pointer: string): readonly string[] {
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The name of a query parameter, decoded. */
export function parseQueryName(value: string): ParsedSetting<string> {
  if (value !== "" && value.isWellFormed()) return { ok: true, value };
  return refuseValue('must be the name of a parameter, without escapes: write "timestamp"');
}

/** The first value that is in the list twice. */
export function firstRepeated<T>(values: readonly T[]): T | null {
  return values.find((value, index) => values.indexOf(value) !== index) ?? null;
}

/** Whether a URL's host is the same machine. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Names of queues, of groups of consumers and of operators: what a queue may be called (platform limit). */
export const NAME_PATTERN = "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$";
