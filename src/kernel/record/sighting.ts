// The words for what is seen of requests that pass on while a route is on trial. Stored, counted and shown by them.

/** What a request would have been if its route had protected it. Each has exactly one. */
export const SIGHTING_CLASSES = [
  /** The first with its key: it runs. */
  "first",
  /** The first was answered: its answer again. */
  "replay",
  /** The first was in flight: 409, or the client waits. */
  "overlap",
  /** The same key with another request: 422. */
  "key-reused",
  /** The origin certainly did not act before: it runs. */
  "retry",
  /** Nobody knows whether the first took effect: as the setting `unknown` says. */
  "unknown",
  /** The same key and request from another caller: it runs again. */
  "scope-splits",
  /** No key, and the same request from the same caller a short time before. */
  "content-repeat",
  /** The request would be refused: its problem's code. */
  "key-missing",
  "key-invalid",
  "body-too-large",
  "credential-invalid",
  "other-problem",
] as const;

export type SightingClass = (typeof SIGHTING_CLASSES)[number];

/** What the responses of two successful requests with one key say of their effects. */
export const EFFECT_EVIDENCE = [
  /** Two different effects. */
  "doubled",
  /** One effect: the origin knows keys. */
  "deduplicated",
  /** The responses differ, and nothing says where they name the effect. */
  "likely",
  /** The responses are equal. */
  "same-answer",
] as const;

export type EffectEvidence = (typeof EFFECT_EVIDENCE)[number];

/** Sightings that had no answer of their object. */
export const SIGHTINGS_LOST = ["lost"] as const;

/** What an example is of: what happened, or what enforcing would change. */
export const EXAMPLE_KINDS = [
  "doubled",
  "likely",
  "key-reused",
  "unknown",
  "scope-splits",
  "content-repeat",
] as const satisfies readonly (SightingClass | EffectEvidence)[];

export type ExampleKind = (typeof EXAMPLE_KINDS)[number];
