// The exchange, from claim to answer: load, step, save, act. Every decision is the life cycle's; here stands only the
// order of things. A claim is decided and written in one turn, and the runtime holds the call to the origin, as any
// answer, until what was written before is durable (output gate; README, guarantees G3 and G4).

import { deadlineOf, type LifeCycleEvent, type Step, step } from "../core/life-cycle.ts";
import type { Problem } from "../core/problem.ts";
import type { IdempotencyRecord, Policy, Started } from "../core/record.ts";
import { type AttemptId, epochMs, type EpochMs, type RecordId } from "../core/units.ts";
import { judge, type VerdictLists } from "../core/verdict.ts";
import type { ExchangeHead, ExchangeMessage } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import { problemResponse } from "../http/problem-response.ts";
import { firstAnswer, replay } from "./answers.ts";
import type { Alarm } from "./alarm.ts";
import type { Entry, Ledger, StoredResponse } from "./ledger.ts";
import { callOrigin, type OriginOutcome, type OriginResponse } from "./origin-call.ts";
import type { Reachability } from "./reachability.ts";

/** An attempt that this instance runs right now. */
interface LivingAttempt {
  readonly id: AttemptId;
  /** Resolves when the attempt has ended and its word stands in the record. */
  readonly ended: Promise<void>;
}

/** A client that is told to come again while an attempt lives may do so after this time; most calls are over by then. */
const POLL_MS = 1000;

export class Exchanges {
  readonly #ledger: Ledger;
  readonly #alarm: Alarm;
  readonly #target: (head: ExchangeHead) => Fetcher | null;
  readonly #waitUntil: (promise: Promise<unknown>) => void;
  readonly #living = new Map<RecordId, LivingAttempt>();
  readonly #reachability: Reachability;

  constructor(
    ledger: Ledger,
    alarm: Alarm,
    target: (head: ExchangeHead) => Fetcher | null,
    reachability: Reachability,
    waitUntil: (promise: Promise<unknown>) => void,
  ) {
    this.#ledger = ledger;
    this.#alarm = alarm;
    this.#target = target;
    this.#reachability = reachability;
    this.#waitUntil = waitUntil;
  }

  /** Answers one request. */
  async run(message: ExchangeMessage): Promise<Response> {
    const { head } = message;
    const giveUpAt = Date.now() + head.waitMs;
    for (;;) {
      const now = epochMs(Date.now());
      const { fingerprint, attemptId, policy, recordId } = head;
      const { entry, reply } = this.#step(recordId, { type: "request", fingerprint, attemptId }, policy, now);
      switch (reply.type) {
        case "start":
          return this.#start(message, reply.record);
        case "replay": {
          const stored = this.#ledger.response(recordId, entry?.bucket ?? 0, reply.record);
          return replay(stored, reply.record, head.echo, head.omitHeaders);
        }
        case "in-flight": {
          const living = this.#living.get(recordId);
          const left = giveUpAt - now;
          if (living === undefined || left <= 0) {
            const untilRetry = reply.retryFrom - now;
            return refuse(head, {
              code: "in-flight",
              retryAfterMs: living === undefined ? untilRetry : Math.min(POLL_MS, untilRetry),
            });
          }
          await firstOf(living.ended, left);
          continue;
        }
        case "not-kept":
          return refuse(head, { code: "response-not-kept", originalStatus: reply.record.status });
        case "outcome-unknown":
          return refuse(head, { code: "outcome-unknown" });
        case "mismatch":
          return refuse(head, { code: "key-reused", status: head.mismatchStatus });
        case "settled":
        case "superseded":
        case "seen":
          throw new TypeError(`a request was answered with ${reply.type}`);
      }
    }
  }

  /** Ends the locks that have passed under no living attempt. */
  endLocks(now: EpochMs): void {
    for (const { id, entry } of this.#ledger.inFlight()) {
      if (deadlineOf(entry.record) <= now) this.#step(id, { type: "look" }, entry.record.policy, now);
    }
  }

  /** One step of one record, within one turn: what is read, decided and written here is one commit. */
  #step(
    id: RecordId,
    event: LifeCycleEvent,
    policy: Policy,
    now: EpochMs,
    response: StoredResponse | null = null,
  ): Step & { readonly entry: Entry | null } {
    const entry = this.#current(id, now);
    const result = step(entry?.record ?? null, event, policy, now);
    if (result.record !== (entry?.record ?? null)) {
      this.#ledger.save(id, entry, result.record, response);
      if (result.deadline !== null) this.#alarm.moveTo(result.deadline);
    }
    return { ...result, entry };
  }

  /** The record as it stands. A lock never ends under a living attempt, however late its renewal comes. */
  #current(id: RecordId, now: EpochMs): Entry | null {
    const entry = this.#ledger.find(id);
    const living = this.#living.get(id);
    if (entry === null || living === undefined || deadlineOf(entry.record) > now) return entry;
    const { record } = step(entry.record, { type: "renew", attemptId: living.id }, entry.record.policy, now);
    if (record === entry.record) return entry;
    this.#ledger.save(id, entry, record);
    return this.#ledger.find(id);
  }

  async #start(message: ExchangeMessage, record: Started): Promise<Response> {
    const { recordId } = message.head;
    const answered = this.#attempt(message, record);
    const ended = answered.then(ignore, ignore);
    this.#living.set(recordId, { id: record.attempt.id, ended });
    // The client may leave: the attempt runs on, and its result is kept (G5).
    this.#waitUntil(ended);
    return answered;
  }

  async #attempt(message: ExchangeMessage, record: Started): Promise<Response> {
    const { head } = message;
    const renewal = this.#renewing(head.recordId, record);
    try {
      const outcome = await callOrigin(message, record.attempt.number, this.#target(head), this.#reachability);
      return this.#end(head, record, outcome);
    } finally {
      clearInterval(renewal);
      this.#living.delete(head.recordId);
    }
  }

  /** Renews the lock of a living attempt well before it ends. */
  #renewing(id: RecordId, { attempt, policy }: Started): ReturnType<typeof setInterval> {
    return setInterval(() => {
      this.#step(id, { type: "renew", attemptId: attempt.id }, policy, epochMs(Date.now()));
    }, policy.lockMs / 2);
  }

  /** Writes the attempt's word into the record; only then is there an answer (G4). */
  #end(head: ExchangeHead, { attempt, policy }: Started, outcome: OriginOutcome): Response {
    const event = eventOf(outcome, attempt.id, head.lists);
    const kept = event.type === "result" && event.kept ? toStore(outcome.response) : null;
    const { record, reply } = this.#step(head.recordId, event, policy, epochMs(Date.now()), kept);
    if (reply.type === "superseded") return refuse(head, { code: "in-flight", retryAfterMs: POLL_MS });
    if (outcome.response === null) return refuse(head, unanswered(outcome.end, policy, record));
    return firstAnswer(outcome.response, head.echo, record?.state === "completed" ? record.expiresAt : null);
  }
}

function eventOf({ end, response }: OriginOutcome, attemptId: AttemptId, lists: VerdictLists): LifeCycleEvent {
  const verdict = judge(end, lists);
  switch (verdict) {
    case "result":
      if (response === null) throw new TypeError("a result without a response");
      // A body over the bound is not kept, but the origin has answered: it is never a second effect.
      return { type: "result", attemptId, status: response.status, kept: response.body.kind === "whole" };
    case "refused":
    case "ambiguous":
      return { type: verdict, attemptId };
  }
}

function toStore(response: OriginResponse | null): StoredResponse | null {
  return response?.body.kind === "whole" ? { ...response, body: response.body.bytes } : null;
}

/** What the client hears of an attempt that brought no answer. */
function unanswered(end: OriginOutcome["end"], { unknown }: Policy, record: IdempotencyRecord | null): Problem {
  const retryFrom = record?.state === "failed" ? record.retryFrom : Date.now();
  const retryAfterMs = retryFrom - Date.now();
  switch (end.kind) {
    case "unreachable":
      return { code: "origin-unreachable" };
    case "timed-out":
      return { code: "origin-timeout", unknown, retryAfterMs };
    case "answered":
    case "dropped":
      return { code: "origin-dropped", unknown, retryAfterMs };
  }
}

function refuse(head: ExchangeHead, problem: Problem): Response {
  return problemResponse(problem, head.echo);
}

function ignore(): void {
  // Only the end of the attempt matters to those who wait; its own caller hears how it ended.
}

/** Resolves when `promise` does, or after `ms`. */
async function firstOf(promise: Promise<void>, ms: number): Promise<void> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, timeUp]);
  clearTimeout(timer);
}
