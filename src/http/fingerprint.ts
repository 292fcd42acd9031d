// What a request asks for, as a fingerprint: method, path, query, the headers that the route names, and the body as the
// route compares it. Everything is length-prefixed, so that nothing can move across a boundary unseen.

import canonicalize from "canonicalize";
import { fingerprint, type Fingerprint } from "../core/units.ts";
import { digest, sha256 } from "./digest.ts";

export interface FingerprintParts {
  readonly method: string;
  readonly path: string;
  /** With its question mark; empty when there is none. */
  readonly query: string;
  /** The values of the headers that the route names, in its order; `null` for an absent one. */
  readonly headers: readonly (string | null)[];
}

/** Changes whenever what is digested, or its order, does; so an old fingerprint never passes for a new one. */
const VERSION = "onceway-1";

export async function fingerprintRequest(
  parts: FingerprintParts,
  body: Uint8Array,
  compare: "bytes" | "json" | "none",
): Promise<Fingerprint> {
  return fingerprintOf(parts, await bodyParts(body, compare));
}

/** The fingerprint of a request whose body, compared as bytes, has been digested while it came. */
export function fingerprintDigested(parts: FingerprintParts, bodyDigest: Uint8Array): Promise<Fingerprint> {
  return fingerprintOf(parts, ["bytes", bodyDigest]);
}

async function fingerprintOf(
  { method, path, query, headers }: FingerprintParts,
  body: readonly (string | Uint8Array)[],
): Promise<Fingerprint> {
  return fingerprint(await digest([VERSION, method, path, query, String(headers.length), ...headers, ...body]));
}

async function bodyParts(
  body: Uint8Array,
  compare: "bytes" | "json" | "none",
): Promise<readonly (string | Uint8Array)[]> {
  switch (compare) {
    case "none":
      return ["none"];
    case "bytes":
      return ["bytes", await sha256(body)];
    case "json": {
      const canonical = canonicalJson(body);
      // What has no canonical form is compared as it is: stricter, never looser.
      return canonical === null ? ["bytes", await sha256(body)] : ["json", await sha256(canonical)];
    }
  }
}

/**
 * The canonical form of a JSON text (RFC 8785), or `null` where it has none: not JSON, not UTF-8, repeated members, or
 * numbers beyond the precision of a double (RFC 7493, sections 2.2 and 2.3), of which two that differ would become one;
 * or where it would take too long to find.
 */
export function canonicalJson(body: Uint8Array): Uint8Array | null {
  if (body.byteLength > MAX_JSON_BYTES) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    let members = 0;
    const value: unknown = JSON.parse(text, (_name, member: unknown, context?: { readonly source?: string }) => {
      if (typeof member === "number") refuseImprecise(member, context?.source ?? "");
      else if (typeof member === "object" && member !== null && !Array.isArray(member))
        members += Object.keys(member).length;
      return member;
    });
    if (members !== writtenMembers(text)) return null;
    const canonical = canonicalize(value);
    return canonical === undefined ? null : new TextEncoder().encode(canonical);
  } catch {
    return null;
  }
}

/** Canonicalising a mebibyte takes some tens of milliseconds, in which the isolate answers nobody else. */
const MAX_JSON_BYTES = 1 << 20;

/** Up to 15 significant decimal digits survive the way through a double (IEEE 754, binary64). */
const PRECISE_DIGITS = 15;

function refuseImprecise(value: number, source: string): void {
  const mantissa = source.toLowerCase().split("e")[0] ?? "";
  const digits = mantissa.replaceAll(/[-.]/g, "").replace(/^0+/, "").replace(/0+$/, "");
  const lost = !Number.isFinite(value) || (value === 0 && digits !== "");
  if (lost || digits.length > PRECISE_DIGITS) throw new RangeError("number beyond a double's precision");
}

/** How many members the objects of a valid JSON text have as written; parsing keeps one of those with the same name. */
function writtenMembers(text: string): number {
  let members = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:)?/g)) if (colon !== undefined) members += 1;
  return members;
}
