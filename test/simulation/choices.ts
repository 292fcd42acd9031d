// The choices of one interleaving. They are drawn at random from its seed and make up its hash, and each step is counted by kind.

import type { Random, SequenceHash } from "./random.ts";

/** What the steps of every simulation choose from. */
export const STATUSES = [201, 201, 201, 500, 503, 502];
export const CHANGES = ["release", "resolve", "forget"] as const;
export const DUPLICATES = ["reject", "wait", "attach"] as const;

export class Choices {
  /** Tells a reader what a choice has led to. */
  readonly trace: (what: string) => void;
  readonly #random: Random;
  readonly #hash: SequenceHash;
  readonly #counts: Map<string, number>;

  /** Adds to `hash` and `counts`. */
  constructor(random: Random, hash: SequenceHash, counts: Map<string, number>, trace: (what: string) => void) {
    this.#random = random;
    this.#hash = hash;
    this.#counts = counts;
    this.trace = trace;
  }

  /** Draws a kind of step by its weight; `null` if all weights are 0. */
  draw<Kind extends string>(kinds: readonly Kind[], weightOf: (kind: Kind) => number): Kind | null {
    const weights = kinds.map(weightOf);
    const sum = weights.reduce((total, weight) => total + weight, 0);
    if (sum === 0) return null;
    let at = this.#random.below(sum);
    const index = weights.findIndex((weight) => (at -= weight) < 0);
    const kind = kinds[index];
    if (kind === undefined) throw new RangeError("nothing to choose from");
    this.#hash.add(index);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    return kind;
  }

  /** A whole number from 0 to `bound` - 1. */
  choose(bound: number): number {
    const choice = this.#random.below(bound);
    this.#hash.add(choice);
    return choice;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.choose(values.length)];
    if (value === undefined) throw new RangeError("nothing to choose from");
    return value;
  }
}
