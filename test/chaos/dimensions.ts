// What a run has beyond the plain one. Each can be left out (`--without verify,stalls`), so that a rule that breaks can be
// traced to what breaks it.

export const DIMENSIONS = [
  /** Many duplicates at once that wait, and mostly leave. */
  "herds",
  /** Clients that read nothing for a time, within large answers. */
  "stalls",
  /** Routes with `unknown = "verify"`, and an origin that answers questions in every way. */
  "verify",
  /** Such a route whose callers share a scope, and may not see what another has done. */
  "foreign",
  /** Questions that are answered a byte now and then. */
  "trickles",
  /** Refusals that are too large to be passed on at once. */
  "large-refusals",
  /** Answers above `max_response_body` go into a bucket that fails at times. */
  "bucket",
  /** A route whose requests' bodies only flow through. */
  "none",
  /** Operators who release, resolve and forget, at the right time or not. */
  "operators",
] as const;

/** With these the gateway breaks a rule: each names a defect that is known. */
export const BROKEN_DIMENSIONS: readonly Dimension[] = [];

export type Dimension = (typeof DIMENSIONS)[number];

export type Dimensions = ReadonlySet<Dimension>;

export const ALL: Dimensions = new Set(DIMENSIONS);

/** `names` are those to leave out, as the command line has them. */
export function dimensionsWithout(names: readonly string[]): Dimensions {
  for (const name of names) {
    if (!DIMENSIONS.some((known) => known === name)) {
      throw new Error(`--without knows no "${name}": ${DIMENSIONS.join(", ")}`);
    }
  }
  return new Set(DIMENSIONS.filter((name) => !names.includes(name)));
}
