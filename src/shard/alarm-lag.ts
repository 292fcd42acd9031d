// How late alarms come after the time for which they were set: what tells that deadlines are met late.

export interface AlarmNumbers {
  readonly count: number;
  /** Of the last one, and of the latest that this instance has seen. */
  readonly lagMs: number;
  readonly maxLagMs: number;
}

export class AlarmLag {
  #count = 0;
  #lagMs = 0;
  #maxLagMs = 0;

  came(lagMs: number): void {
    this.#count += 1;
    this.#lagMs = Math.max(0, lagMs);
    this.#maxLagMs = Math.max(this.#maxLagMs, lagMs);
  }

  get told(): AlarmNumbers {
    return { count: this.#count, lagMs: this.#lagMs, maxLagMs: this.#maxLagMs };
  }
}
