// One exchange, from request to answer: load, step, save, act. kernel/record/life-cycle.ts decides each step, decide.ts chooses the
// action, and this file performs it. A claim is decided and written in one turn. The runtime delays the call to the origin, like every
// answer, until all earlier writes are durable (output gate; guarantees G3 and G4).

import type { Started } from "../record/record.ts";
import { type AttemptId, attemptId, epochMs, type RecordId } from "../record/units.ts";
import type { FeatureActions, PerformedExchange } from "../object-feature.ts";
import type { Hop } from "../previous-shards/hops.ts";
import { storedHead } from "../request/message.ts";
import { questionInForm, questionText } from "../request/origin-key.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import { waited } from "../traffic/exchange-reporter.ts";
import { replay, replayAtOnce } from "./answers.ts";
import { type ExchangeAnswer, problemAnswer } from "./exchange-answer.ts";
import { runAttempt } from "./attempt-run.ts";
import type { AttemptInFlight } from "./attempts-in-flight.ts";
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
import { AT_HOME, type Homing, type Words, wordsIn } from "../previous-shards/elders.ts";
import type { Incoming, Shared } from "./exchange-ports.ts";
import type { StoredRequest } from "../store/stored-request.ts";
import type { Wait, Woken } from "./waiters.ts";

export class Exchange {
  readonly #incoming: Incoming;
  readonly #shared: Shared;
  /** When the client stops waiting, by a clock that nobody sets. */
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
  /** Where the key's new record would have begun when it was last decided. */
  #homing: Homing = AT_HOME;

  constructor(incoming: Incoming, shared: Shared) {
    const { rules, request } = incoming.head;
    this.#incoming = incoming;
    this.#shared = shared;
    this.#giveUpAt = performance.now() + (rules.duplicate === "reject" ? 0 : rules.waitMs);
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
          case "follow":
            return await this.#performer("follow")(this.#performed);
          case "park":
            return this.#performer("park")(this.#performed, action.refusal);
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
            const waitMs = duplicate.isOwn ? duplicate.waitMs : this.#giveUpAt - performance.now();
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
            const ask = (): Promise<void> =>
              this.#shared.questions.run(
                this.#id,
                policy,
                questionInForm(head, this.#shared.ledger.find(this.#id)?.keyForm ?? null),
              );
            // A question has its own time limit.
            const wait = this.#wait(Number.POSITIVE_INFINITY, { untilBegun: false, isCounted: true });
            const woken: Woken = await waited(this.#incoming.span, this.#shared.room.until(ask, wait));
            action = this.#mayContinue(woken) ? this.#decide() : refuse(action.refusal);
            break;
          }
          case "leave": {
            const left = this.#shared.elders.leave(head, this.#words, this.#homing);
            const hop: Hop | null = await waited(this.#incoming.span, left);
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
    const { record, request, rules, newKeys, excerpt } = head;
    const { steps } = this.#shared;
    const now = epochMs(Date.now());
    this.#homing = this.#shared.elders.homing(head, this.#words);
    const { home } = this.#homing;
    const { fingerprint, otherFingerprint } = request;
    const accept = this.#acceptance();
    const event = { type: "request", fingerprint, otherFingerprint, attemptId: this.#attemptId, home, accept } as const;
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
      verification: (keyForm) => questionText(head, keyForm),
      keyForm: head.call.key?.form ?? null,
      label: record,
      ...(excerpt === undefined ? null : { excerpt }),
      ...(record.olderIds === undefined ? null : { aliases: record.olderIds }),
      ...(accept === undefined || !body.isHere ? null : { request: () => this.#stored() }),
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
      leftMs: this.#giveUpAt - performance.now(),
      hasAsked: this.#hasAsked,
      entry,
      inFlight: this.#inFlight,
    });
  }

  /** How a new request of this kind begins; `undefined`: its client waits. */
  #acceptance(): "begin" | "wait" | undefined {
    if (this.#incoming.head.async?.accepts !== true) return undefined;
    return this.#performer("accept")();
  }

  get #signal(): AbortSignal | null {
    return this.#incoming.caller?.signal ?? null;
  }

  get #inFlight(): AttemptInFlight | undefined {
    return this.#shared.attempts.get(this.#id);
  }

  #wait(ms: number, how: Pick<Wait, "untilBegun" | "isCounted">): Wait {
    const { lane = 0 } = this.#incoming.head.record;
    return { recordId: this.#id, lane, head: this.#incoming.head, ms, caller: this.#signal, ...how };
  }

  /** Whether to continue after a wait. Nothing is started for a client that has disconnected. */
  #mayContinue({ kind }: Woken): boolean {
    return kind === "recheck" && this.#signal?.aborted !== true;
  }

  /** Never rejects: the origin may have been called, and a rejection would look as if the shard had done nothing. */
  async #start(record: Started): Promise<ExchangeAnswer> {
    try {
      if (record.driven !== undefined) return await this.#performer("startAccepted")(this.#performed, record);
      return await runAttempt(this.#id, record, this.#incoming, this.#shared).attempt.answer;
    } catch (error) {
      console.error({ message: "exchange failed", reason: String(error) });
      return problemAnswer(this.#incoming.head, { code: "store-unavailable" });
    }
  }

  /** What the record of an accepted request, or of a message, keeps. */
  #stored(): StoredRequest {
    const { head, body } = this.#incoming;
    return { head: storedHead(head), body: body.stored() };
  }

  /** For the feature that performs an action. */
  get #performed(): PerformedExchange {
    return { ...this.#incoming, id: this.#id, stored: () => this.#stored() };
  }

  #performer<Name extends keyof FeatureActions>(name: Name): NonNullable<FeatureActions[Name]> {
    const performer = this.#shared.actions[name];
    if (performer === undefined) throw new TypeError(`no feature performs the action ${name}`);
    return performer;
  }
}
