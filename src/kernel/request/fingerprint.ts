// The fingerprint of what a request asks for: method, path, query, the headers that the route names, and the body in the form
// that the route compares. Every part has its length in front, so that no byte can move from one part to the next unnoticed.

import type { BodySelection } from "../config/resolved.ts";
import { pointerTokens } from "../config/values.ts";
import { fingerprint, type Fingerprint } from "../record/units.ts";
import { SMALL_BYTES } from "./body.ts";
import { comparedQuery } from "./compared-query.ts";
import { comparedHeaders, type ComparisonRule, comparisonOf } from "./comparison.ts";
import { digest, sha256 } from "./digest.ts";
import { canonicalForm } from "./form-pairs.ts";
import type { ExchangeIntent } from "./intent.ts";
import { scanJson } from "./json.ts";
import { selectJson } from "./json-pointer.ts";
import { findPlaces, MAX_PLACED_BYTES, textOfJson, withoutPlaces } from "./json-places.ts";
import type { CanonicalMultipart } from "../request-feature.ts";
import { type WaitingCaller, TimeSlicer } from "./time-slicer.ts";

export interface FingerprintParts {
  readonly method: string;
  readonly path: string;
  /** As it is compared (compared-query.ts). */
  readonly query: string;
  /** The values of the headers that the route names, in the route's order; `null` for a missing header. */
  readonly headers: readonly (string | null)[];
}

/** What the fingerprint covers besides the body, and how that is compared. */
export function comparedParts({ request, headers, url, route }: Omit<ExchangeIntent, "kind" | "key">): {
  readonly parts: FingerprintParts;
  readonly comparison: ComparisonRule;
} {
  const comparison = comparisonOf(route.fingerprint, headers);
  const parts = {
    method: request.method,
    path: url.pathname,
    query: comparedQuery(url.search, route.fingerprint),
    headers: comparedHeaders(route.fingerprint.headers, headers, comparison),
  };
  return { parts, comparison };
}

/** Must change whenever the digested parts or their order change, so that an old fingerprint never equals a new one. */
const VERSION = "onceway-2";

const encoder = new TextEncoder();

/** One for all requests that this isolate compares in a form that takes work. */
const slicer = new TimeSlicer();

export async function fingerprintRequest(
  parts: FingerprintParts,
  body: Uint8Array,
  comparison: ComparisonRule,
  caller: WaitingCaller | null = null,
  canonicalMultipart?: CanonicalMultipart,
): Promise<Fingerprint> {
  if (comparison.as === "none") return fingerprintOf(parts, ["none"]);
  const isBytes = comparison.as === "bytes" || comparison.as === "typed bytes";
  const canonical = isBytes ? null : await slicer.run(canonicalBody(body, comparison, canonicalMultipart), caller);
  const { tags, bytes } = canonical ?? { tags: bytesTags(comparison), bytes: body };
  // Small ones go into the digest as they are. The shard digests a multipart form piece by piece, whatever its size.
  const isSmall = bytes.byteLength <= SMALL_BYTES && (canonical === null || comparison.as !== "multipart");
  return fingerprintOf(parts, [...tags, ...(isSmall ? ["small", bytes] : [await sha256(bytes)])]);
}

/** The fingerprint of a request whose body is compared as bytes, has more than SMALL_BYTES, and was digested while it arrived. */
export function fingerprintDigested(
  parts: FingerprintParts,
  bodyDigest: Uint8Array,
  comparison: ComparisonRule,
): Promise<Fingerprint> {
  return fingerprintOf(parts, [...bytesTags(comparison), bodyDigest]);
}

/** The fingerprint of a multipart request whose canonical form was digested while it arrived. */
export function fingerprintMultipart(
  parts: FingerprintParts,
  canonicalDigest: Uint8Array,
  { media }: Extract<ComparisonRule, { as: "multipart" }>,
): Promise<Fingerprint> {
  return fingerprintOf(parts, [...multipartTags(media), canonicalDigest]);
}

type DigestPart = string | Uint8Array | null;

async function fingerprintOf(
  { method, path, query, headers }: FingerprintParts,
  body: readonly DigestPart[],
): Promise<Fingerprint> {
  return fingerprint(await digest([VERSION, method, path, query, String(headers.length), ...headers, ...body]));
}

/** What is digested of a body that is compared in a form of its own; the tags say which. */
interface CanonicalBody {
  readonly tags: readonly DigestPart[];
  readonly bytes: Uint8Array;
}

/** `null`: all of the body is compared byte by byte, which is stricter and never laxer. */
function* canonicalBody(
  body: Uint8Array,
  comparison: Exclude<ComparisonRule, { as: "none" } | { as: "bytes" } | { as: "typed bytes" }>,
  canonicalMultipart: CanonicalMultipart | undefined,
): Generator<undefined, CanonicalBody | null> {
  switch (comparison.as) {
    case "json": {
      const whole = yield* scanJson(body, "compared");
      if (typeof whole === "string" || whole.canonical === null) return null;
      return { tags: ["json"], bytes: yield* encoded(whole.canonical) };
    }
    case "selected json": {
      const { media, selection } = comparison;
      const whole = yield* scanJson(body, "compared");
      if (typeof whole === "string" || whole.canonical === null) return yield* asWritten(body, comparison);
      const text = yield* selectJson(whole, selection);
      const tags = ["selected json", media, text === null ? null : textOf(selection)];
      return { tags, bytes: yield* encoded(text ?? whole.canonical) };
    }
    case "form": {
      const { media, selection } = comparison;
      const form = yield* canonicalForm(body, selection);
      if (form === null) return null;
      const selected = form.isSelected && selection !== null ? textOf(selection) : null;
      return { tags: ["form", media, selected], bytes: form.bytes };
    }
    case "multipart": {
      const bytes = canonicalMultipart === undefined ? null : yield* canonicalMultipart(body, comparison.boundary);
      return bytes === null ? null : { tags: multipartTags(comparison.media), bytes };
    }
  }
}

/** JSON that has no canonical form, or is larger than is read for one, still counts without what does not: what is left of it, as it is written. */
function* asWritten(
  body: Uint8Array,
  { media, selection }: Extract<ComparisonRule, { as: "selected json" }>,
): Generator<undefined, CanonicalBody | null> {
  const text = selection.kind === "only" || body.byteLength > MAX_PLACED_BYTES ? null : textOfJson(body);
  if (text === null) return null;
  const places = yield* findPlaces(text, selection.pointers.map(pointerTokens));
  if (typeof places === "string" || places.includes("ambiguous")) return null;
  const left = withoutPlaces(
    text,
    places.filter((place) => place !== null && place !== "ambiguous"),
  );
  return { tags: ["json as written", media, textOf(selection)], bytes: yield* encoded(left) };
}

/** A larger text is a slice of its own: the runtime puts it together from the texts of all its values. */
const LONG_TEXT = 16 * 1024;

function* encoded(text: string): Generator<undefined, Uint8Array> {
  if (text.length > LONG_TEXT) yield;
  return encoder.encode(text);
}

/** Part of the digest, so that another selection never makes two requests equal. */
function textOf({ kind, pointers }: BodySelection): string {
  return JSON.stringify([kind, pointers]);
}

function multipartTags(media: string): readonly DigestPart[] {
  return ["multipart", media];
}

/** Where the route expects a certain type, equal bytes of two types are two requests. */
function bytesTags(comparison: ComparisonRule): readonly DigestPart[] {
  switch (comparison.as) {
    case "none":
    case "bytes":
    case "json":
      return ["bytes"];
    case "typed bytes":
    case "selected json":
    case "form":
    case "multipart":
      return ["bytes of", comparison.type, comparison.encoding];
  }
}
