// Accepted requests: makes their attempts, nobody waits for them. A few run at a time, so that they leave connections to the requests
// that somebody waits for; the others wait for their turn, and callers take turns (core/lanes.ts). The alarm begins attempts without waiting for them;
// each one that ends begins the next.

import { attemptId, earliest, type EpochMs, later, type RecordId } from "../core/units.ts";
import { nextLane } from "../core/lanes.ts";
import type { Driven } from "../core/record.ts";
import type { ExchangeHead } from "../http/message.ts";
import { type Place, runAttempt, type RunShared } from "./attempt-run.ts";
import { bytesBody, type RequestBody, storedRequestBody } from "./body/request-body.ts";
import type { Alarm } from "./alarm.ts";
import type { ExchangeAnswer } from "./exchange-answer.ts";
import { PAUSE_MS, takeNextTurn } from "./next-turn.ts";
import { TURN_CHECK_MS } from "./record-steps.ts";
import type { Entry } from "./store/ledger.ts";
import { hasMembers, pauseAfter, readJson } from "./store/unreadable.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import type { StoredRequest } from "./store/stored-request.ts";

/** How many attempts may run at a time: fewer than the six connections that a shard has. */
export const PLACES = 4;

export interface DrivesShared extends RunShared {
  /** Called when a request that has waited begins. */
  readonly begun: (id: RecordId) => void;
  readonly alarm: Pick<Alarm, "moveTo">;
}

export class Drives {
  readonly #shared: DrivesShared;
  /** By lane. Counted, not named: an attempt may still be ending when the next one of its record begins. */
  readonly #running = new Map<number, number>();
  /** How many have given up their place, and are still connected to the origin. */
  #draining = 0;
  /** Records that could not be begun, and until when they are left out, so that they keep no other from its turn. */
  readonly #putOff = new Map<RecordId, EpochMs>();
  /** Whether this instance knows who waited for an earlier one, which may have been lost. */
  #hasCalled = false;

  constructor(shared: DrivesShared) {
    this.#shared = shared;
  }

  /** How many attempts run. */
  get running(): number {
    return [...this.#running.values()].reduce((sum, count) => sum + count, 0);
  }

  get hasPlace(): boolean {
    return this.running < PLACES;
  }

  /** Whether a new request may begin at once. Those who wait for an instance that was lost come first. */
  mayBegin(): boolean {
    if (!this.#hasCalled) this.#continue();
    return this.hasPlace;
  }

  /**
   * Gives a place to an attempt that has just been claimed. A result that is kept nowhere is read to its end all the same, as that of
   * any client that has left, because an origin may act for as long as it sends. A few of these give their places to others.
   */
  enter({ lane = 0 }: Pick<Driven, "lane"> = {}): Place {
    let isDraining = false;
    const count = (change: 1 | -1): void => {
      const left = (this.#running.get(lane) ?? 0) + change;
      if (left > 0) this.#running.set(lane, left);
      else this.#running.delete(lane);
    };
    count(1);
    return {
      drain: () => {
        if (isDraining || this.#draining >= PLACES) return;
        isDraining = true;
        this.#draining += 1;
        count(-1);
        this.#continue();
      },
      leave: () => {
        if (isDraining) this.#draining -= 1;
        else count(-1);
        this.#continue();
      },
    };
  }

  /** Begins the attempts that are due, as far as there are places. */
  startDue(now: EpochMs): void {
    this.#hasCalled = true;
    for (const [id, until] of this.#putOff) if (until <= now) this.#putOff.delete(id);
    const { due } = this.#shared.ledger;
    const tried = new Set(this.#putOff.keys());
    const exhausted = new Set<number>();
    while (this.hasPlace) {
      const lanes = due.lanes().filter(({ lane, at }) => at <= now && !exhausted.has(lane));
      const head = nextLane(lanes, this.#running);
      if (head === null) return;
      const id = due.first(head.lane, now, tried.size + 1).find((one) => !tried.has(one));
      if (id === undefined) exhausted.add(head.lane);
      else {
        tried.add(id);
        this.#begin(id, now);
      }
    }
  }

  #begin(id: RecordId, now: EpochMs): void {
    let body: RequestBody | null = null;
    try {
      const { ledger, steps } = this.#shared;
      const entry = ledger.find(id);
      if (entry === null) throw new Error("the record is gone");
      // Read first: a claim without its request would only block its key.
      const request = this.#read(id, entry);
      if (request === null) {
        console.error({ message: "an accepted request cannot be read, and is not tried", recordId: id });
        steps.take(id, { type: "unreadable" }, entry.record.policy, now);
        return;
      }
      const { head } = request;
      ({ body } = request);
      const event = { type: "due", attemptId: attemptId(crypto.randomUUID()) } as const;
      const { reply } = steps.take(id, event, entry.record.policy, now);
      if (reply.type !== "start") {
        // Its turn has come too late.
        body.release();
        return;
      }
      const span = this.#shared.reporter.begin({ route: head.record.route, recordId: id, telemetry: head.telemetry });
      const { attempt } = runAttempt(id, reply.record, { head, body, span }, this.#shared, () =>
        this.enter(reply.record.driven),
      );
      // The attempt releases it.
      body = null;
      leaveUnread(attempt.answer);
      this.#shared.begun(id);
    } catch (error) {
      bookkeep("releasing a body", () => body?.release());
      this.#putOff.set(id, later(now, pauseAfter(error, PAUSE_MS)));
      console.error({ message: "an accepted request could not be tried", reason: String(error) });
    }
  }

  #read(id: RecordId, entry: Entry): { readonly head: ExchangeHead; readonly body: RequestBody } | null {
    const { ledger } = this.#shared;
    const stored = ledger.request(id, entry);
    const head = stored === null ? null : readStoredHead(stored, id);
    if (stored === null || head === null) return null;
    const { body } = stored;
    return {
      head,
      body: body.kind === "inline" ? bytesBody(body.bytes) : storedRequestBody(ledger.bodies, body),
    };
  }

  /** When the alarm has to come for the next attempt; `null` when none waits. */
  nextAt(now: EpochMs): EpochMs | null {
    const { due } = this.#shared.ledger;
    const next = due.next(new Set(this.#putOff.keys()));
    // Without a place, each attempt that ends begins the next one.
    if (next !== null && !this.hasPlace) return later(now, TURN_CHECK_MS);
    const times = [...(next === null ? [] : [next]), ...this.#putOff.values()];
    return times.length === 0 ? null : times.reduce((one, other) => earliest(one, other));
  }

  /** The next attempts begin, and the alarm is set for those that are not due yet. */
  #continue(): void {
    takeNextTurn({
      begin: (now) => this.startDue(now),
      nextAt: (now) => this.nextAt(now),
      pause: () => undefined,
      alarm: this.#shared.alarm,
      failure: "the next accepted request could not be tried",
    });
  }
}

/** Frees an answer that nobody takes. The attempt keeps its response all the same. */
export function leaveUnread(answer: Promise<ExchangeAnswer>): void {
  answer
    .then(
      (given) => (given.isStreamed ? given.response.body?.cancel() : undefined),
      // Nobody hears of a failed store; the record says what became of the attempt.
      () => undefined,
    )
    .catch(() => undefined);
}

/** What a call needs of the message that brought its request. */
export function storedHead({ record, request, rules, call, telemetry }: ExchangeHead): string {
  const kept = { record, request, rules, call, telemetry, verification: null } satisfies ExchangeHead;
  return JSON.stringify(kept);
}

/** `null` if it cannot be read: an error would quote it, with the client's credential. */
function readStoredHead({ head }: StoredRequest, id: RecordId): ExchangeHead | null {
  try {
    return readJson(head, "a request", (value) => isHeadOf(value, id));
  } catch {
    return null;
  }
}

/** Whether it has what a call needs, and is of this record. */
function isHeadOf(value: unknown, id: RecordId): value is ExchangeHead {
  return (
    hasMembers(value, "record", "request", "rules", "call") &&
    hasMembers(value.record, "id", "route") &&
    value.record.id === id &&
    hasMembers(value.request, "fingerprint", "attemptId") &&
    hasMembers(value.rules, "policy", "lists") &&
    hasMembers(value.call, "url", "method", "headers")
  );
}
