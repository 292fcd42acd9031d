// Accepted requests: makes their attempts, nobody waits for them. A few run at a time, so that they leave connections to the requests
// that somebody waits for; the others wait for their turn, and callers take turns (kernel/record/lanes.ts). The alarm begins attempts without waiting for them;
// each one that ends begins the next.

import {
  attemptId,
  durationMs,
  earliestTime,
  type EpochMs,
  instanceOf,
  timeAfter,
  type RecordId,
  keyHashOf,
} from "../../../kernel/record/units.ts";
import { nextLane } from "../../../kernel/record/lanes.ts";
import type { ExchangeHead } from "../../../kernel/request/message.ts";
import { type ConnectionPlace, runAttempt, type RunShared } from "../../../kernel/object/attempt-run.ts";
import { bytesBody, type RequestBody, storedRequestBody } from "../../../kernel/body/request-body.ts";
import type { ObjectAlarm } from "../../../kernel/object/alarm.ts";
import type { ExchangeAnswer } from "../../../kernel/object/exchange-answer.ts";
import { PAUSE_MS, takeNextTurn } from "../../../kernel/object/next-turn.ts";
import { TURN_CHECK_MS } from "../../../kernel/object/record-steps.ts";
import type { ScheduledWork } from "../../../kernel/object/timers.ts";
import type { Entry } from "../../../kernel/store/ledger.ts";
import { hasMembers, pauseAfterFailure, readStoredJson } from "../../../kernel/store/unreadable.ts";
import { logFailure } from "../../../kernel/traffic/bookkeep.ts";
import type { StoredRequest } from "../../../kernel/store/stored-request.ts";

/** How many attempts may run at a time: fewer than the six connections that may wait for headers in a shard. */
export const PLACES = 4;

/**
 * How long an attempt keeps its place once its answer has begun. It no longer needs one, since its connection waits for no headers, but most
 * answers are whole by then, so that few are received at a time. How long an answer may take in total (origin-call.ts) bounds how many.
 */
export const HELD_MS = durationMs(30_000);

export interface AcceptedAttemptsShared extends RunShared {
  /** Called when a request that has waited begins. */
  readonly begun: (id: RecordId) => void;
  readonly alarm: Pick<ObjectAlarm, "moveTo">;
}

export class AcceptedAttempts {
  readonly #shared: AcceptedAttemptsShared;
  /** By lane, also those that have given up their places. Counted, not named: an attempt may still be ending when the next one of its record begins. */
  readonly #running = new Map<number, number>();
  /** How many have a place. */
  #placed = 0;
  /** Records that could not be begun, and until when they are left out, so that they keep no other from its turn. */
  readonly #putOff = new Map<RecordId, EpochMs>();
  /** Whether this instance knows who waited for an earlier one, which may have been lost. */
  #hasCalled = false;

  constructor(shared: AcceptedAttemptsShared) {
    this.#shared = shared;
  }

  /** None begins in an isolate that is about to end: it waits in the store for the next one. */
  get hasPlace(): boolean {
    return this.#placed < PLACES && !this.#shared.isolate.isEnding;
  }

  /** Whether a new request may begin at once. Those who wait for an instance that was lost come first. */
  mayBegin(): boolean {
    if (!this.#hasCalled) this.#continue();
    return this.hasPlace;
  }

  /**
   * Gives a place to an attempt that has just been claimed. One whose answer trickles gives it up, and still counts as one of its caller:
   * the lanes of others come first.
   */
  enter(lane = 0): ConnectionPlace {
    let isPlaced = true;
    let due: ScheduledWork | null = null;
    const giveUp = (): void => {
      if (!isPlaced) return;
      isPlaced = false;
      this.#placed -= 1;
      this.#continue();
    };
    this.#placed += 1;
    this.#running.set(lane, (this.#running.get(lane) ?? 0) + 1);
    return {
      answered: () => {
        logFailure("setting the end of a place", () => (due = this.#shared.timers.set(HELD_MS, giveUp)));
      },
      leave: () => {
        due?.cancel();
        const left = (this.#running.get(lane) ?? 1) - 1;
        if (left > 0) this.#running.set(lane, left);
        else this.#running.delete(lane);
        if (isPlaced) this.#placed -= 1;
        isPlaced = false;
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
        this.#begin(id, head.lane, now);
      }
    }
  }

  /** What could not be begun is tried again: a clock that was ahead has put it off for as long as it was ahead. */
  endPauses(): void {
    this.#putOff.clear();
  }

  #begin(id: RecordId, lane: number, now: EpochMs): void {
    let body: RequestBody | null = null;
    try {
      const { ledger, steps } = this.#shared;
      const entry = ledger.find(id);
      if (entry === null) throw new Error("the record is gone");
      // Read first: a claim without its request would only block its key.
      const request = this.#read(id, entry);
      if (request === null) {
        console.error({ message: "an accepted request cannot be read, and is not tried", keyHash: keyHashOf(id) });
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
      const { record, request: facts, telemetry } = head;
      const instance = instanceOf(facts.attemptId);
      const span = this.#shared.reporter.begin({ route: record.route, recordId: id, instance, telemetry });
      const { attempt } = runAttempt(id, reply.record, { head, body, span }, this.#shared, () => this.enter(lane));
      // The attempt releases it.
      body = null;
      leaveUnread(attempt.answer);
      this.#shared.begun(id);
    } catch (error) {
      logFailure("releasing a body", () => body?.release());
      this.#putOff.set(id, timeAfter(now, pauseAfterFailure(error, PAUSE_MS)));
      console.error({
        message: "an accepted request could not be tried",
        keyHash: keyHashOf(id),
        reason: String(error),
      });
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
    if (next !== null && !this.hasPlace) return timeAfter(now, TURN_CHECK_MS);
    const times = [...(next === null ? [] : [next]), ...this.#putOff.values()];
    return times.length === 0 ? null : times.reduce((one, other) => earliestTime(one, other));
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

/** `null` if it cannot be read: an error would quote it, with the client's credential. */
function readStoredHead({ head }: StoredRequest, id: RecordId): ExchangeHead | null {
  try {
    return readStoredJson(head, "a request", (value) => isHeadOf(value, id));
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
