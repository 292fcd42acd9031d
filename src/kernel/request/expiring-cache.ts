// A bounded map in memory whose entries end at times of their own. Nothing in it is needed: what is missing is computed or asked again.

/** About a megabyte with a digest and a caller's name in each. */
const MAX_ENTRIES = 2000;

export class ExpiringCache<T> {
  /** In the order of their last use, the oldest first. */
  readonly #entries = new Map<string, { readonly value: T; readonly until: number }>();

  /** `null` if there is none, or if it has ended. `now` and `until` are milliseconds since the epoch. */
  get(key: string, now: number): T | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    if (entry.until <= now) return null;
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** The value, or a new one, which stands for `forMs`. A promise is not kept, because it belongs to the request that began it. */
  async getOr(key: string, now: number, forMs: number, ask: () => Promise<T>): Promise<T> {
    const kept = this.get(key, now);
    if (kept !== null) return kept;
    const value = await ask();
    this.set(key, value, now + forMs);
    return value;
  }

  set(key: string, value: T, until: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until });
    if (this.#entries.size <= MAX_ENTRIES) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
