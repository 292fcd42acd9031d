// What is said of one request that passed: digests, times and words, and nothing of its body, headers, credential or query. The Worker makes it, the key's
// object compares it with the others of its key (classify.ts).

import { jsonCall } from "../../kernel/call.ts";
import type { UnknownRule } from "../../kernel/record/record.ts";
import type { EffectEvidence, SightingClass } from "../../kernel/record/sighting.ts";
import type { Verdict } from "../../kernel/record/verdict.ts";

/** Said of a request, or of its answer, beside its class: each is counted by itself. */
export const SIGHTING_MARKS = [
  /** The headers of the answer came later than the route's `timeout`. */
  "over-timeout",
  /** The answer has more bytes than `max_response_body`. */
  "response-too-large",
  /** The request has more bytes than are held, or the origin did not read all of it: it counts as equal to all others of its key. */
  "not-compared",
] as const;

export type SightingMark = (typeof SIGHTING_MARKS)[number];

/** How the request ended: as its route would have judged it, or its client left before the answer was whole. */
export type SightedEnd = Verdict | "left";

export interface RequestSighting {
  /** The name of its key's record; without a key, a name made of its caller and content. */
  readonly id: string;
  readonly isKeyless: boolean;
  /** The path of the route, as configured. */
  readonly route: string;
  /** `null`: not compared. */
  readonly fingerprint: string | null;
  /** When it came and when it ended, by the isolate's clock. */
  readonly beganAt: number;
  readonly endedAt: number;
  readonly end: SightedEnd;
  /** Whether the origin said that it succeeded (2xx), and its answer was whole. */
  readonly isSuccess: boolean;
  /** 64 bits of the SHA-256 of the answer's body, or the same as `effect`, which says more of it; `null`: not compared. */
  readonly body: string | null;
  /** The same of what the answer says took effect; `null`: nothing. */
  readonly effect: string | null;
  readonly marks: readonly SightingMark[];
}

/** A sighting, and the rules of its route. */
export interface SightingQuestion {
  readonly sighting: RequestSighting;
  readonly unknown: UnknownRule;
  /** How long the key would be kept. */
  readonly keepMs: number;
}

/** What an isolate tells an object: sightings of its keys in the order in which they ended, and what the isolate has counted alone, for the report. */
export interface SightingBatch {
  readonly questions: readonly SightingQuestion[];
  readonly counted: readonly CountedClass[];
}

export interface CountedClass {
  readonly route: string;
  readonly name: string;
  readonly count: number;
}

/** What a sighting is beside the earlier ones of its key. */
export interface SightingAnswer {
  readonly class: SightingClass;
  readonly evidence: EffectEvidence | null;
  /** When the earlier one came; `null` without one. */
  readonly earlierAt: number | null;
}

/** One answer for each sighting. */
export const SIGHTINGS_CALL = jsonCall<SightingBatch, readonly SightingAnswer[]>("sightings");
