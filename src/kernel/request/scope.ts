// Reads the scope of a request's key: the values of the parts that identify the caller, as the route names them. They are
// only digested, so the scope stores no credential (a verification at the origin does, until its attempt is settled). A missing part
// is a value of its own, so all anonymous callers share one scope, and no caller with a credential is in it. A part that is
// ambiguous is refused, never treated as missing.

import { digestedName, type ScopePart } from "../config/scope-part.ts";
import { laneOf } from "../record/lanes.ts";
import type { ClientProblem } from "../record/problem.ts";
import { canonicalAddress, CLIENT_ADDRESS, networkOf } from "./client-address.ts";
import { digest } from "./digest.ts";
import type { HeadersView } from "./headers.ts";
import { plainestPath } from "./path.ts";
import { callerValues, isSomebody } from "./record-name.ts";

/** The most characters of the `Cookie` header. Even the worst value takes only a few milliseconds; few servers accept more. */
const MAX_COOKIE_LENGTH = 16 * 1024;

/** The name and the value of each part, one after the other. The value is `null` if the request lacks the part. */
export type ScopeValues = readonly (string | null)[];

/** The values to digest, or the problem to tell the client. */
export type Scope = { readonly values: ScopeValues } | { readonly problem: ClientProblem };

/** Who the caller is by each identity that the route uses; the value is `null` for anonymous callers (identity.ts). */
export type CallerProofs = ReadonlyMap<string, CallerProof>;
export type CallerProof = ProvedCaller | { readonly problem: ClientProblem };

export interface ProvedCaller {
  readonly value: string | null;
  /** Whether the body is the one that the proof covers, or what is wrong; absent: the proof covers no body. It has to be held whole for this. */
  readonly checkBody?: CheckBody;
}

export type CheckBody = (bytes: Uint8Array) => Promise<ClientProblem | null>;

export const NO_PROOFS: CallerProofs = new Map();

/** What a scope may take from the request besides its headers. */
export interface ScopeRequest {
  readonly path: string;
  /** By the pointers of the scope's parts. A part whose body has not been read has no value here, and counts as missing. */
  readonly json: JsonParts;
}

export type JsonParts = ReadonlyMap<string, JsonPart>;
export type JsonPart = { readonly value: string | null } | { readonly problem: ClientProblem };

/** The body of a request that has not been read. */
export const UNREAD: JsonParts = new Map();

/**
 * `host` is that of the request, `seen` that which the origin sees where a proxy is trusted (host.ts). Each part's name is a value too, so that a cookie and a header
 * with the same value differ.
 */
export function readScope(
  headers: HeadersView,
  host: string,
  parts: readonly ScopePart[],
  proofs: CallerProofs = NO_PROOFS,
  seen = host,
  { path, json }: ScopeRequest = { path: "", json: UNREAD },
): Scope {
  const values: (string | null)[] = [];
  for (const part of parts) {
    const name = digestedName(part);
    if (part.kind === "identity") {
      const proof = proofs.get(part.name) ?? UNPROVED;
      if ("problem" in proof) return proof;
      values.push(name, proof.value);
      continue;
    }
    if (part.kind === "json") {
      const found = json.get(part.name) ?? { value: null };
      if ("problem" in found) return found;
      values.push(name, found.value);
      continue;
    }
    if (part.kind === "cookie" && (headers.get("cookie")?.length ?? 0) > MAX_COOKIE_LENGTH) {
      return invalid(
        `The cookies, one of which identifies the caller, have more than ${MAX_COOKIE_LENGTH} characters.`,
      );
    }
    const value = readPart(headers, part.kind === "forwarded-host" ? seen : host, path, part);
    if (value === AMBIGUOUS) {
      return invalid(
        `The cookie ${name.slice("cookie:".length)}, which identifies the caller, is ambiguous: send one Cookie line, with "; " between cookies and "name=value" for each.`,
      );
    }
    if (value?.includes(REPLACEMENT) ?? false) {
      return invalid(`The value of ${name}, which identifies the caller, is not UTF-8.`);
    }
    values.push(name, value);
  }
  return { values };
}

function invalid(reason: string): Scope {
  return { problem: { code: "request-invalid", reason } };
}

/** Nobody has proved the identity, so nobody may have its records. */
const UNPROVED: CallerProof = { problem: { code: "credential-invalid", why: "invalid" } };

/** The runtime replaces bytes that are not UTF-8 with this. Callers that differ only in such bytes would look the same. */
const REPLACEMENT = "\ufffd";

const AMBIGUOUS = Symbol("ambiguous");

function readPart(
  headers: HeadersView,
  host: string,
  path: string,
  part: Exclude<ScopePart, { readonly kind: "identity" | "json" }>,
): string | null | typeof AMBIGUOUS {
  switch (part.kind) {
    case "header":
      return headers.get(part.name);
    case "cookie":
      return readCookie(headers.get("cookie") ?? "", part.name);
    case "ip": {
      const address = headers.get(CLIENT_ADDRESS);
      return address === null ? null : canonicalAddress(address);
    }
    case "host":
    case "forwarded-host":
      return host;
    case "path":
      // Coarser than the path in the fingerprint: spellings that some routers take for one path meet here, and get 422 there.
      return plainestPath(path);
    case "route":
      return part.name;
    case "any-host":
      return null;
  }
}

/**
 * The text after each `name=`, exactly as the client sent it. It is not decoded, unquoted or validated: values that differ in
 * one byte are different callers, and a value that a stricter parser would drop still does not make the caller anonymous.
 * Servers disagree on how to find a cookie: the runtime joins two lines with a comma, and some servers split at that comma, trim
 * names or decode them. If any of them might find the cookie where this function does not, or might end its value elsewhere,
 * the cookie is ambiguous.
 */
function readCookie(header: string, name: string): string | null | typeof AMBIGUOUS {
  const values: string[] = [];
  for (const pair of header.split(";")) {
    const text = pair.trim();
    const isNamed = text.startsWith(`${name}=`);
    if (isNamed) values.push(text.slice(name.length + 1));
    const [first = "", ...others] = text.split(",");
    if (!isNamed && looksLike(first, name)) return AMBIGUOUS;
    if (others.some((other) => looksLike(other, name) || (isNamed && BEGINS_COOKIE.test(other)))) return AMBIGUOUS;
  }
  return values.length === 0 ? null : values.join(";");
}

/** The start of a second `Cookie` line that was joined to the first. A comma alone does not show one, because values may have it. */
const BEGINS_COOKIE = /^[\t ]*[!#$%&'*+.^_`|~0-9A-Za-z-]+=/;

/** Whether a server that trims, unquotes or decodes names would take this pair for the cookie. */
function looksLike(pair: string, name: string): boolean {
  // Trimming, unquoting and decoding never make a name longer.
  if (pair.length < name.length) return false;
  const [written = ""] = pair.split("=", 1);
  const bare = written
    .trim()
    .replace(/^"(.*)"$/, "$1")
    .trim();
  return bare === name || decoded(bare) === name;
}

/** Decodes ASCII escapes only. A cookie's name is ASCII, and `decodeURIComponent` would throw on invalid escapes, which is slow. */
function decoded(text: string): string {
  return text.replaceAll(/%[0-7][0-9a-f]/gi, (escape) => String.fromCodePoint(Number.parseInt(escape.slice(1), 16)));
}

/**
 * Whose turn a request takes (kernel/record/lanes.ts). A credential that nobody has verified can be made up for each request, so it says nothing
 * here: only a proved identity does, and without one the network that the client's address is in. Where no address is known, the scope
 * has to do.
 */
export function callerLane(scope: ScopeValues, headers: HeadersView): number {
  const proved = scope.filter((value, at) => at % 2 === 1 && value !== null && isIdentity(scope[at - 1]));
  if (proved.length > 0) return laneOf(`identity ${JSON.stringify(proved)}`);
  const address = headers.get(CLIENT_ADDRESS);
  return laneOf(address === null ? `scope ${JSON.stringify(callerValues(scope))}` : `network ${networkOf(address)}`);
}

function isIdentity(name: string | null | undefined): boolean {
  return name?.startsWith("identity:") ?? false;
}

/** How a new key is counted (`new_keys`), as part of the message to the shard. */
export interface KeyCount {
  /** The rate limit binding that counts. */
  readonly binding: string;
  /** The caller's digest. */
  readonly caller: string;
}

/**
 * Whom a new key is counted for: the caller, by all parts of the scope but those that the caller chooses with each request. Only the shard knows whether a key is new, and asks the limiter then
 * (kernel/new-keys/new-keys.ts).
 *
 * A scope that shows nobody (`["none"]`, or no part of it is in the request) is shared by strangers, and one of them could use up
 * the limit of all. So there the client's address counts too. Of an address only its network counts, here and in the scope: whoever has
 * one IPv6 address would otherwise begin with each of 2^64 anew.
 */
export async function countFor(binding: string, scope: ScopeValues, headers: HeadersView): Promise<KeyCount> {
  const address = isSomebody(scope) ? null : headers.get(CLIENT_ADDRESS);
  const own = callerValues(scope);
  const counted = own.map((value, at) => (at % 2 === 1 && own[at - 1] === "ip" ? inNetwork(value) : value));
  return { binding, caller: await digest([...counted, inNetwork(address)]) };
}

function inNetwork(address: string | null): string | null {
  return address === null ? null : networkOf(address);
}
