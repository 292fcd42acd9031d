// One exchange, from request to answer: load, step, save, act. kernel/record/life-cycle.ts decides each step, decide.ts chooses the
// action, and this file performs it. A claim is decided and written in one turn. The runtime delays the call to the origin, like every
// answer, until all earlier writes are durable (output gate; guarantees G3 and G4).

import type { LifeCycleEvent } from "../record/events.ts";
import type { ClientProblem } from "../record/problem.ts";
import type { Started } from "../record/record.ts";
import { type AttemptId, attemptId, type EpochMs, epochMs, type RecordId } from "../record/units.ts";
import type { FeatureActions, PerformedExchange } from "../object-feature.ts";
import type { BeginsElsewhere } from "../elsewhere.ts";
import { type ExchangeHead, logNames, type ReplayHead, storedHead } from "../request/message.ts";
import type { KeyCount } from "../request/scope.ts";
import { verificationInForm, verificationText } from "../request/origin-key.ts";
import { logFailure } from "../traffic/bookkeep.ts";
import { timeWait } from "../traffic/exchange-reporter.ts";
import { replayAnswer, replayAtOnce } from "./answers.ts";
import { type ExchangeAnswer, problemAnswer } from "./exchange-answer.ts";
import { runAttempt } from "./attempt-run.ts";
import {
  type ExchangeAction,
  beforeStart,
  decideAction,
  type DuplicateInFlight,
  isIncomparable,
  notKept,
  refuseAction,
  waitFor,
} from "./decide.ts";
import type { IncomingRequest, SharedParts } from "./exchange-ports.ts";
import type { RecordAttachments } from "../store/attachments.ts";
import type { StoredRequest } from "../store/stored-request.ts";
import type { ExchangeWait, WokenWaiter } from "./waiters.ts";

export class Exchange {
  readonly #incoming: IncomingRequest;
  readonly #shared: SharedParts;
  /** When the client stops waiting, by a clock that nobody sets. */
  readonly #giveUpAt: number;
  /** For the attempt that this exchange may start. */
  #attemptId: AttemptId;
  #hasVerified = false;
  #hasWaited = false;
  /** Whether the caller may begin a new key; `null`: not asked yet. */
  #mayBegin: boolean | null = null;
  /** The name of the record that the request means: while the scope changes, it may be one of several. */
  #id: RecordId;

  constructor(incoming: IncomingRequest, shared: SharedParts) {
    const { rules, request } = incoming.head;
    this.#incoming = incoming;
    this.#shared = shared;
    this.#giveUpAt = performance.now() + (rules.duplicate === "reject" ? 0 : rules.waitMs);
    this.#attemptId = request.attemptId;
    this.#id = incoming.head.record.id;
  }

  /** The answer, at once if it is a replay for which nothing has to be waited for. Throws when the store fails. */
  answer(): ExchangeAnswer | Promise<ExchangeAnswer | BeginsElsewhere> {
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
      if (isOver) logFailure("releasing a body", () => body.release());
    }
  }

  /**
   * Acts until an action gives the answer, and decides again after each that gives none. There is no `await` between a decision and its action: a
   * claim and the start of its attempt are one turn, so that no other request ever finds a claim without its attempt.
   */
  async #perform(first: ExchangeAction): Promise<ExchangeAnswer | BeginsElsewhere> {
    let action = first;
    try {
      for (;;) {
        const given = await this.#act(action);
        if (given !== null) return given;
        action = this.#decide();
      }
    } finally {
      // An attempt releases the body itself, at its end.
      if (action.kind !== "start") logFailure("releasing a body", () => this.#incoming.body.release());
    }
  }

  /** `null`: what was needed, or waited for, is there, and the exchange decides again. */
  async #act(action: ExchangeAction): Promise<ExchangeAnswer | BeginsElsewhere | null> {
    switch (action.kind) {
      case "take-body":
        return (await this.#incoming.body.take()) ? null : this.#refuse({ code: "store-unavailable" });
      case "count-key":
        return this.#countKey(action.count);
      case "start":
        return this.#start(action.record);
      case "follow":
        return this.#performer("follow")(this.#performed);
      case "park":
        return this.#performer("park")(this.#performed, action.refusal);
      case "replay":
        return (
          (await replayAnswer(action, this.#replayHead, this.#signal, this.#shared)) ??
          this.#refuse(notKept(action.record).problem)
        );
      case "attach":
        return this.#attach(action.duplicate);
      case "wait":
        return this.#wait(action);
      case "verify":
        return this.#verify(action);
      case "elsewhere":
        return action.elsewhere;
      case "refuse":
        return this.#refuse(action.problem);
    }
  }

  /** Load, step, save: reads the record, takes the step, writes it, and decides the next action, in one turn without an `await`. */
  #decide(): ExchangeAction {
    const { head, body, span } = this.#incoming;
    const { steps, attempts } = this.#shared;
    const { policy } = head.rules;
    const now = epochMs(Date.now());
    const id = steps.nameOf(head, now);
    // An answer, not a failure: the request must not go on without protection.
    if (id === null) return refuseAction({ code: "store-unavailable" });
    this.#id = id;
    const elsewhere = this.#shared.elsewhere(head, now);
    if (elsewhere !== null) return { kind: "elsewhere", elsewhere };
    const event = this.#event();
    const before = this.#beforeClaim(id, event, now);
    if (before !== null) return before;
    const stored = event.accept === undefined || !body.isHere ? null : () => this.#stored();
    const { entry, reply } = steps.take(id, event, policy, now, attachmentsOf(head, stored));
    if (reply.type === "replay" || reply.type === "in-flight") span.attempt = reply.record.attempt.number;
    if (isIncomparable(reply, { head, entry })) warnOfEncrypted(head);
    const leftMs = this.#giveUpAt - performance.now();
    const { isHere: isBodyHere } = body;
    return decideAction(reply, {
      head,
      now,
      isBodyHere,
      leftMs,
      hasVerified: this.#hasVerified,
      entry,
      inFlight: attempts.get(id),
    });
  }

  /** The request as the life cycle gets it. */
  #event(): RequestEvent {
    const { request, async } = this.#incoming.head;
    const { fingerprint, otherFingerprint } = request;
    // How a new request of this kind begins; `undefined`: its client waits.
    const accept = async?.accepts === true ? this.#performer("accept")() : undefined;
    return { type: "request", fingerprint, otherFingerprint, attemptId: this.#attemptId, accept };
  }

  /** What a claim needs first, and needs time: the body, because it may break off, and leave to begin a new key. `null`: nothing. */
  #beforeClaim(id: RecordId, event: RequestEvent, now: EpochMs): ExchangeAction | null {
    const { head, body } = this.#incoming;
    const count = this.#mayBegin === true ? undefined : head.newKeys;
    if (body.isHere && count === undefined) return null;
    const next = this.#shared.steps.wouldStart(id, event, head.rules.policy, now);
    return next === null ? null : beforeStart(next, body.isHere, count, this.#mayBegin);
  }

  /** Meanwhile another request may claim the key, so what follows is decided again, whatever the answer is. */
  async #countKey(count: KeyCount): Promise<null> {
    this.#mayBegin = await timeWait(this.#incoming.span, this.#shared.newKeys.mayBegin(this.#id, count));
    return null;
  }

  /** Follows the answer of the attempt in flight, or waits for it. */
  async #attach(duplicate: DuplicateInFlight): Promise<ExchangeAnswer | BeginsElsewhere | null> {
    // If its own attempt fails, the next one needs a new id.
    if (duplicate.isOwn) this.#attemptId = attemptId(crypto.randomUUID());
    const given = await duplicate.inFlight.attempt.attach(this.#incoming.head, this.#signal);
    if (given !== null) return given;
    // The attempt may have ended during the search for the client's last event.
    if (this.#shared.attempts.get(this.#id) !== duplicate.inFlight) return null;
    const waitMs = duplicate.isOwn ? duplicate.waitMs : this.#giveUpAt - performance.now();
    return this.#act(waitFor({ ...duplicate, waitMs }));
  }

  async #wait({ duplicate, untilBegun, refusal }: ActionOf<"wait">): Promise<ExchangeAnswer | null> {
    const { inFlight, isOwn, hasSameBody, waitMs } = duplicate;
    const { span, body } = this.#incoming;
    this.#hasWaited = true;
    if (hasSameBody) body.share(inFlight.body);
    const wait = this.#place(waitMs, { untilBegun, isCounted: !isOwn });
    const woken = await timeWait(span, this.#shared.room.wait(inFlight.waiters, wait));
    if (woken.kind === "answered") return woken.answer;
    return this.#mayContinue(woken) ? null : this.#refuse(refusal);
  }

  async #verify({ policy, refusal }: ActionOf<"verify">): Promise<ExchangeAnswer | null> {
    const { head, span } = this.#incoming;
    const { ledger, verifications, room } = this.#shared;
    this.#hasVerified = true;
    const ask = (): Promise<void> =>
      verifications.verify(this.#id, policy, verificationInForm(head, ledger.find(this.#id)?.keyForm ?? null));
    // A verification has its own time limit.
    const wait = this.#place(Number.POSITIVE_INFINITY, { untilBegun: false, isCounted: true });
    const woken = await timeWait(span, room.until(ask, wait));
    return this.#mayContinue(woken) ? null : this.#refuse(refusal);
  }

  #refuse(problem: ClientProblem): ExchangeAnswer {
    return problemAnswer(this.#incoming.head, problem);
  }

  /** The Worker does not cache what its request has waited for: that is asked for twice, but nobody has lost an answer. */
  get #replayHead(): ReplayHead {
    const { head } = this.#incoming;
    return this.#hasWaited ? { ...head, request: { ...head.request, isCached: false } } : head;
  }

  get #signal(): AbortSignal | null {
    return this.#incoming.caller?.signal ?? null;
  }

  #place(ms: number, how: Pick<ExchangeWait, "untilBegun" | "isCounted">): ExchangeWait {
    const { lane = 0 } = this.#incoming.head.record;
    return { recordId: this.#id, lane, head: this.#incoming.head, ms, caller: this.#signal, ...how };
  }

  /** Whether to continue after a wait. Nothing is started for a client that has disconnected. */
  #mayContinue({ kind }: WokenWaiter): boolean {
    return kind === "recheck" && this.#signal?.aborted !== true;
  }

  /** Never rejects: the origin may have been called, and a rejection would look as if the shard had done nothing. */
  async #start(record: Started): Promise<ExchangeAnswer> {
    try {
      if (record.accepted !== undefined) return await this.#performer("startAccepted")(this.#performed, record);
      return await runAttempt(this.#id, record, this.#incoming, this.#shared).attempt.answer;
    } catch (error) {
      console.error({ message: "exchange failed", ...logNames(this.#incoming.head), reason: String(error) });
      return this.#refuse({ code: "store-unavailable" });
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

type ActionOf<Kind extends ExchangeAction["kind"]> = Extract<ExchangeAction, { readonly kind: Kind }>;

type RequestEvent = Extract<LifeCycleEvent, { readonly type: "request" }>;

/** What is saved with a claim. `stored`: the request, if it may be accepted. */
function attachmentsOf(head: ExchangeHead, stored: (() => StoredRequest) | null): RecordAttachments {
  const { record, call, excerpt } = head;
  return {
    verification: (keyForm) => verificationText(head, keyForm),
    keyForm: call.key?.form ?? null,
    label: record,
    ...(excerpt === undefined ? null : { excerpt }),
    ...(record.olderIds === undefined ? null : { aliases: record.olderIds }),
    ...(stored === null ? null : { request: stored }),
    ...(head.previous === undefined ? null : { placed: head }),
  };
}

function warnOfEncrypted(head: ExchangeHead): void {
  const message =
    'an encrypted record does not open, because the request\'s route is not encrypted: write encrypt_responses = "past"';
  console.warn({ message, ...logNames(head) });
}
