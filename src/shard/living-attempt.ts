// An attempt that this instance runs right now, and how those wait who came while it ran.

import type { RecordId } from "../core/units.ts";
import type { ExchangeHead } from "../http/message.ts";
import { firstOf } from "../http/patience.ts";
import type { Attempt, Refusal } from "./attempt.ts";
import type { RequestBody } from "./request-body.ts";

export interface LivingAttempt {
  readonly attempt: Attempt;
  /** Of its request. */
  readonly body: RequestBody;
  /** Resolves when the attempt's word stands in the record: with a refusal that those who waited share, else `null`. */
  readonly ended: Promise<Refusal | null>;
}

/** An object's connections that may wait for response headers; further calls are queued (platform limit). */
const CALLS_AT_ONCE = 6;

export class LivingAttempts {
  readonly #all = new Map<RecordId, LivingAttempt>();
  #crowded = 0;

  get count(): number {
    return this.#all.size;
  }

  /** How many have begun while as many others lived as the platform lets call at once: their calls may have waited. */
  get crowded(): number {
    return this.#crowded;
  }

  get(id: RecordId): LivingAttempt | undefined {
    return this.#all.get(id);
  }

  add(id: RecordId, living: LivingAttempt): void {
    if (this.#all.size >= CALLS_AT_ONCE) this.#crowded += 1;
    this.#all.set(id, living);
  }

  /** A record that expired under its attempt may have another one by now: that stays. */
  remove(id: RecordId, attempt: Attempt): void {
    if (this.#all.get(id)?.attempt === attempt) this.#all.delete(id);
  }
}

/**
 * Waits for the end of an attempt, or only for its beginning where the duplicate attaches to it. Those who wait share a
 * refusal: one after the other, they would beat an origin that asks for less.
 */
export function waitFor(
  { attempt, ended }: LivingAttempt,
  duplicate: ExchangeHead["duplicate"],
  ms: number,
): Promise<Refusal | null> {
  // One that has begun and cannot be attached to is over only when it has ended.
  const attaches = duplicate === "attach" && !attempt.hasBegun;
  return firstOf(attaches ? Promise.race([ended, attempt.begun.then(() => null)]) : ended, ms);
}
