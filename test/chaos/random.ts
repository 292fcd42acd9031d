// Seeded random choices: the same seed gives every client, operation and fault the same choices. Their timing depends on
// the machine, so a seed repeats a run's choices but not its interleaving.

import { createHash } from "node:crypto";

export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number, both bounds included. */
  int(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** One of the values, with a probability in proportion to its weight. */
  weighted<T>(entries: readonly [readonly [weight: number, value: T], ...(readonly [number, T])[]]): T;
  hex(digits: number): string;
}

/** `name` separates independent generators of one seed. */
export function createRandom(seed: string, name: string): Random {
  let state = createHash("sha256").update(`${seed}/${name}`).digest().readUInt32LE(0);

  /** Mulberry32: a public-domain generator of 32 bits, good enough to choose faults with. */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick(list) {
      const [chosen] = list.slice(int(0, list.length - 1));
      if (chosen === undefined) throw new Error("nothing to pick from");
      return chosen;
    },
    weighted(entries) {
      const total = entries.reduce((sum, [weight]) => sum + weight, 0);
      let left = next() * total;
      for (const [weight, value] of entries) {
        left -= weight;
        if (left < 0) return value;
      }
      return entries[0][1];
    },
    hex: (digits) => Array.from({ length: digits }, () => int(0, 15).toString(16)).join(""),
  };
}
