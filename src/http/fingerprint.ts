// The fingerprint of what a request asks for: method, path, query, the headers that the route names, and the body in the form
// that the route compares. Every part has its length in front, so that no byte can move from one part to the next unnoticed.

import type { BodyForm } from "../config/words.ts";
import { fingerprint, type Fingerprint } from "../core/units.ts";
import { canonicalJson } from "./canonical-json.ts";
import { digest, sha256 } from "./digest.ts";
import { TimeSlicer } from "./time-slicer.ts";

export interface FingerprintParts {
  readonly method: string;
  readonly path: string;
  /** Begins with the question mark; empty if the URL has no query. */
  readonly query: string;
  /** The values of the headers that the route names, in the route's order; `null` for a missing header. */
  readonly headers: readonly (string | null)[];
}

/** Must change whenever the digested parts or their order change, so that an old fingerprint never equals a new one. */
const VERSION = "onceway-1";

/** One for all requests that this isolate compares as JSON. */
const slicer = new TimeSlicer();

export async function fingerprintRequest(
  parts: FingerprintParts,
  body: Uint8Array,
  compare: BodyForm,
): Promise<Fingerprint> {
  return fingerprintOf(parts, await bodyParts(body, compare));
}

/** The fingerprint of a request whose body is compared as bytes and was digested while it arrived. */
export function fingerprintDigested(parts: FingerprintParts, bodyDigest: Uint8Array): Promise<Fingerprint> {
  return fingerprintOf(parts, ["bytes", bodyDigest]);
}

async function fingerprintOf(
  { method, path, query, headers }: FingerprintParts,
  body: readonly (string | Uint8Array)[],
): Promise<Fingerprint> {
  return fingerprint(await digest([VERSION, method, path, query, String(headers.length), ...headers, ...body]));
}

async function bodyParts(body: Uint8Array, compare: BodyForm): Promise<readonly (string | Uint8Array)[]> {
  switch (compare) {
    case "none":
      return ["none"];
    case "bytes":
      return ["bytes", await sha256(body)];
    case "json": {
      const canonical = await slicer.run(canonicalJson(body));
      // A body without a canonical form is compared byte by byte, which is stricter and never laxer.
      return canonical === null ? ["bytes", await sha256(body)] : ["json", await sha256(canonical)];
    }
  }
}
