// Runs an attempt to its end: adds it to those in flight, calls the origin, and renews its lock meanwhile. For a client that waits
// and for an accepted request, which the shard tries by itself, alike.

import type { Started } from "../record/record.ts";
import { epochMs, type RecordId } from "../record/units.ts";
import type { OriginCall } from "../request/message.ts";
import { callInForm } from "../request/origin-key.ts";
import { logFailure } from "../traffic/bookkeep.ts";
import { timeOriginCall } from "../traffic/exchange-reporter.ts";
import { readStoredBody } from "./answers.ts";
import { OriginAttempt } from "./attempt.ts";
import type { AttemptInFlight } from "./attempts-in-flight.ts";
import { START } from "../resume/event-offsets.ts";
import type { SpoolManner } from "../body/response-spool.ts";
import type { AnswerBody } from "./exchange-answer.ts";
import type { IncomingRequest, KernelParts } from "./exchange-ports.ts";
import { callOrigin, originRequest } from "./origin-call.ts";

/** What runs and what it works with. */
export type RunShared = Pick<
  KernelParts,
  | "ledger"
  | "sync"
  | "timers"
  | "offsets"
  | "steps"
  | "attempts"
  | "reporter"
  | "heartbeat"
  | "target"
  | "reachability"
  | "waitUntil"
  | "isolate"
  | "judgeBody"
  | "watchMessages"
>;

/** The place of an attempt of an accepted request (accepted-attempts.ts). */
export interface ConnectionPlace {
  /** Its answer has begun. */
  readonly answered: () => void;
  /** It is over. */
  readonly leave: () => void;
}

/**
 * Begins the attempt that has just claimed the record, in the same turn, and runs it whatever becomes of its client (G5). `enter`
 * gives it a place, if it needs one.
 */
export function runAttempt(
  id: RecordId,
  record: Started,
  incoming: Omit<IncomingRequest, "caller">,
  shared: RunShared,
  enter: (() => ConnectionPlace) | null = null,
): AttemptInFlight {
  let place: ConnectionPlace | null = null;
  const run = new AttemptRun(id, record, incoming, shared, () => place?.answered());
  const ended = run.toEnd();
  place = enter === null ? null : enter();
  const leaveIsolate = shared.isolate.begin();
  const leave = (): void => {
    leaveIsolate();
    place?.leave();
  };
  shared.waitUntil(ended.finally(leave));
  return run.inFlight;
}

class AttemptRun {
  readonly #id: RecordId;
  readonly #record: Started;
  readonly #incoming: Omit<IncomingRequest, "caller">;
  readonly #shared: RunShared;
  readonly #answered: () => void;
  readonly inFlight: AttemptInFlight;

  constructor(
    id: RecordId,
    record: Started,
    incoming: Omit<IncomingRequest, "caller">,
    shared: RunShared,
    answered: () => void,
  ) {
    this.#answered = answered;
    this.#id = id;
    this.#record = record;
    this.#incoming = incoming;
    this.#shared = shared;
    const { head, body, span } = incoming;
    const { ledger, sync, timers, offsets, steps, attempts, reporter, judgeBody, watchMessages } = shared;
    span.attempt = record.attempt.number;
    span.attemptId = record.attempt.id;
    logFailure("counting an attempt", () => {
      reporter.traffic.attempt(head.record.route, record.attempt.number);
      if (attempts.isCrowded) reporter.traffic.queued(head.record.route);
    });
    const attempt = new OriginAttempt(head, record, {
      reopen: (manner) => this.#reopen(manner),
      bodies: ledger.bodies,
      body: ledger.claimedBody(id),
      remote: ledger.remote,
      sync,
      timers,
      offsets,
      step: (event, attachments) =>
        steps.take(id, event, record.policy, epochMs(Date.now()), { ...attachments, label: head.record }),
      begun: () => this.inFlight.waiters.wakeFollowers(),
      judgeBody,
      watchMessages,
      unreadable: () => logFailure("counting a body", () => reporter.traffic.unreadable(head.record.route)),
      settled: (answerFor) => attempts.settled(id, this.inFlight, answerFor),
    });
    this.inFlight = attempts.add(id, attempt, body);
  }

  /** The body that the attempt has just stored; `null` when its record does not keep one. */
  async #reopen({ patience, cipher }: SpoolManner): Promise<AnswerBody | null> {
    const { ledger } = this.#shared;
    const entry = ledger.find(this.#id);
    if (entry === null || entry.response === null || entry.record.attempt.id !== this.#record.attempt.id) return null;
    return readStoredBody(entry.response.body, { stores: ledger, cipher }, START, patience);
  }

  /** As the record's first attempt was made. */
  get #call(): OriginCall {
    const { call } = this.#incoming.head;
    if (this.#record.attempt.number === 1) return call;
    const { ledger } = this.#shared;
    return callInForm(call, ledger.find(this.#id)?.keyForm ?? null);
  }

  async toEnd(): Promise<void> {
    const { head, body, span } = this.#incoming;
    const { attempts, target } = this.#shared;
    const stop = this.#renewLock();
    try {
      await this.inFlight.attempt.run(() => {
        const request = originRequest({ ...head, call: this.#call }, body, this.#record);
        const call = callOrigin(request, target(request.origin), this.#shared);
        return timeOriginCall(
          span,
          call.then((outcome) => {
            this.#answered();
            return outcome;
          }),
        );
      });
    } finally {
      attempts.remove(this.#id, this.inFlight);
      logFailure("ending a heartbeat", stop);
      logFailure("releasing a body", () => body.release());
    }
  }

  /** Renews the attempt's lock well before it ends. If a renewal fails, the next step of the record renews the lock. */
  #renewLock(): () => void {
    const { heartbeat, steps } = this.#shared;
    const { attempt } = this.inFlight;
    const { policy } = this.#record;
    const renewal = { type: "renew", attemptId: attempt.id } as const;
    let stop: (() => void) | null = null;
    logFailure("beginning a heartbeat", () => {
      stop = heartbeat.begin(policy.lockMs / 2, () => {
        // A body that is still being passed on after the attempt's end keeps the object in memory, but renews no lock.
        if (!attempt.hasEnded) steps.take(this.#id, renewal, policy, epochMs(Date.now()));
      });
    });
    return () => stop?.();
  }
}
