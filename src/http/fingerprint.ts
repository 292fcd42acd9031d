// What a request asks for, as a fingerprint: method, path, query, the headers that the route names, and the body as the
// route compares it. Everything is length-prefixed, so that nothing can move across a boundary unseen.

import type { BodyForm } from "../config/words.ts";
import { fingerprint, type Fingerprint } from "../core/units.ts";
import { canonicalJson } from "./canonical-json.ts";
import { digest, sha256 } from "./digest.ts";
import { Slices } from "./slices.ts";

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

/** Of all requests that this isolate compares as JSON. */
const slices = new Slices();

export async function fingerprintRequest(
  parts: FingerprintParts,
  body: Uint8Array,
  compare: BodyForm,
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

async function bodyParts(body: Uint8Array, compare: BodyForm): Promise<readonly (string | Uint8Array)[]> {
  switch (compare) {
    case "none":
      return ["none"];
    case "bytes":
      return ["bytes", await sha256(body)];
    case "json": {
      const canonical = await slices.run(canonicalJson(body));
      // What has no canonical form is compared as it is: stricter, never looser.
      return canonical === null ? ["bytes", await sha256(body)] : ["json", await sha256(canonical)];
    }
  }
}
