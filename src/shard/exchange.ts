// The exchange, from claim to answer: load, step, save, act. Every decision is the life cycle's; here stands only the
// order of things. A claim is decided and written in one turn, and the runtime holds the call to the origin, as any
// answer, until what was written before is durable (output gate; README, guarantees G3 and G4).

import type { Origin } from "../config/resolved.ts";
import { deadlineOf } from "../core/life-cycle.ts";
import type { ClientProblem } from "../core/problem.ts";
import type { Started } from "../core/record.ts";
import { type AttemptId, attemptId, epochMs, type EpochMs, type RecordId } from "../core/units.ts";
import type { ExchangeHead } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import { timed, waited } from "../traffic/timing.ts";
import type { Observed, Watch } from "../traffic/watch.ts";
import type { Alarm } from "./alarm.ts";
import { type Body, firstAnswer, replay, storedBytes } from "./answers.ts";
import { Attempt, type Refusal } from "./attempt.ts";
import { POLL_MS, refuse, type Told } from "./ending.ts";
import type { Patience } from "./byte-pipe.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Ledger } from "./ledger.ts";
import { LivingAttempts, waitFor } from "./living-attempt.ts";
import { callOrigin, originRequest } from "./origin-call.ts";
import type { Reachability } from "./reachability.ts";
import { RecordSteps, type Stepped } from "./record-steps.ts";
import type { RequestBody } from "./request-body.ts";
import type { Timers } from "./timers.ts";
import { Verifications } from "./verification.ts";

/** A duplicate has the origin asked at once, so it need not wait for the alarm's next question. */
const ASK_AGAIN_MS = 10_000;

/** The longest time that a timer takes. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** How many questions of the alarm are at the origin at a time; the others follow when these are answered. */
const QUESTIONS_AT_ONCE = 4;

/** What the exchanges need of the shard that they run in. */
export interface ExchangePorts {
  readonly ledger: Ledger;
  readonly alarm: Alarm;
  readonly reachability: Reachability;
  /** Where a call goes; `null` when there is no such binding. */
  readonly target: (origin: Origin) => Fetcher | null;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly heartbeat: Heartbeat;
  readonly timers: Timers;
  readonly watch: Watch;
}

export class Exchanges {
  readonly #ports: ExchangePorts;
  readonly #ledger: Ledger;
  /** The attempts that this instance runs right now. */
  readonly living = new LivingAttempts();
  readonly steps: RecordSteps;
  readonly #verifications: Verifications;

  constructor(ports: ExchangePorts) {
    this.#ports = ports;
    this.#ledger = ports.ledger;
    this.steps = new RecordSteps({ ...ports, living: this.living, traffic: ports.watch.traffic });
    this.#verifications = new Verifications({
      ...ports,
      step: (id, event, policy, attachments) => this.steps.take(id, event, policy, epochMs(Date.now()), attachments),
    });
  }

  /** Answers one request. */
  async run(head: ExchangeHead, body: RequestBody): Promise<Response> {
    const observed = this.#ports.watch.begin(head);
    const claim = { started: false };
    try {
      const told = await this.#answer(head, body, observed, (record) => {
        claim.started = true;
        return this.#start(head, body, record, observed);
      });
      return this.#told(observed, told);
    } catch (error) {
      if (!claim.started) throw error;
      // Not thrown: the origin may have been called, so nobody may take this for a shard that did nothing.
      console.error({ message: "exchange failed", reason: String(error) });
      return this.#told(observed, refuse(head, { code: "store-unavailable" }));
    } finally {
      // An attempt releases the body itself, at its end.
      if (!claim.started) body.release();
    }
  }

  /** Answers one that cannot be run. */
  refuse(head: ExchangeHead, problem: ClientProblem): Response {
    return this.#told(this.#ports.watch.begin(head), refuse(head, problem));
  }

  #told(observed: Observed, { response, outcome }: Told): Response {
    return this.#ports.watch.told(observed, response, outcome);
  }

  async #answer(
    head: ExchangeHead,
    body: RequestBody,
    observed: Observed,
    start: (record: Started) => Promise<Told>,
  ): Promise<Told> {
    const giveUpAt = Date.now() + (head.duplicate === "reject" ? 0 : head.waitMs);
    let hasAsked = false;
    let nextId = head.attemptId;
    for (;;) {
      const now = epochMs(Date.now());
      const { recordId } = head;
      if (!body.isHere && this.#wouldStart(head, nextId, now)) {
        if (!(await body.take())) return refuse(head, { code: "store-unavailable" });
        continue;
      }
      const { entry, reply } = this.#request(head, nextId, now);
      switch (reply.type) {
        case "start":
          return start(reply.record);
        case "replay": {
          const stored = entry?.response ?? null;
          const response =
            stored === null ? null : await replay(stored, reply.record, head, this.#ledger, this.#ports.timers);
          observed.attempt = reply.record.attempt.number;
          if (response !== null) return { response, outcome: "replay" };
          return refuse(head, { code: "response-not-kept", originalStatus: reply.record.status });
        }
        case "in-flight": {
          const living = this.living.get(recordId);
          // This very request, delivered once more after its caller lost the way to its answer, waits for that.
          const isOwn = living?.attempt.id === head.attemptId;
          if (isOwn) nextId = attemptId(crypto.randomUUID());
          const duplicate = isOwn ? "attach" : head.duplicate;
          const attached = duplicate === "attach" ? living?.attempt.attach(head) : null;
          observed.attempt = reply.record.attempt.number;
          if (attached) return { response: attached, outcome: "attached" };
          const left = isOwn ? FOR_EVER_MS : giveUpAt - now;
          if (living === undefined || left <= 0) {
            const untilRetry = reply.retryFrom - now;
            return refuse(head, {
              code: "in-flight",
              retryAfterMs: living === undefined ? untilRetry : Math.min(POLL_MS, untilRetry),
            });
          }
          if (head.sameBytes) body.share(living.body);
          else if (!body.isHere && !(await body.take())) return refuse(head, { code: "store-unavailable" });
          const refusal = await waited(observed, waitFor(living, duplicate, left));
          if (refusal !== null) {
            return { response: firstAnswer(refusal, refusal.bytes, head.echo, null), outcome: "refused" };
          }
          continue;
        }
        case "not-kept":
          return refuse(head, { code: "response-not-kept", originalStatus: reply.record.status });
        case "outcome-unknown": {
          const { verifyAt } = reply.record;
          if (verifyAt === null || hasAsked) {
            const retryAfterMs = verifyAt === null ? null : Math.min(verifyAt - now, ASK_AGAIN_MS);
            return refuse(head, { code: "outcome-unknown", retryAfterMs });
          }
          hasAsked = true;
          await waited(observed, this.#verifications.run(recordId, reply.record.policy, head.verification));
          continue;
        }
        case "mismatch":
          return refuse(head, { code: "key-reused", status: head.mismatchStatus });
        case "ask":
        case "settled":
        case "superseded":
        case "changed":
        case "unchangeable":
        case "seen":
          throw new TypeError(`a request was answered with ${reply.type}`);
      }
    }
  }

  /** Ends the locks that have passed under no living attempt, and asks about some of those whose outcome is unknown. */
  async meetDeadlines(now: EpochMs): Promise<void> {
    const due: (() => Promise<void>)[] = [];
    for (const { id, entry } of this.#ledger.inFlight()) {
      if (deadlineOf(entry.record) > now) continue;
      const { policy } = entry.record;
      const { record, deadline } = this.steps.take(id, { type: "look" }, policy, now);
      if (record?.state !== "unknown" || deadline === null || deadline > now) continue;
      due.push(() => this.#verifications.run(id, policy, null));
    }
    await Promise.all(due.slice(0, QUESTIONS_AT_ONCE).map((ask) => ask()));
  }

  #wouldStart({ recordId, fingerprint, policy }: ExchangeHead, nextId: AttemptId, now: EpochMs): boolean {
    return this.steps.wouldStart(recordId, { type: "request", fingerprint, attemptId: nextId }, policy, now);
  }

  #request(head: ExchangeHead, nextId: AttemptId, now: EpochMs): Stepped {
    const { recordId, fingerprint, policy, verification } = head;
    const event = { type: "request", fingerprint, attemptId: nextId } as const;
    return this.steps.take(recordId, event, policy, now, {
      verification: verification === null ? null : JSON.stringify(verification),
      label: { key: head.key, route: head.route },
    });
  }

  #start(head: ExchangeHead, body: RequestBody, record: Started, observed: Observed): Promise<Told> {
    const { recordId, key, route } = head;
    observed.attempt = record.attempt.number;
    observed.attemptId = record.attempt.id;
    this.#ports.watch.traffic.attempt(route, record.attempt.number);
    const label = { key, route };
    const attempt = new Attempt(head, record, {
      reopen: (patience) => this.#reopen(recordId, record, patience),
      bodies: this.#ledger.bodies,
      remote: this.#ledger.remote,
      sync: this.#ports.sync,
      timers: this.#ports.timers,
      step: (event, attachments) =>
        this.steps.take(recordId, event, record.policy, epochMs(Date.now()), { ...attachments, label }),
    });
    const ended = this.#runToEnd(attempt, head, body, record, observed);
    this.living.add(recordId, { attempt, body, ended });
    // The client may leave: the attempt runs on, and its result is kept (G5).
    this.#ports.waitUntil(ended);
    return attempt.answer;
  }

  /** The body that an attempt has just stored; `null` where its record does not keep one. */
  async #reopen(id: RecordId, { attempt }: Started, patience: Patience): Promise<Body | null> {
    const entry = this.#ledger.find(id);
    if (entry === null || entry.response === null || entry.record.attempt.id !== attempt.id) return null;
    return storedBytes(entry.response.body, this.#ledger, 0, patience);
  }

  async #runToEnd(
    attempt: Attempt,
    head: ExchangeHead,
    body: RequestBody,
    record: Started,
    observed: Observed,
  ): Promise<Refusal | null> {
    const { target, heartbeat } = this.#ports;
    const renewal = { type: "renew", attemptId: record.attempt.id } as const;
    // Well before it ends.
    const stop = heartbeat.begin(record.policy.lockMs / 2, () => {
      this.steps.take(head.recordId, renewal, record.policy, epochMs(Date.now()));
    });
    const request = originRequest(head, body, record.attempt);
    try {
      return await attempt.run(() => timed(observed, callOrigin(request, target(request.origin), this.#ports)));
    } finally {
      stop();
      this.living.remove(head.recordId, attempt);
      body.release();
    }
  }
}
