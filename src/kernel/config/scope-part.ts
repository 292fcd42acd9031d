// The kinds of a scope's parts: which there are, how the configuration writes them, and which of them is a credential. A new
// kind is added here, and read from a request in kernel/request/scope.ts.

import { type ParsedSetting, refuseValue } from "./units.ts";
import { firstRepeated, isPointer, pointerTokens, TOKEN } from "./values.ts";

/**
 * One part of a scope: the part of a request that says whose key it is. Header names are in lower case. `host` is the host
 * name (with its port) that the request was sent to.
 */
export type ScopePart =
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "cookie"; readonly name: string }
  /** One of `[vars.IDENTITIES]`. */
  | { readonly kind: "identity"; readonly name: string }
  | { readonly kind: "ip" }
  | { readonly kind: "host" }
  /** The host that the client named as a trusted proxy says it, with that of the request's URL where the origin sees both. */
  | { readonly kind: "forwarded-host" }
  /** The path of the request, in its plainest form (path.ts). */
  | { readonly kind: "path" }
  /** A word that the route itself says: its keys are apart from those of routes with other words. */
  | { readonly kind: "route"; readonly name: string }
  /** A value in the request's JSON body. `name` is the pointer, `tokens` its parts. */
  | { readonly kind: "json"; readonly name: string; readonly tokens: readonly string[] }
  /** In an earlier scope, as written: no host was a part of it. Adds no value. */
  | { readonly kind: "any-host" };

/** How the settings' documentation writes the forms of an entry. */
export const SCOPE_FORMS =
  'a list of `"identity:NAME"`, `"header:NAME"`, `"cookie:NAME"`, `"host"`, `"ip"`, or `"none"` instead of these; and of `"path"`, ' +
  '`"route:WORD"`, `"json:/POINTER"`';

export const SCOPE_PATTERN = "^(?:header:.+|cookie:.+|identity:.+|route:.+|json:/.*|path|host|ip|none)$";

/** The word of a route. */
const ROUTE_WORD = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * What only an earlier scope may say of the host, because another `origin` or `trust_forwarded` has changed what the host is: that it was no part of
 * the scope (`any-host`), or what a trusted proxy said.
 */
export const PREVIOUS_SCOPE_PATTERN = `${SCOPE_PATTERN.slice(0, -2)}|any-host|forwarded-host)$`;

/** One entry of `scope`; "none" is null. A header's name comes back in lower case, a cookie's as written. */
export function parseScopeEntry(value: string): ParsedSetting<ScopePart | null> {
  if (value === "ip" || value === "host" || value === "path") return { ok: true, value: { kind: value } };
  if (value === "none") return { ok: true, value: null };
  const colon = value.indexOf(":");
  const kind = value.slice(0, Math.max(colon, 0));
  const name = value.slice(colon + 1);
  switch (kind) {
    case "header":
      return TOKEN.test(name)
        ? { ok: true, value: { kind, name: name.toLowerCase() } }
        : refuseValue('must name a header: write "header:authorization"');
    case "cookie":
      return TOKEN.test(name)
        ? { ok: true, value: { kind, name } }
        : refuseValue('must name a cookie: write "cookie:session"');
    case "identity":
      return name === ""
        ? refuseValue('must name an identity: write "identity:user", and describe it in [vars.IDENTITIES.user]')
        : { ok: true, value: { kind, name } };
    case "route":
      return ROUTE_WORD.test(name)
        ? { ok: true, value: { kind, name } }
        : refuseValue('must say a word of 1 to 64 letters, digits, ".", "_" and "-": write "route:checkout"');
    case "json":
      return isPointer(name)
        ? { ok: true, value: { kind, name, tokens: pointerTokens(name) } }
        : refuseValue(`"${name}" is not a JSON pointer (RFC 6901) below the root: write "json:/account"`);
    case "jwt":
      return refuseValue(
        `verified claims are identities: write "identity:user", and describe it in [vars.IDENTITIES.user]`,
      );
    default:
      return refuseValue(
        `"${value}" is not a part of a scope: write "identity:NAME", "header:NAME", "cookie:NAME", "host", "ip", "path", "route:WORD", "json:/POINTER" or "none"`,
      );
  }
}

/** A part as it is digested: a host is a host, whoever said it, so that trusting a proxy that repeats the host renames nothing. */
export function digestedName(part: ScopePart): string {
  return part.kind === "forwarded-host" ? "host" : scopePartName(part);
}

/** One entry of a value of `previous_scope`. */
export function parsePreviousEntry(value: string): ParsedSetting<ScopePart | null> {
  return value === "forwarded-host" || value === "any-host"
    ? { ok: true, value: { kind: value } }
    : parseScopeEntry(value);
}

/** Whether this part says what the host is to the scope. */
export function isHostPart({ kind }: ScopePart): boolean {
  return kind === "host" || kind === "forwarded-host" || kind === "any-host";
}

/**
 * `scope` as a whole: at least one entry, none twice, and "none" (null) beside no part that could show a caller. It leaves no part, so alone it
 * becomes the empty list.
 */
export function parseScope(entries: readonly (ScopePart | null)[]): ParsedSetting<readonly ScopePart[]> {
  const parts = entries.filter((entry) => entry !== null);
  if (entries.length === 0) {
    return refuseValue(
      'must say whose key it is: write ["header:authorization"], or ["none"] if one key means the same to all',
    );
  }
  if (parts.length < entries.length && (entries.length > parts.length + 1 || !parts.every(isOfRequest))) {
    return refuseValue(
      '"none" says that nothing tells callers apart: write ["none"], with "path", "route:WORD" or "json:/POINTER" at most, or leave "none" out',
    );
  }
  if (parts.filter(isHostPart).length > 1) {
    return refuseValue('"host", "forwarded-host" and "any-host" exclude each other: write one of them, once');
  }
  const twice = firstRepeated(parts.map(scopePartName));
  return twice === null ? { ok: true, value: parts } : refuseValue(`"${twice}" is listed twice: write it once`);
}

/**
 * Whether this part says what a request is about, and not whose it is. Whoever sends the request chooses it, so no part of this kind shows a
 * caller: with these alone, callers are anonymous.
 */
export function isOfRequest({ kind }: ScopePart): boolean {
  return kind === "path" || kind === "route" || kind === "json";
}

/** The same of the name of a part, as it is digested. */
export function isOfRequestNamed(name: string): boolean {
  return name === "path" || name.startsWith("route:") || name.startsWith("json:");
}

/** The parts that are in the body. */
export function bodyPartsOf(scope: readonly ScopePart[]): readonly Extract<ScopePart, { kind: "json" }>[] {
  return scope.filter((part) => part.kind === "json");
}

/** The names of a scope's parts, as the configuration writes them. */
export function scopeNames(scope: readonly ScopePart[]): readonly string[] {
  return scope.length === 0 ? ["none"] : scope.map(scopePartName);
}

/** The names of the identities in these scopes. */
export function identityNames(scopes: readonly (readonly ScopePart[])[]): readonly string[] {
  return scopes.flat().flatMap((part) => (part.kind === "identity" ? [part.name] : []));
}

/** A part of a scope as the configuration writes it: `header:authorization`. */
export function scopePartName(part: ScopePart): string {
  return "name" in part ? `${part.kind}:${part.name}` : part.kind;
}

/** Words in the names of headers that carry a credential. */
const CREDENTIAL = /(?:^|-)(?:auth[a-z]*|key|token|secret|session|credentials?|signature|jwt|assertion)(?:-|$)/;

/** Whether this part tells callers with different credentials apart. */
export function isCredential(part: ScopePart): boolean {
  switch (part.kind) {
    case "cookie":
    case "identity":
      return true;
    case "header":
      return CREDENTIAL.test(part.name);
    case "ip":
    case "host":
    case "forwarded-host":
    case "path":
    case "route":
    case "json":
    case "any-host":
      return false;
  }
}
