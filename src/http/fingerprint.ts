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
  readonly body: Uint8Array;
}

/** Changes whenever what is digested, or its order, does; so an old fingerprint never passes for a new one. */
const VERSION = "onceway-1";

export async function fingerprintRequest(
  parts: FingerprintParts,
  compare: "bytes" | "json" | "none",
): Promise<Fingerprint> {
  const { method, path, query, headers } = parts;
  const body = await bodyParts(parts.body, compare);
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
 * The canonical form of a JSON text (RFC 8785), or `null` where it has none: not JSON, not UTF-8, or numbers beyond the
 * precision of a double (RFC 7493, section 2.2), of which two that differ would become one. Of a repeated member the
 * last one counts.
 */
export function canonicalJson(body: Uint8Array): Uint8Array | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    const value: unknown = JSON.parse(text, refuseImpreciseNumbers);
    const canonical = canonicalize(value);
    return canonical === undefined ? null : new TextEncoder().encode(canonical);
  } catch {
    return null;
  }
}

/** Up to 15 significant decimal digits survive the way through a double (IEEE 754, binary64). */
const PRECISE_DIGITS = 15;

function refuseImpreciseNumbers(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number") return value;
  const mantissa = (context?.source ?? String(value)).toLowerCase().split("e")[0] ?? "";
  const digits = mantissa.replaceAll(/[-.]/g, "").replace(/^0+/, "").replace(/0+$/, "");
  if (digits.length > PRECISE_DIGITS || !Number.isFinite(value))
    throw new RangeError("number beyond a double's precision");
  return value;
}
