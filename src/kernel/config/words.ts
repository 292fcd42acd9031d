// The words that settings accept, each list once: validation, types and the JSON Schema share them. The core has the words for
// what follows an unknown outcome and for which exchanges are logged (kernel/record/record.ts, kernel/record/outcome.ts).

/** Cloudflare's location hints (Durable Objects documentation, "Data location"); only an object's first use counts. */
export const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const;
export type LocationHint = (typeof LOCATION_HINTS)[number];

/** A region, or, explicitly, no region: each object is created near whoever needs it first. */
export const PLACEMENTS = [...LOCATION_HINTS, "first-use"] as const;
export type ObjectPlacement = (typeof PLACEMENTS)[number];

/** Cloudflare's jurisdictions (same page): where objects run and store, guaranteed; part of an object's id. */
export const JURISDICTIONS = ["eu", "us", "fedramp", "fedramp-high"] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

/** `required`: a request without a key is refused. `optional`: it passes through unprotected. */
export const KEY_RULES = ["required", "optional"] as const;
export type KeyRule = (typeof KEY_RULES)[number];

/**
 * How a request's body counts in its fingerprint: as it is, in the form of RFC 8785, as the pairs of a form, as its parts whatever
 * their boundary, or not at all.
 */
export const BODY_FORMS = ["bytes", "json", "form", "multipart", "none"] as const;
export type BodyForm = (typeof BODY_FORMS)[number];

/** How the query counts: as it is, whatever the order of pairs with different names, or not at all. */
export const QUERY_FORMS = ["exact", "sorted", "none"] as const;
export type QueryForm = (typeof QUERY_FORMS)[number];

/**
 * What a duplicate gets while an attempt is in flight: 409 at once, the whole first answer when it is complete, or the
 * first answer live.
 */
export const DUPLICATE_RULES = ["reject", "wait", "attach"] as const;
export type DuplicateRule = (typeof DUPLICATE_RULES)[number];

/**
 * Whether requests may be answered before their result is there: none, those whose clients ask for it (RFC 7240, section 4.1), or all.
 */
export const ASYNC_RULES = ["never", "prefer", "always"] as const;
export type AsyncRule = (typeof ASYNC_RULES)[number];

/** What a record tells operators of its request. */
export const NOTE_RULES = ["target", "path", "none"] as const;

/** When the record cannot be reached: `closed` refuses, `open` forwards unprotected. */
export const STORE_FAILURE_RULES = ["closed", "open"] as const;
export type StoreFailureRule = (typeof STORE_FAILURE_RULES)[number];

/** Whether responses are encrypted for their callers. `past`: new ones are not, and earlier ones still open. */
export type EncryptionRule = boolean | "past";

/** Who answers a browser's preflight: the gateway, or the origin. */
export const PREFLIGHT_RULES = ["answer", "pass"] as const;
export type PreflightRule = (typeof PREFLIGHT_RULES)[number];
