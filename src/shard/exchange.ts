// One exchange, from request to answer: load, step, save, act. core/life-cycle.ts decides each step, decide.ts chooses the
// action, and this file performs it. A claim is decided and written in one turn. The runtime delays the call to the origin, like every
// answer, until all earlier writes are durable (output gate; guarantees G3 and G4).

import type { Started } from "../core/record.ts";
import { type AttemptId, attemptId, epochMs, type RecordId } from "../core/units.ts";
import type { Hop } from "../http/hops.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import { timed, waited } from "../traffic/exchange-reporter.ts";
import { type Body, type ExchangeAnswer, problemAnswer, replay, replayAtOnce, storedBytes } from "./answers.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptInFlight } from "./attempts-in-flight.ts";
import { START } from "./body/event-offsets.ts";
import type { SpoolManner } from "./body/response-spool.ts";
import {
  type Action,
  beforeStart,
  decide,
  type Duplicate,
  isIncomparable,
  notKept,
  refuse,
  waitFor,
} from "./decide.ts";
import { type Words, wordsIn } from "./elders.ts";
import type { Incoming, Shared } from "./exchange-ports.ts";
import { callOrigin, originRequest } from "./origin-call.ts";
import type { Wait, Woken } from "./waiters.ts";

export class Exchange {
  readonly #incoming: Incoming;
  readonly #shared: Shared;
  readonly #giveUpAt: number;
  /** For the attempt that this exchange may start. */
  #attemptId: AttemptId;
  #hasAsked = false;
  /** Whether the caller may begin a new key; `null`: not asked yet. */
  #mayBegin: boolean | null = null;
  /** The name of the record that the request means: while the scope changes, it may be one of several. */
  #id: RecordId;
  /** What elders have said about the key. */
  readonly #words: Words;

  constructor(incoming: Incoming, shared: Shared) {
    const { rules, request } = incoming.head;
    this.#incoming = incoming;
    this.#shared = shared;
    this.#giveUpAt = Date.now() + (rules.duplicate === "reject" ? 0 : rules.waitMs);
    this.#attemptId = request.attemptId;
    this.#id = incoming.head.record.id;
    this.#words = wordsIn(incoming.head);
  }

  /** The answer, at once if it is a replay for which nothing has to be waited for. Throws when the store fails. */
  answer(): ExchangeAnswer | Promise<ExchangeAnswer | Hop> {
    const { head, body } = this.#incoming;
    let isOver = true;
    try {
      const action = this.#decide();
      const given = action.kind === "replay" ? replayAtOnce(action, head) : null;
      if (given !== null) return given;
      isOver = false;
      return action.kind === "start" ? this.#start(action.record) : this.#perform(action);
    } finally {
      // Otherwise the body is released at its end.
      if (isOver) bookkeep("releasing a body", () => body.release());
    }
  }

  /**
   * Performs actions until one gives the answer. There is no `await` between a decision and its action: a claim and the start of
   * its attempt are one turn, so that no other request ever finds a claim without its attempt.
   */
  async #perform(first: Action): Promise<ExchangeAnswer | Hop> {
    const { head, body } = this.#incoming;
    let action = first;
    try {
      for (;;) {
        switch (action.kind) {
          case "take-body":
            if (await body.take()) action = this.#decide();
            else action = refuse({ code: "store-unavailable" });
            break;
          case "count-key":
            // Meanwhile another request may claim the key, so what follows is decided again, whatever the answer is.
            this.#mayBegin = await waited(this.#incoming.span, this.#shared.newKeys.mayBegin(this.#id, action.count));
            action = this.#decide();
            break;
          case "start":
            return await this.#start(action.record);
          case "replay": {
            const given: ExchangeAnswer | null = await replay(action, head, this.#signal, this.#shared);
            if (given !== null) return given;
            action = notKept(action.record);
            break;
          }
          case "attach": {
            const duplicate: Duplicate = action.duplicate;
            // If its own attempt fails, the next one needs a new id.
            if (duplicate.isOwn) this.#attemptId = attemptId(crypto.randomUUID());
            const given = await duplicate.inFlight.attempt.attach(head, this.#signal);
            if (given !== null) return given;
            // The attempt may have ended during the search for the client's last event.
            const waitMs = duplicate.isOwn ? duplicate.waitMs : this.#giveUpAt - Date.now();
            action = this.#inFlight === duplicate.inFlight ? waitFor({ ...duplicate, waitMs }) : this.#decide();
            break;
          }
          case "wait": {
            const { inFlight, isOwn, hasSameBody, waitMs }: Duplicate = action.duplicate;
            if (hasSameBody) body.share(inFlight.body);
            const wait = this.#wait(waitMs, { untilBegun: action.untilBegun, isCounted: !isOwn });
            const woken: Woken = await waited(this.#incoming.span, this.#shared.room.wait(inFlight.waiters, wait));
            if (woken.kind === "answered") return woken.answer;
            action = this.#mayContinue(woken) ? this.#decide() : refuse(action.refusal);
            break;
          }
          case "ask": {
            this.#hasAsked = true;
            const { policy } = action;
            const ask = (): Promise<void> => this.#shared.questions.run(this.#id, policy, head.verification);
            // A question has its own time limit.
            const wait = this.#wait(Number.POSITIVE_INFINITY, { untilBegun: false, isCounted: true });
            const woken: Woken = await waited(this.#incoming.span, this.#shared.room.until(ask, wait));
            action = this.#mayContinue(woken) ? this.#decide() : refuse(action.refusal);
            break;
          }
          case "leave": {
            const hop: Hop | null = await waited(this.#incoming.span, this.#shared.elders.leave(head, this.#words));
            if (hop !== null) return hop;
            action = this.#decide();
            break;
          }
          case "refuse":
            return problemAnswer(head, action.problem);
        }
      }
    } finally {
      // An attempt releases the body itself, at its end.
      if (action.kind !== "start") bookkeep("releasing a body", () => body.release());
    }
  }

  /** Reads the record, takes the step, writes it, and decides the next action: one turn, without an `await`. */
  #decide(): Action {
    const { head, body, span } = this.#incoming;
    const { record, request, rules, verification, newKeys } = head;
    const { steps } = this.#shared;
    const now = epochMs(Date.now());
    const { home } = this.#shared.elders.homing(head, this.#words);
    const { fingerprint, otherFingerprint } = request;
    const event = { type: "request", fingerprint, otherFingerprint, attemptId: this.#attemptId, home } as const;
    // The record is claimed only once the body is here, because the body may break off.
    const id = steps.nameOf(head, now);
    // An answer, not a failure: the request must not go on without protection.
    if (id === null) return refuse({ code: "store-unavailable" });
    this.#id = id;
    const count = this.#mayBegin === true ? undefined : newKeys;
    if (!body.isHere || count !== undefined) {
      const next = steps.wouldStart(id, event, rules.policy, now);
      const before = next === null ? null : beforeStart(next, body.isHere, count, this.#mayBegin);
      if (before !== null) return before;
    }
    const { entry, reply } = steps.take(this.#id, event, rules.policy, now, {
      verification: verification === null ? null : JSON.stringify(verification),
      label: record,
      ...(record.olderIds === undefined ? null : { aliases: record.olderIds }),
    });
    if (reply.type === "replay" || reply.type === "in-flight") span.attempt = reply.record.attempt.number;
    if (isIncomparable(reply, { head, entry })) {
      const message =
        'a sealed record does not open, because the request\'s route is not sealed: write sealed = "past"';
      console.warn({ message, recordId: this.#id });
    }
    return decide(reply, {
      head,
      now,
      isBodyHere: body.isHere,
      giveUpAt: this.#giveUpAt,
      hasAsked: this.#hasAsked,
      entry,
      inFlight: this.#inFlight,
    });
  }

  get #signal(): AbortSignal | null {
    return this.#incoming.caller?.signal ?? null;
  }

  get #inFlight(): AttemptInFlight | undefined {
    return this.#shared.attempts.get(this.#id);
  }

  #wait(ms: number, how: Pick<Wait, "untilBegun" | "isCounted">): Wait {
    return { head: this.#incoming.head, ms, caller: this.#signal, ...how };
  }

  /** Whether to continue after a wait. Nothing is started for a client that has disconnected. */
  #mayContinue({ kind }: Woken): boolean {
    return kind === "recheck" && this.#signal?.aborted !== true;
  }

  /** Never rejects: the origin may have been called, and a rejection would look as if the shard had done nothing. */
  async #start(record: Started): Promise<ExchangeAnswer> {
    try {
      const inFlight = this.#begin(record);
      // If the client disconnects, the attempt continues, and its result is kept (G5).
      this.#shared.waitUntil(this.#runToEnd(inFlight, record));
      return await inFlight.attempt.answer;
    } catch (error) {
      console.error({ message: "exchange failed", reason: String(error) });
      return problemAnswer(this.#incoming.head, { code: "store-unavailable" });
    }
  }

  /** Adds the attempt to those in flight, in the same turn in which the record was claimed for it. */
  #begin(record: Started): AttemptInFlight {
    const { head, body, span } = this.#incoming;
    const { ledger, sync, timers, offsets, steps, attempts, reporter } = this.#shared;
    const recordId = this.#id;
    span.attempt = record.attempt.number;
    span.attemptId = record.attempt.id;
    bookkeep("counting an attempt", () => reporter.traffic.attempt(head.record.route, record.attempt.number));
    const attempt = new Attempt(head, record, {
      reopen: (manner) => this.#reopen(record, manner),
      bodies: ledger.bodies,
      body: ledger.claimedBody(recordId),
      remote: ledger.remote,
      sync,
      timers,
      offsets,
      step: (event, attachments) =>
        steps.take(recordId, event, record.policy, epochMs(Date.now()), { ...attachments, label: head.record }),
      begun: () => inFlight.waiters.wakeFollowers(),
      settled: (answerFor) => attempts.settled(recordId, inFlight, answerFor),
    });
    const inFlight = attempts.add(recordId, attempt, body);
    return inFlight;
  }

  /** The body that the attempt has just stored; `null` when its record does not keep one. */
  async #reopen({ attempt }: Started, { patience, cipher }: SpoolManner): Promise<Body | null> {
    const { ledger } = this.#shared;
    const entry = ledger.find(this.#id);
    if (entry === null || entry.response === null || entry.record.attempt.id !== attempt.id) return null;
    return storedBytes(entry.response.body, { stores: ledger, cipher }, START, patience);
  }

  async #runToEnd(inFlight: AttemptInFlight, record: Started): Promise<void> {
    const { head, body, span } = this.#incoming;
    const { attempts, target } = this.#shared;
    const stop = this.#renewLock(inFlight.attempt, record);
    try {
      await inFlight.attempt.run(() => {
        const request = originRequest(head, body, record.attempt);
        return timed(span, callOrigin(request, target(request.origin), this.#shared));
      });
    } finally {
      attempts.remove(this.#id, inFlight);
      bookkeep("ending a heartbeat", stop);
      bookkeep("releasing a body", () => body.release());
    }
  }

  /** Renews the attempt's lock well before it ends. If a renewal fails, the next step of the record renews the lock. */
  #renewLock(attempt: Attempt, { policy }: Started): () => void {
    const id = this.#id;
    const { heartbeat, steps } = this.#shared;
    const renewal = { type: "renew", attemptId: attempt.id } as const;
    let stop: (() => void) | null = null;
    bookkeep("beginning a heartbeat", () => {
      stop = heartbeat.begin(policy.lockMs / 2, () => {
        // A body that is still being passed on after the attempt's end keeps the object in memory, but renews no lock.
        if (!attempt.hasEnded) steps.take(id, renewal, policy, epochMs(Date.now()));
      });
    });
    return () => stop?.();
  }
}
