// Examples of what was observed, with keys, for whoever looks them up in the API: a few of each route and day, in the operators' object.

import { jsonCall } from "../../kernel/call.ts";
import { EXAMPLE_KINDS, type ExampleKind } from "../../kernel/record/sighting.ts";
import type { SightingAnswer } from "./sighting.ts";

/** Of each route and day at most so many in all, and of each kind but `doubled` at most MOST_OF_A_KIND. */
export const MOST_EXAMPLES = 20;
export const MOST_OF_A_KIND = 3;

/** For how many days they are kept. */
export const EXAMPLE_DAYS = 7;

export interface ObservedExample {
  readonly route: string;
  readonly kind: ExampleKind;
  /** When the request came, and the earlier one of its key. */
  readonly at: number;
  readonly earlierAt: number | null;
  readonly method: string;
  /** `null`: the origin gave no answer. */
  readonly status: number | null;
  readonly keyHash: string;
  /** `null`: it has none, or `note.request` says that nothing is noted. */
  readonly key: string | null;
}

export const EXAMPLE_CALL = jsonCall<ObservedExample, boolean>("observe-example");
export const EXAMPLES_CALL = jsonCall<{ readonly since: number }, readonly ObservedExample[]>("observe-examples");

/** `null`: nobody need look at it. */
export function exampleKind({ class: seen, evidence }: SightingAnswer): ExampleKind | null {
  if (evidence === "doubled" || evidence === "likely") return evidence;
  return EXAMPLE_KINDS.find((kind) => kind === seen) ?? null;
}
