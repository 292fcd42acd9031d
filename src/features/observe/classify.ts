// What a request would have been if its route had protected it, and what its response says of effects. Pure and total: every sighting has exactly one
// class, whatever is known of its key.

import type { UnknownRule } from "../../kernel/record/record.ts";
import type { EffectEvidence, SightingClass } from "../../kernel/record/sighting.ts";
import type { SightedEnd, RequestSighting } from "./sighting.ts";

/** What is known of a key: the request that would own its record, and the effects of all that succeeded. */
export interface KnownKey {
  readonly fingerprint: string | null;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly end: SightedEnd;
  /** Of the first success; `null`: there was none, or it was not compared. */
  readonly body: string | null;
  readonly hasSuccess: boolean;
  /** What the successes say took effect, each once. */
  readonly effects: readonly string[];
}

export interface SightedBeside {
  /** `null`: the key is new. */
  readonly known: KnownKey | null;
  /** The same key and request of another caller, where the key is new for this one. */
  readonly elsewhere: KnownKey | null;
  readonly unknown: UnknownRule;
}

export interface ClassifiedSighting {
  readonly class: SightingClass;
  readonly evidence: EffectEvidence | null;
  /** What is known of the key from now on. */
  readonly known: KnownKey;
}

/** Clocks of isolates differ by this much at most. */
export const CLOCKS_APART_MS = 250;

/** More effects of one key are not remembered: a later one that is not among these counts as another effect. */
export const MOST_EFFECTS = 8;

export function classifySighting(
  sighting: RequestSighting,
  { known, elsewhere, unknown }: SightedBeside,
): ClassifiedSighting {
  if (known === null) {
    // Two callers, or two requests without a key, may mean two operations: two effects of them are no doubled one.
    return { class: elsewhere === null ? "first" : "scope-splits", evidence: null, known: knownFrom(sighting) };
  }
  const { fingerprint } = sighting;
  if (fingerprint !== null && known.fingerprint !== null && fingerprint !== known.fingerprint) {
    return { class: "key-reused", evidence: null, known };
  }
  const owner = later(sighting, known, unknown);
  return sighting.isKeyless
    ? { class: "content-repeat", evidence: null, known: owner }
    : { class: classOfRepeat(sighting, known), evidence: evidenceOf(sighting, known), known: owner };
}

/** Sightings come when requests end, and some come late: the one that began first is the first. */
function classOfRepeat(sighting: RequestSighting, known: KnownKey): SightingClass {
  const overlaps =
    sighting.beganAt < known.endedAt + CLOCKS_APART_MS && known.beganAt < sighting.endedAt + CLOCKS_APART_MS;
  if (overlaps) return "overlap";
  const first = sighting.beganAt < known.beganAt ? sighting : known;
  switch (first.end) {
    case "result":
      return "replay";
    case "refused":
      return "retry";
    case "ambiguous":
    case "left":
      return "unknown";
  }
}

/** Of two requests that succeeded; `null`: one did not, or nobody can tell. */
function evidenceOf({ isSuccess, effect, body }: RequestSighting, known: KnownKey): EffectEvidence | null {
  if (!isSuccess || !known.hasSuccess) return null;
  if (effect !== null && known.effects.length > 0) return known.effects.includes(effect) ? "deduplicated" : "doubled";
  if (body === null || known.body === null) return null;
  return body === known.body ? "same-answer" : "likely";
}

function knownFrom({ fingerprint, beganAt, endedAt, end, isSuccess, body, effect }: RequestSighting): KnownKey {
  const effects = isSuccess && effect !== null ? [effect] : [];
  return { fingerprint, beganAt, endedAt, end, body: isSuccess ? body : null, hasSuccess: isSuccess, effects };
}

/** Who owns the record then, as the life cycle has it: a result ends it, a refusal frees it, and an unknown outcome keeps it unless the route retries. */
function later(sighting: RequestSighting, known: KnownKey, unknown: UnknownRule): KnownKey {
  const own = knownFrom(sighting);
  const isOver = known.end === "refused" || (unknown === "retry" && known.end !== "result");
  const owner = isOver && sighting.end !== "refused" ? own : known;
  const first = known.hasSuccess ? known : own;
  const isNews = isOver || !known.hasSuccess || own.effects.some((effect) => !known.effects.includes(effect));
  if (!isNews && (known.fingerprint !== null || own.fingerprint === null)) return known;
  return {
    ...owner,
    fingerprint: known.fingerprint ?? own.fingerprint,
    body: first.body,
    hasSuccess: first.hasSuccess,
    effects: [...new Set([...known.effects, ...own.effects])].slice(0, MOST_EFFECTS),
  };
}
