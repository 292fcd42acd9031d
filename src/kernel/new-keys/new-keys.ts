// Counts new keys by caller (`new_keys`). It is asked after a request has been found to begin a key, and before it claims it;
// afterwards the decision is taken again. A limiter that fails or is missing must stop no payment: it counts as leave.

import { raceTimer } from "../request/first-of.ts";
import type { KeyCount } from "../request/scope.ts";
import type { RecordId } from "../record/units.ts";
import type { ObjectTimers } from "../object/timers.ts";

/** The platform's limiter answers from the same machine, in less than a millisecond. */
const LIMITER_MS = 1000;

/** A rate limit binding, which counts calls by key. */
export interface RateLimiter {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

export class NewKeyLimiter {
  readonly #limiter: (binding: string) => RateLimiter | null;
  readonly #timers: ObjectTimers;
  /** By record: requests with the same new key that arrive together are counted once. */
  readonly #asked = new Map<RecordId, Promise<boolean>>();
  /** Whether the last answer failed: an outage is logged once. */
  #isFailing = false;

  constructor(limiter: (binding: string) => RateLimiter | null, timers: ObjectTimers) {
    this.#limiter = limiter;
    this.#timers = timers;
  }

  /** Whether the caller may begin this key. Never rejects. */
  mayBegin(id: RecordId, count: KeyCount): Promise<boolean> {
    const asked = this.#asked.get(id);
    if (asked !== undefined) return asked;
    const asking = this.#ask(count).finally(() => this.#asked.delete(id));
    this.#asked.set(id, asking);
    return asking;
  }

  async #ask({ binding, caller }: KeyCount): Promise<boolean> {
    try {
      const limiter = this.#limiter(binding);
      if (limiter === null) throw new Error("there is no such binding");
      const outcome = await raceTimer(() => limiter.limit({ key: caller }), LIMITER_MS, this.#timers);
      if (outcome === null) throw new Error(`no answer within ${LIMITER_MS} ms`);
      this.#isFailing = false;
      return outcome.success;
    } catch (error) {
      if (!this.#isFailing) console.error({ message: "new keys are not limited", binding, reason: String(error) });
      this.#isFailing = true;
      return true;
    }
  }
}
