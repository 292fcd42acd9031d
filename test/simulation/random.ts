// Seeded random choices, and a hash of them. The same seed makes the same choices on every machine, so a number is enough
// to repeat an interleaving.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0 to `bound` - 1. */
  below(bound: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * bound);
  }

  /** True with a probability of 1 in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  of<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError("nothing to choose from");
    return value;
  }
}

/** The seed of one interleaving among many: different for each index. */
export function seedOf(base: number, index: number): number {
  return (Math.imul(base, 0x9e3779b1) + index) >>> 0;
}

/** A hash of a sequence of small numbers; 53 bits, so that among millions of sequences no two are likely to share it. */
export class SequenceHash {
  #low = 0x811c9dc5;
  #high = 0xdeadbeef;

  add(value: number): void {
    this.#low = Math.imul(this.#low ^ value, 0x01000193);
    this.#high = Math.imul((this.#high << 5) ^ (this.#high >>> 27) ^ value, 0x85ebca6b);
  }

  get value(): number {
    return (this.#high >>> 11) * 4_294_967_296 + (this.#low >>> 0);
  }
}
