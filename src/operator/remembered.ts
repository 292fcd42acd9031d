// Answers that open pages, which refresh every two seconds, need not ask the shards for each time.

interface Kept<T> {
  readonly value: T;
  readonly at: number;
}

/** Keeps values and no promises, because a promise belongs to the request that began it. Belongs to one isolate. */
export class Remembered<T> {
  readonly #forMs: number;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  /** What was answered for `name`, or a new answer if that is too old. `names` have to be few: they are never forgotten. */
  async get(name: string, now: number, ask: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name);
    if (kept !== undefined && now - kept.at < this.#forMs) return kept.value;
    const value = await ask();
    this.#kept.set(name, { value, at: now });
    return value;
  }
}
