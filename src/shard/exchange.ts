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
import { firstAnswer, isPossible, replay } from "./answers.ts";
import type { Alarm } from "./alarm.ts";
import type { Entry, Ledger, StoredResponse } from "./ledger.ts";
import { callOrigin, type OriginOutcome, type OriginResponse } from "./origin-call.ts";
import type { Reachability } from "./reachability.ts";

/** An attempt that this instance runs right now. */
interface LivingAttempt {
  readonly id: AttemptId;
  /** Resolves when the attempt's word stands in the record: with the answer of an origin that refused, else `null`. */
  readonly ended: Promise<OriginResponse | null>;
}

/** What an attempt leaves to those who wait for it. */
interface Ending {
  readonly answer: Response;
  readonly refusal: OriginResponse | null;
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
          // Those who wait share a refusal: one after the other, they would beat an origin that asks for less.
          const refusal = await firstOf(living.ended, left);
          if (refusal !== null) return firstAnswer(refusal, head.echo, null);
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
    const ending = this.#attempt(message, record);
    const ended = ending.then(
      ({ refusal }) => refusal,
      () => null,
    );
    this.#living.set(message.head.recordId, { id: record.attempt.id, ended });
    // The client may leave: the attempt runs on, and its result is kept (G5).
    this.#waitUntil(ended);
    return (await ending).answer;
  }

  async #attempt(message: ExchangeMessage, record: Started): Promise<Ending> {
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
  #end(head: ExchangeHead, { attempt, policy }: Started, outcome: OriginOutcome): Ending {
    const { response } = outcome;
    const event = eventOf(outcome, attempt.id, head.lists);
    const { record, reply } = this.#settle(head.recordId, event, policy, response);
    if (reply.type === "superseded" || response === null || !isPossible(response.status)) {
      if (response?.body.kind === "over") void response.body.rest.cancel();
      const superseded: Problem = { code: "in-flight", retryAfterMs: POLL_MS };
      const problem = reply.type === "superseded" ? superseded : unanswered(outcome, policy, record);
      return { answer: refuse(head, problem), refusal: null };
    }
    const expiresAt = record?.state === "completed" && record.kept ? record.expiresAt : null;
    const shared = event.type === "refused" && response.body.kind === "whole";
    return { answer: firstAnswer(response, head.echo, expiresAt), refusal: shared ? response : null };
  }

  /** Settles the record. A response that cannot be stored must not lead to a second effect: then it is not kept. */
  #settle(id: RecordId, event: LifeCycleEvent, policy: Policy, response: OriginResponse | null): Step {
    const now = epochMs(Date.now());
    const stored = toStore(response);
    if (event.type !== "result" || !event.kept || stored === null) return this.#step(id, event, policy, now);
    try {
      return this.#step(id, event, policy, now, stored);
    } catch (error) {
      console.error({ message: "response could not be stored", reason: String(error) });
      return this.#step(id, { ...event, kept: false }, policy, now);
    }
  }
}

function eventOf({ end, response }: OriginOutcome, attemptId: AttemptId, lists: VerdictLists): LifeCycleEvent {
  const verdict = judge(end, lists);
  switch (verdict) {
    case "result":
      if (response === null) throw new TypeError("a result without a response");
      // What is too large, or no possible response, is not kept; but the origin has answered: never a second effect.
      return { type: "result", attemptId, status: response.status, kept: toStore(response) !== null };
    case "refused":
    case "ambiguous":
      return { type: verdict, attemptId };
  }
}

function toStore(response: OriginResponse | null): StoredResponse | null {
  if (response?.body.kind !== "whole" || !isPossible(response.status)) return null;
  return { ...response, body: response.body.bytes };
}

/** What the client hears of an attempt that brought no answer. */
function unanswered({ end }: OriginOutcome, { unknown }: Policy, record: IdempotencyRecord | null): Problem {
  if (record?.state === "completed") return { code: "response-not-kept", originalStatus: record.status };
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

/** What `promise` resolves with, or `null` after `ms`. */
async function firstOf<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  const { promise: timeUp, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, ms, null);
  const first = await Promise.race([promise, timeUp]);
  clearTimeout(timer);
  return first;
}
