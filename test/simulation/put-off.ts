// What a clock that was ahead has put off (docs/guarantees.md, G8): once it is right and the object has looked at it, nothing
// without a lock waits for longer than the longest that its settings allow. A lock that looks too long may be right, and the
// present clock behind.

import { MAX_PAUSE_MS } from "../../src/kernel/record/life-cycle.ts";
import type { Clock } from "./clock.ts";
import type { DurableRow } from "./durable.ts";
import { LOCK_MS } from "./times.ts";
import type { Rules } from "./rules.ts";

export class PutOffRules {
  readonly #clock: Clock;
  readonly #rules: Rules;

  constructor(clock: Clock, rules: Rules) {
    this.#clock = clock;
    this.#rules = rules;
  }

  /** These rows are durable now. */
  commits(rows: Iterable<DurableRow>): void {
    if (!this.#rules.isClockSeen) return;
    const latestMs = this.#clock.latestSince(this.#clock.corrections);
    for (const { id, lockedUntilMs, verifyAtMs } of rows) {
      if (lockedUntilMs > latestMs) continue;
      if (verifyAtMs !== null && verifyAtMs > latestMs + Math.max(MAX_PAUSE_MS, LOCK_MS))
        this.#broken(`the origin is asked about ${id} in ${verifyAtMs - latestMs} ms`);
    }
  }

  #broken(what: string): void {
    this.#rules.broken("G8", `${what}, which a clock that was ahead has put off`);
  }
}
