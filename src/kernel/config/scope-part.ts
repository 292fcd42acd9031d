// The kinds of a scope's parts: which there are, how the configuration writes them, and which of them is a credential. A new
// kind is added here, and read from a request in kernel/request/scope.ts.

import { type ParsedSetting, refuseValue } from "./units.ts";
import { firstRepeated, TOKEN } from "./values.ts";

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
  /** In an earlier scope, as written: no host was a part of it. Adds no value. */
  | { readonly kind: "any-host" };

/** How the settings' documentation writes the forms of an entry. */
export const SCOPE_FORMS =
  'a list of `"identity:NAME"`, `"header:NAME"`, `"cookie:NAME"`, `"host"`, `"ip"`; or `["none"]`';

export const SCOPE_PATTERN = "^(?:header:.+|cookie:.+|identity:.+|host|ip|none)$";

/**
 * What only an earlier scope may say of the host, because another `origin` or `trust_forwarded` has changed what the host is: that it was no part of
 * the scope (`any-host`), or what a trusted proxy said.
 */
export const PREVIOUS_SCOPE_PATTERN = `${SCOPE_PATTERN.slice(0, -2)}|any-host|forwarded-host)$`;

/** One entry of `scope`; "none" is null. A header's name comes back in lower case, a cookie's as written. */
export function parseScopeEntry(value: string): ParsedSetting<ScopePart | null> {
  if (value === "ip" || value === "host") return { ok: true, value: { kind: value } };
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
    case "jwt":
      return refuseValue(
        `verified claims are identities: write "identity:user", and describe it in [vars.IDENTITIES.user]`,
      );
    default:
      return refuseValue(
        `"${value}" is not a part of a scope: write "identity:NAME", "header:NAME", "cookie:NAME", "host", "ip" or "none"`,
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

/** `scope` as a whole: at least one entry, none twice, "none" (null) only alone; it becomes the empty list. */
export function parseScope(entries: readonly (ScopePart | null)[]): ParsedSetting<readonly ScopePart[]> {
  const parts = entries.filter((entry) => entry !== null);
  if (entries.length === 0) {
    return refuseValue(
      'must say whose key it is: write ["header:authorization"], or ["none"] if one key means the same to all',
    );
  }
  if (parts.length < entries.length && entries.length > 1) {
    return refuseValue('"none" must be the only entry: write ["none"], or leave "none" out');
  }
  if (parts.filter(isHostPart).length > 1) {
    return refuseValue('"host", "forwarded-host" and "any-host" exclude each other: write one of them, once');
  }
  const twice = firstRepeated(parts.map(scopePartName));
  return twice === null ? { ok: true, value: parts } : refuseValue(`"${twice}" is listed twice: write it once`);
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
    case "any-host":
      return false;
  }
}
