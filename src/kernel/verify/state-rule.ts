// `verify` as a table: the state of the origin's own resources says whether an operation took effect. What the table says, as plain data.

import type { KeyPart } from "../config/key-source.ts";

/** A place in the request whose value the verification needs: the key as the origin knows it, a parameter of the route's path, or a part. */
export type RequestPlace =
  | { readonly kind: "key" }
  | { readonly kind: "path"; readonly name: string }
  | Exclude<KeyPart, { readonly kind: "graphql" }>;

export type LiteralValue = string | number | boolean;

/**
 * One condition on an answer: what is at `at` (a JSON pointer, or `header:NAME` in lower case) is one of these, or is not there. JSON's `null`
 * counts as not there.
 */
export interface AnswerCondition<Value> {
  readonly at: string;
  readonly oneOf: readonly Value[] | "absent";
}

/** What an answer must say: all of these conditions. */
export type AnswerPredicate<Value> = readonly AnswerCondition<Value>[];

/** How an answer with status 200 is understood. */
export type StateTest<Value> =
  | {
      readonly kind: "resource";
      /** `null`: nothing says so. */
      readonly happened: AnswerPredicate<Value> | null;
      readonly notHappened: AnswerPredicate<Value> | null;
    }
  /** `list` is the pointer to an array, empty for the whole body; those of `match` begin at each of its elements. */
  | {
      readonly kind: "list";
      readonly list: string;
      readonly match: AnswerPredicate<Value>;
      readonly complete: AnswerPredicate<Value>;
    };

/** What retries get once the operation is known to have taken effect. */
export interface StateAnswer {
  readonly body: "resource" | "item" | "none";
  readonly status: number;
  /** A path with `{/POINTER}` for values of the body; `null`: no `Location`. */
  readonly location: string | null;
}

/** What does not depend on the request. */
export interface StateTerms {
  /** Whether a 404 says that nothing happened. */
  readonly missing: "open" | "not_happened";
  /** How long after the end of the attempt's lock a "did not happen" begins to count. */
  readonly settleMs: number;
  readonly answer: StateAnswer;
}

/** A place, where a value of the request will stand. */
export interface RequestPlaceholder {
  readonly place: RequestPlace;
}

/** A piece of the path: text, or a value. `whole`: it is a whole segment of the path, or the whole value of a parameter. */
export type PathPiece = string | (RequestPlaceholder & { readonly in: "path" | "query"; readonly whole: boolean });

export interface StateRule extends StateTerms {
  readonly path: readonly PathPiece[];
  readonly test: StateTest<LiteralValue | RequestPlaceholder>;
}

export function placeName(place: RequestPlace): string {
  return place.kind === "key" ? "key" : `${place.kind}:${place.name}`;
}

/** All places of the request that a rule reads. */
export function placesOf({ path, test }: StateRule): readonly RequestPlace[] {
  const predicates = test.kind === "list" ? [test.match, test.complete] : [test.happened ?? [], test.notHappened ?? []];
  const values = predicates.flat().flatMap(({ oneOf }) => (oneOf === "absent" ? [] : oneOf));
  return [...path, ...values].flatMap((one) => (typeof one === "object" ? [one.place] : []));
}
