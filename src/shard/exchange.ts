// The exchange, from claim to answer: load, step, save, act. Every decision is the life cycle's; here stands only the
// order of things. A claim is decided and written in one turn, and the runtime holds the call to the origin, as any
// answer, until what was written before is durable (output gate; README, guarantees G3 and G4).

import { deadlineOf, type LifeCycleEvent, renewed, type Step, step } from "../core/life-cycle.ts";
import type { Problem } from "../core/problem.ts";
import type { Policy, Started } from "../core/record.ts";
import { epochMs, type EpochMs, type RecordId } from "../core/units.ts";
import type { ExchangeHead } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import { firstOf } from "../http/patience.ts";
import { problemResponse } from "../http/problem-response.ts";
import type { Alarm } from "./alarm.ts";
import { firstAnswer, replay } from "./answers.ts";
import { Attempt, type Refusal } from "./attempt.ts";
import { POLL_MS } from "./ending.ts";
import type { Entry, Ledger, StoredResponse } from "./ledger.ts";
import { callOrigin } from "./origin-call.ts";
import type { Reachability } from "./reachability.ts";
import type { RequestBody } from "./request-body.ts";

interface LivingAttempt {
  readonly attempt: Attempt;
  /** Resolves when the attempt's word stands in the record: with a refusal that those who waited share, else `null`. */
  readonly ended: Promise<Refusal | null>;
}

/** What the exchanges need of the shard that they run in. */
export interface ExchangePorts {
  readonly ledger: Ledger;
  readonly alarm: Alarm;
  readonly reachability: Reachability;
  /** Where a call goes; `null` when there is no such binding. */
  readonly target: (head: ExchangeHead) => Fetcher | null;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

export class Exchanges {
  readonly #ports: ExchangePorts;
  readonly #ledger: Ledger;
  /** The attempts that this instance runs right now. */
  readonly #living = new Map<RecordId, LivingAttempt>();

  constructor(ports: ExchangePorts) {
    this.#ports = ports;
    this.#ledger = ports.ledger;
  }

  /** Answers one request. */
  async run(head: ExchangeHead, body: RequestBody): Promise<Response> {
    const claim = { started: false };
    try {
      return await this.#answer(head, (record) => {
        claim.started = true;
        return this.#start(head, body, record);
      });
    } finally {
      // An attempt releases the body itself, at its end.
      if (!claim.started) body.release();
    }
  }

  async #answer(head: ExchangeHead, start: (record: Started) => Promise<Response>): Promise<Response> {
    const giveUpAt = Date.now() + (head.duplicate === "reject" ? 0 : head.waitMs);
    for (;;) {
      const now = epochMs(Date.now());
      const { fingerprint, attemptId, policy, recordId } = head;
      const { entry, reply } = this.#step(recordId, { type: "request", fingerprint, attemptId }, policy, now);
      switch (reply.type) {
        case "start":
          return start(reply.record);
        case "replay": {
          const stored = this.#ledger.response(recordId, entry?.bucket ?? 0, reply.record);
          const replayed = await replay(stored, reply.record, head, this.#ledger);
          return replayed ?? refuse(head, { code: "response-not-kept", originalStatus: reply.record.status });
        }
        case "in-flight": {
          const living = this.#living.get(recordId);
          const attached = head.duplicate === "attach" ? living?.attempt.attach(head) : null;
          if (attached) return attached;
          const left = giveUpAt - now;
          if (living === undefined || left <= 0) {
            const untilRetry = reply.retryFrom - now;
            return refuse(head, {
              code: "in-flight",
              retryAfterMs: living === undefined ? untilRetry : Math.min(POLL_MS, untilRetry),
            });
          }
          const refusal = await waitFor(living, head.duplicate, left);
          if (refusal !== null) return firstAnswer(refusal, refusal.bytes, head.echo, null);
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
      if (result.deadline !== null) this.#ports.alarm.moveTo(result.deadline);
    }
    return { ...result, entry };
  }

  /** The record as it stands. A lock never ends under a living attempt, however late its renewal comes. */
  #current(id: RecordId, now: EpochMs): Entry | null {
    const entry = this.#ledger.find(id);
    const living = this.#living.get(id);
    if (entry === null || living === undefined || deadlineOf(entry.record) > now) return entry;
    if (entry.record.state !== "started" || entry.record.attempt.id !== living.attempt.id) return entry;
    this.#ledger.save(id, entry, renewed(entry.record, now));
    return this.#ledger.find(id);
  }

  #start(head: ExchangeHead, body: RequestBody, record: Started): Promise<Response> {
    const { recordId } = head;
    const attempt = new Attempt(head, record, {
      bodies: this.#ledger.bodies,
      remote: this.#ledger.remote,
      sync: this.#ports.sync,
      step: (event, response) => this.#step(recordId, event, record.policy, epochMs(Date.now()), response),
    });
    const ended = this.#runToEnd(attempt, head, body, record);
    this.#living.set(recordId, { attempt, ended });
    // The client may leave: the attempt runs on, and its result is kept (G5).
    this.#ports.waitUntil(ended);
    return attempt.answer;
  }

  async #runToEnd(attempt: Attempt, head: ExchangeHead, body: RequestBody, record: Started): Promise<Refusal | null> {
    const { reachability, target } = this.#ports;
    const renewal = this.#renewing(head.recordId, record);
    try {
      return await attempt.run(() => callOrigin(head, body, record.attempt.number, target(head), reachability));
    } finally {
      clearInterval(renewal);
      // A record that expired under it may have another attempt by now.
      if (this.#living.get(head.recordId)?.attempt === attempt) this.#living.delete(head.recordId);
      body.release();
    }
  }

  /** Renews the lock of a living attempt well before it ends. */
  #renewing(id: RecordId, { attempt, policy }: Started): ReturnType<typeof setInterval> {
    return setInterval(() => {
      this.#step(id, { type: "renew", attemptId: attempt.id }, policy, epochMs(Date.now()));
    }, policy.lockMs / 2);
  }
}

/**
 * Waits for the end of an attempt, or only for its beginning where the duplicate attaches to it. Those who wait share a
 * refusal: one after the other, they would beat an origin that asks for less.
 */
function waitFor(
  { attempt, ended }: LivingAttempt,
  duplicate: ExchangeHead["duplicate"],
  ms: number,
): Promise<Refusal | null> {
  // One that has begun and cannot be attached to is over only when it has ended.
  const attaches = duplicate === "attach" && !attempt.hasBegun;
  return firstOf(attaches ? Promise.race([ended, attempt.begun.then(() => null)]) : ended, ms);
}

function refuse(head: ExchangeHead, problem: Problem): Response {
  return problemResponse(problem, head.echo);
}
