// The exchange, from claim to answer: load, step, save, act. Every decision is the life cycle's; here stands only the
// order of things. A claim is decided and written in one turn, and the runtime holds the call to the origin, as any
// answer, until what was written before is durable (output gate; README, guarantees G3 and G4).

import type { Origin } from "../config/resolved.ts";
import type { ClientProblem } from "../core/problem.ts";
import type { Started } from "../core/record.ts";
import { type AttemptId, attemptId, earliest, epochMs, type EpochMs, type RecordId } from "../core/units.ts";
import type { ExchangeHead } from "../http/message.ts";
import type { Fetcher } from "../http/pass-through.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import { timed, waited } from "../traffic/timing.ts";
import type { ExchangeSpan, ExchangeReporter, SpanStart } from "../traffic/exchange-reporter.ts";
import type { Alarm } from "./alarm.ts";
import { type Body, replay, storedBytes } from "./answers.ts";
import { Attempt } from "./attempt.ts";
import { START } from "./body/body-position.ts";
import type { Patience } from "./body/byte-pipe.ts";
import { POLL_MS, refuse, type ExchangeAnswer } from "./attempt-settlement.ts";
import { EventOffsets } from "./body/event-offsets.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Ledger } from "./store/ledger.ts";
import { type AttemptInFlight, AttemptsInFlight } from "./attempts-in-flight.ts";
import { callOrigin, originRequest } from "./origin-call.ts";
import { Questions } from "./questions.ts";
import type { Reachability } from "./reachability.ts";
import { RecordSteps, type Stepped } from "./record-steps.ts";
import type { RequestBody } from "./body/request-body.ts";
import type { Timers } from "./timers.ts";
import { type VerificationPorts, verify } from "./verification.ts";
import { WaitingRoom, type Woken } from "./waiters.ts";

/** A duplicate has the origin asked at once, so it need not wait for the alarm's next question. */
const ASK_AGAIN_MS = 10_000;

const FOR_EVER_MS = Number.POSITIVE_INFINITY;

/** Lost attempts that the alarm notices in one turn: few enough that no request waits long behind it. */
export const LOCKS_AT_ONCE = 100;

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
  readonly reporter: ExchangeReporter;
}

export class Exchanges {
  readonly #ports: ExchangePorts;
  readonly #ledger: Ledger;
  /** The attempts that this instance runs right now. */
  readonly living = new AttemptsInFlight();
  readonly steps: RecordSteps;
  readonly #questions: Questions;
  readonly #offsets = new EventOffsets();
  readonly #room: WaitingRoom;

  constructor(ports: ExchangePorts) {
    this.#ports = ports;
    this.#ledger = ports.ledger;
    this.#room = new WaitingRoom(ports.timers);
    this.steps = new RecordSteps({ ...ports, living: this.living, traffic: ports.reporter.traffic });
    const verification = {
      ...ports,
      step: (...[id, event, policy, attachments]: Parameters<VerificationPorts["step"]>) =>
        this.steps.take(id, event, policy, epochMs(Date.now()), attachments),
    };
    this.#questions = new Questions({ ...ports, ask: (id, policy, own) => verify(id, policy, own, verification) });
  }

  /** Answers one request. `caller` tells when its client has gone: that ends no attempt (G5), but what is done for him alone. */
  async run(head: ExchangeHead, body: RequestBody, caller: AbortSignal | null): Promise<Response> {
    const span = this.#ports.reporter.begin(spanStart(head));
    const claim = { started: false };
    try {
      const told = await this.#answer(head, body, span, caller, (record) => {
        claim.started = true;
        return this.#start(head, body, record, span);
      });
      return this.#told(span, told);
    } catch (error) {
      if (!claim.started) throw error;
      // Not thrown: the origin may have been called, so nobody may take this for a shard that did nothing.
      console.error({ message: "exchange failed", reason: String(error) });
      return this.#told(span, refuse(head, { code: "store-unavailable" }));
    } finally {
      // An attempt releases the body itself, at its end.
      if (!claim.started) bookkeep("releasing a body", () => body.release());
    }
  }

  /** Answers one that cannot be run. */
  refuse(head: ExchangeHead, problem: ClientProblem): Response {
    return this.#told(this.#ports.reporter.begin(spanStart(head)), refuse(head, problem));
  }

  #told(span: ExchangeSpan, { response, outcome }: ExchangeAnswer): Response {
    return this.#ports.reporter.finish(span, response, outcome);
  }

  async #answer(
    head: ExchangeHead,
    body: RequestBody,
    span: ExchangeSpan,
    caller: AbortSignal | null,
    start: (record: Started) => Promise<ExchangeAnswer>,
  ): Promise<ExchangeAnswer> {
    const giveUpAt = Date.now() + (head.rules.duplicate === "reject" ? 0 : head.rules.waitMs);
    let hasAsked = false;
    let nextId = head.request.attemptId;
    for (;;) {
      const now = epochMs(Date.now());
      const recordId = head.record.id;
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
            stored === null
              ? null
              : await replay(stored, reply.record, head, this.#ledger, this.#ports.timers, this.#offsets, caller);
          span.attempt = reply.record.attempt.number;
          if (response !== null) return { response, outcome: "replay" };
          return refuse(head, { code: "response-not-kept", originalStatus: reply.record.status });
        }
        case "in-flight": {
          const living = this.living.get(recordId);
          // This very request, delivered once more after its caller lost the way to its answer, waits for that. There are two
          // of these at most for one attempt, and it is their own: they take nobody's place.
          const isOwn = living?.attempt.id === head.request.attemptId;
          if (isOwn) nextId = attemptId(crypto.randomUUID());
          const duplicate = isOwn ? "attach" : head.rules.duplicate;
          const attached = duplicate === "attach" ? await living?.attempt.attach(head, caller) : null;
          span.attempt = reply.record.attempt.number;
          if (attached) return { response: attached, outcome: "attached" };
          // While an event was searched for, the attempt has ended.
          if (this.living.get(recordId) !== living) continue;
          const ms = isOwn ? FOR_EVER_MS : giveUpAt - now;
          const untilRetry = reply.retryFrom - now;
          if (living === undefined || ms <= 0) {
            const retryAfterMs = living === undefined ? untilRetry : Math.min(POLL_MS, untilRetry);
            return refuse(head, { code: "in-flight", retryAfterMs });
          }
          if (isOwn || head.request.sameBytes) body.share(living.body);
          else if (!body.isHere) {
            if (!(await body.take())) return refuse(head, { code: "store-unavailable" });
            // Meanwhile the attempt may have ended.
            continue;
          }
          // One that has begun and cannot be attached to is over only when it has ended.
          const untilBegun = duplicate === "attach" && !living.attempt.hasBegun;
          const wait = { head, untilBegun, ms, caller, isCounted: !isOwn };
          const woken = await waited(span, this.#room.wait(living.waiters, wait));
          if (woken.kind === "told") return woken.told;
          if (mayGoOn(woken, caller)) continue;
          return refuse(head, { code: "in-flight", retryAfterMs: Math.min(POLL_MS, untilRetry) });
        }
        case "not-kept":
          return refuse(head, { code: "response-not-kept", originalStatus: reply.record.status });
        case "outcome-unknown": {
          const { verifyAt } = reply.record;
          if (verifyAt !== null && !hasAsked) {
            hasAsked = true;
            const asked = this.#questions.run(recordId, reply.record.policy, head.verification);
            const wait = { head, untilBegun: false, ms: FOR_EVER_MS, caller, isCounted: true };
            if (mayGoOn(await waited(span, this.#room.until(asked, wait)), caller)) continue;
          }
          const retryAfterMs = verifyAt === null ? null : Math.min(verifyAt - now, ASK_AGAIN_MS);
          return refuse(head, { code: "outcome-unknown", retryAfterMs });
        }
        case "mismatch":
          return refuse(head, { code: "key-reused", status: head.rules.mismatchStatus });
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

  /** Ends locks that have passed under no living attempt, and begins to ask about outcomes that are unknown: some of each. */
  meetDeadlines(now: EpochMs): void {
    for (const id of this.#ledger.lockEnds.ended(now, LOCKS_AT_ONCE)) this.steps.look(id, now);
    this.#questions.askDue(now);
  }

  /** When the alarm has to come next; `null` when there is nothing to come for. */
  nextDeadline(): EpochMs | null {
    const question = this.#questions.nextAt(epochMs(Date.now()));
    const other = this.#ledger.nextDeadline();
    return question === null || other === null ? (question ?? other) : earliest(question, other);
  }

  #wouldStart({ record, request, rules }: ExchangeHead, nextId: AttemptId, now: EpochMs): boolean {
    const event = { type: "request", fingerprint: request.fingerprint, attemptId: nextId } as const;
    return this.steps.wouldStart(record.id, event, rules.policy, now);
  }

  #request(head: ExchangeHead, nextId: AttemptId, now: EpochMs): Stepped {
    const { record, request, rules, verification } = head;
    const event = { type: "request", fingerprint: request.fingerprint, attemptId: nextId } as const;
    return this.steps.take(record.id, event, rules.policy, now, {
      verification: verification === null ? null : JSON.stringify(verification),
      label: { key: record.key, route: record.route },
    });
  }

  #start(head: ExchangeHead, body: RequestBody, record: Started, span: ExchangeSpan): Promise<ExchangeAnswer> {
    const { id: recordId, key, route } = head.record;
    span.attempt = record.attempt.number;
    span.attemptId = record.attempt.id;
    bookkeep("counting an attempt", () => this.#ports.reporter.traffic.attempt(route, record.attempt.number));
    const label = { key, route };
    const attempt = new Attempt(head, record, {
      reopen: (patience) => this.#reopen(recordId, record, patience),
      bodies: this.#ledger.bodies,
      remote: this.#ledger.remote,
      sync: this.#ports.sync,
      timers: this.#ports.timers,
      offsets: this.#offsets,
      step: (event, attachments) =>
        this.steps.take(recordId, event, record.policy, epochMs(Date.now()), { ...attachments, label }),
      begun: () => living.waiters.wakeFollowers(),
      settled: (tell) => this.living.settled(recordId, living, tell),
    });
    const living = this.living.add(recordId, attempt, body);
    // The client may leave: the attempt runs on, and its result is kept (G5).
    this.#ports.waitUntil(this.#runToEnd(living, head, body, record, span));
    return attempt.answer;
  }

  /** The body that an attempt has just stored; `null` where its record does not keep one. */
  async #reopen(id: RecordId, { attempt }: Started, patience: Patience): Promise<Body | null> {
    const entry = this.#ledger.find(id);
    if (entry === null || entry.response === null || entry.record.attempt.id !== attempt.id) return null;
    return storedBytes(entry.response.body, this.#ledger, START, patience);
  }

  async #runToEnd(
    living: AttemptInFlight,
    head: ExchangeHead,
    body: RequestBody,
    record: Started,
    span: ExchangeSpan,
  ): Promise<void> {
    const { attempt } = living;
    const stop = this.#beat(head, record, attempt);
    try {
      await attempt.run(() => {
        const request = originRequest(head, body, record.attempt);
        return timed(span, callOrigin(request, this.#ports.target(request.origin), this.#ports));
      });
    } finally {
      this.living.remove(head.record.id, living);
      bookkeep("ending a heartbeat", stop);
      bookkeep("releasing a body", () => body.release());
    }
  }

  /** Renews the attempt's lock well before it ends; where that cannot be, whoever looks at the record renews it. */
  #beat({ record: { id: recordId } }: ExchangeHead, { policy }: Started, attempt: Attempt): () => void {
    const renewal = { type: "renew", attemptId: attempt.id } as const;
    const stops: (() => void)[] = [];
    bookkeep("beginning a heartbeat", () => {
      const stop = this.#ports.heartbeat.begin(policy.lockMs / 2, () => {
        // What of its answer is still passed on keeps the object in memory, and no lock.
        if (attempt.hasEnded) return;
        this.steps.take(recordId, renewal, policy, epochMs(Date.now()));
      });
      stops.push(stop);
    });
    return () => stops.forEach((stop) => stop());
  }
}

function spanStart({ record, telemetry }: ExchangeHead): SpanStart {
  return { route: record.route, recordId: record.id, telemetry };
}

/** Nothing is started for a client that has gone. */
function mayGoOn({ kind }: Woken, caller: AbortSignal | null): boolean {
  return kind === "look" && caller?.aborted !== true;
}
