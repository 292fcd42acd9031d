// The verifications that are under way, and the choice of the next: one at a time for each record, and a few at a time for
// the alarm; duplicates ask besides. Routes take turns, so that an origin that does not answer for one route delays no other route.
// The alarm begins verifications without waiting for them; each verification that ends begins the next.

import type { Policy } from "../record/record.ts";
import {
  dueAt,
  durationMs,
  earliestTime,
  epochMs,
  type EpochMs,
  isPauseOn,
  timeAfter,
  latestTime,
  type RecordId,
  keyHashOf,
} from "../record/units.ts";
import type { Verification } from "../request/message.ts";
import type { ObjectAlarm } from "../object/alarm.ts";
import { PAUSE_MS, takeNextTurn } from "../object/next-turn.ts";
import type { Ledger } from "../store/ledger.ts";
import { pauseAfterFailure } from "../store/unreadable.ts";
import { VERIFICATION_MS } from "./verification.ts";

/** How many verifications the alarm makes at a time: fewer than the six connections that a shard has. */
const MAX_AT_ONCE = 4;

/** How many of these may belong to one route, so that the other routes get their turn. */
const MAX_PER_ROUTE = 2;

/** An instance may be lost with its verifications. The alarm checks after the time by which they must have been answered. */
const CHECK_AFTER_MS = durationMs(VERIFICATION_MS + 5000);

const FAILURE = "the origin could not be asked";

export interface VerificationsPorts {
  readonly ledger: Ledger;
  readonly alarm: Pick<ObjectAlarm, "moveTo">;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  /** Asks what became of a record's last attempt, and settles the record if the origin knows. Rejects when the store fails. */
  readonly begin: (id: RecordId, policy: Policy, own: Verification | null) => Promise<void>;
}

export class VerificationQueue {
  readonly #ports: VerificationsPorts;
  /** All verifications under way, including those of duplicates, and whether they have a second chance (verification.ts). */
  readonly #running = new Map<RecordId, { readonly end: Promise<void>; readonly hasSecondChance: boolean }>();
  /** The routes of the verifications that the alarm has begun. */
  readonly #begun = new Map<RecordId, string>();
  /** Records that could not be read, and until when they are left out, so that they keep no other from its turn. */
  readonly #putOff = new Map<RecordId, EpochMs>();
  /** The route that had its turn last. */
  #lastRoute = "";
  #pausedUntil = epochMs(0);

  constructor(ports: VerificationsPorts) {
    this.#ports = ports;
  }

  /**
   * Asks about a record; `own` is the calling client's own verification. Joins one of it that is already under way, and asks again
   * after one that had no client's credential for its second chance.
   */
  verify(id: RecordId, policy: Policy, own: Verification | null): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) {
      const { end, hasSecondChance } = running;
      return own === null || hasSecondChance ? end : end.then(() => this.verify(id, policy, own));
    }
    const verification = this.#ports.begin(id, policy, own).finally(() => {
      this.#running.delete(id);
      this.#begun.delete(id);
    });
    this.#running.set(id, { end: verification, hasSecondChance: own !== null });
    this.#ports.waitUntil(
      verification.then(
        () => this.#continue(),
        (error: unknown) => this.#pause(error),
      ),
    );
    return verification;
  }

  isVerifying(id: RecordId): boolean {
    return this.#running.has(id);
  }

  /** Waits for the end of a verification of the record that is under way. Whether there was one. */
  async endOf(id: RecordId): Promise<boolean> {
    const running = this.#running.get(id);
    await running?.end.catch(() => undefined);
    return running !== undefined;
  }

  /** Begins the verifications that are due, as many as may run at a time. */
  beginDue(now: EpochMs): void {
    if (isPauseOn(this.#pausedUntil, PAUSE_MS, now)) return;
    for (const [id, until] of this.#putOff) if (until <= now) this.#putOff.delete(id);
    for (;;) {
      let isAnyHandled = false;
      for (const route of roundRobin(this.#ports.ledger.verifications.routes(), this.#lastRoute)) {
        if (this.#isFull(route)) continue;
        const due = this.#first(route, now);
        if (due === null || due.isBusy || due.at > now) continue;
        this.#begin(route, due.id, now);
        this.#lastRoute = route;
        isAnyHandled = true;
      }
      if (!isAnyHandled) return;
    }
  }

  /** What could not be asked is asked again: a clock that was ahead has put it off for as long as it was ahead. */
  endPauses(): void {
    this.#putOff.clear();
  }

  #begin(route: string, id: RecordId, now: EpochMs): void {
    try {
      const entry = this.#ports.ledger.find(id);
      if (entry === null) throw new Error("the record is gone");
      this.#begun.set(id, route);
      // Nobody waits for this verification; `run` logs its failure.
      this.verify(id, entry.record.policy, null).catch(() => undefined);
    } catch (error) {
      this.#putOff.set(id, timeAfter(now, pauseAfterFailure(error, PAUSE_MS)));
      console.error({ message: "a record could not be asked about", keyHash: keyHashOf(id), reason: String(error) });
    }
  }

  /** When the alarm has to come for the next verification; `null` when there is none. */
  nextAt(now: EpochMs): EpochMs | null {
    let next: EpochMs | null = null;
    for (const route of this.#ports.ledger.verifications.routes()) {
      const first = this.#first(route, now);
      // What is being verified, or waits for its turn, continues when a verification ends.
      const isBusy = first === null || first.isBusy || this.#isFull(route);
      const at = isBusy ? timeAfter(now, CHECK_AFTER_MS) : first.at;
      next = next === null ? at : earliestTime(next, at);
    }
    return next === null ? null : latestTime(next, dueAt(this.#pausedUntil, PAUSE_MS, now));
  }

  #isFull(route: string): boolean {
    const ofRoute = [...this.#begun.values()].filter((one) => one === route).length;
    return this.#begun.size >= MAX_AT_ONCE || ofRoute >= MAX_PER_ROUTE;
  }

  /** The first verification of a route that is not under way, when it may begin; if all are, the first verification. */
  #first(
    route: string,
    now: EpochMs,
  ): { readonly id: RecordId; readonly at: EpochMs; readonly isBusy: boolean } | null {
    const rows = this.#ports.ledger.verifications
      .first(route, this.#running.size + this.#putOff.size + 1)
      .map(({ id, at }) => {
        const isBusy = at <= now && this.#running.has(id);
        return { id, at: latestTime(at, this.#putOff.get(id) ?? at), isBusy };
      })
      .toSorted((one, other) => one.at - other.at);
    return rows.find(({ isBusy }) => !isBusy) ?? rows[0] ?? null;
  }

  /** A verification has ended: the next one begins, and the alarm is set for those that are not due yet. */
  #continue(): void {
    takeNextTurn({
      begin: (now) => this.beginDue(now),
      nextAt: (now) => this.nextAt(now),
      pause: (until) => (this.#pausedUntil = until),
      alarm: this.#ports.alarm,
      failure: FAILURE,
    });
  }

  /** The store failed: the alarm tries again after a pause. */
  #pause(error: unknown): void {
    console.error({ message: FAILURE, reason: String(error) });
    this.#pausedUntil = timeAfter(epochMs(Date.now()), PAUSE_MS);
    this.#ports.alarm.moveTo(this.#pausedUntil);
  }
}

/** The routes after `last`, and then the others. */
function roundRobin(routes: readonly string[], last: string): readonly string[] {
  return [...routes.filter((route) => route > last), ...routes.filter((route) => route <= last)];
}
