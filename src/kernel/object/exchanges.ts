// The exchanges of one shard: what they share, and what the alarm does for them.

import { type Due, nextDue } from "../due.ts";
import type { ClientProblem } from "../record/problem.ts";
import { epochMs, type EpochMs, timeAfter, type RecordId, keyHashOf, instanceOf } from "../record/units.ts";
import { KEY_SOURCE_HEADER } from "../request/headers.ts";
import { type ExchangeHead, logNames } from "../request/message.ts";
import { keySourceText } from "../request/problem-response.ts";
import { type BeginsElsewhere, elsewhereResponse, type PlacedRecord } from "../elsewhere.ts";
import type { ExchangeSpan } from "../traffic/exchange-reporter.ts";
import type {
  FeatureActions,
  ObjectFeature,
  ObjectFeatures,
  ObjectFunctions,
  ObjectKernel,
} from "../object-feature.ts";
import type { StepHook } from "../step-hook.ts";
import { AttemptsInFlight } from "./attempts-in-flight.ts";
import { EventOffsets } from "../resume/event-offsets.ts";
import type { RequestBody } from "../body/request-body.ts";
import { countedSteps } from "./shard-traffic.ts";
import { Exchange } from "./exchange.ts";
import { type ExchangeAnswer, problemAnswer } from "./exchange-answer.ts";
import type { RequestSignal, ExchangePorts, IncomingRequest, SharedParts } from "./exchange-ports.ts";
import { NewKeyLimiter } from "../new-keys/new-keys.ts";
import { logFailure } from "../traffic/bookkeep.ts";
import { storeDues } from "./store-dues.ts";
import { PAUSE_MS } from "./next-turn.ts";
import { VerificationQueue } from "../verify/verifications.ts";
import { RecordSteps } from "./record-steps.ts";
import { ERASE_ROWS } from "../store/bodies.ts";
import { LAST_LOOKED_AT } from "../store/due-records.ts";
import { pauseAfterFailure, UnreadableError } from "../store/unreadable.ts";
import { type VerificationPorts, verifyAttempt } from "../verify/verification.ts";
import { WaitingRoom } from "./waiters.ts";

/** Expired locks that the alarm handles in one turn: few enough that no request waits long behind it. */
export const LOCKS_AT_ONCE = 100;

export class ExchangeRunner {
  /** The attempts that this instance is running. */
  readonly attempts = new AttemptsInFlight();
  readonly steps: RecordSteps;
  /** What features do in exchanges. */
  readonly actions: FeatureActions;
  /** In the order of their work. */
  readonly features: readonly ObjectFeature[] = [];
  /** What takes part in each step of a record, in this order. */
  readonly hooks: readonly StepHook[];
  /** All that the alarm does, in this order. */
  readonly dues: readonly Due[];
  readonly #shared: SharedParts;

  constructor(ports: ExchangePorts, features: ObjectFeatures, { judgeBody, watchMessages }: ObjectFunctions = {}) {
    const { attempts } = this;
    const isVerifying = (id: RecordId): boolean => verifications.isVerifying(id);
    // Features take steps too: the list is whole before the first step is taken.
    this.steps = new RecordSteps({ ...ports, attempts, hooks: () => this.hooks, isVerifying });
    const verification = {
      ...ports,
      step: (...[id, event, policy, attachments]: Parameters<VerificationPorts["step"]>) =>
        this.steps.take(id, event, policy, epochMs(Date.now()), attachments),
      noteFinding: (...[id, attempt, finding]: Parameters<VerificationPorts["noteFinding"]>) =>
        logFailure("noting a finding", () => this.steps.noteFinding(id, attempt, finding)),
      countFinding: (...[id, finding]: Parameters<VerificationPorts["countFinding"]>) =>
        logFailure("counting a finding", () => {
          const { route } = ports.ledger.label(id, ports.ledger.find(id));
          ports.reporter.traffic.finding(route, finding);
        }),
    };
    const verifications = new VerificationQueue({
      ...ports,
      begin: (id, policy, own) => verifyAttempt(id, policy, own, verification),
    });
    const room = new WaitingRoom(ports.timers);
    const { steps } = this;
    const newKeys = new NewKeyLimiter(ports.limiter, ports.timers);
    const kernel = {
      ...ports,
      attempts,
      steps,
      elsewhere: (placed: PlacedRecord, now: EpochMs) => this.elsewhere(placed, now),
      verifications,
      newKeys,
      room,
      offsets: new EventOffsets(),
      judgeBody: judgeBody ?? null,
      watchMessages: watchMessages ?? null,
    };
    const forFeatures: ObjectKernel = {
      ...kernel,
      deliver: (...message) => this.deliver(...message),
      restoreAlarm: () => this.#restoreAlarm(),
      features: () => this.features,
    };
    this.features = features.map((make) => make(forFeatures));
    this.actions = Object.assign({}, ...this.features.map((one) => one.actions));
    this.#shared = { ...kernel, actions: this.actions };
    this.hooks = [...this.features.flatMap(({ hooks = [] }) => hooks), countedSteps(ports.reporter.traffic)];
    this.dues = [
      // First of all: what it brings back is due in the same turn.
      { name: "clock", nextAt: () => null, run: (now) => void this.#bringBack(now) },
      ...storeDues(ports.ledger, {
        erase: (now) => steps.eraseExpired(now, ERASE_ROWS),
        endLocks: (now) => this.#endLocks(now),
        waitUntil: ports.waitUntil,
      }),
      { name: "verifications", nextAt: (now) => verifications.nextAt(now), run: (now) => verifications.beginDue(now) },
      ...this.features.flatMap((feature) => feature.dues ?? []),
    ];
  }

  /** Answers one request. */
  async run(head: ExchangeHead, body: RequestBody, caller: RequestSignal | null): Promise<Response> {
    const span = this.#begin(head);
    const given = this.#answer({ head, body, caller, span });
    const answer = given instanceof Promise ? await given : given;
    // Not the end of the exchange, which another object reports.
    if ("kind" in answer) return elsewhereResponse(answer);
    this.#shared.reporter.hopped(head.hops);
    const response = this.#finish(span, answer);
    const { contentKey } = head.rules;
    if (contentKey !== undefined) response.headers.set(KEY_SOURCE_HEADER, keySourceText(contentKey));
    leaveIfGone(answer, caller);
    this.#restoreAlarm();
    return response;
  }

  /** Runs an exchange whose answer goes to no client; `null`: another object has to be asked. */
  async deliver(head: ExchangeHead, body: RequestBody, caller: RequestSignal): Promise<ExchangeAnswer | null> {
    const span = this.#begin(head);
    const answer = await this.#answer({ head, body, caller, span });
    if ("kind" in answer) return null;
    this.#shared.reporter.end(span, answer.status, answer.outcome);
    leaveIfGone(answer, caller);
    this.#restoreAlarm();
    return answer;
  }

  /** A record that cannot be read refuses its requests at once: its Worker would only ask again. Any other failure rejects. */
  #answer(incoming: IncomingRequest): ExchangeAnswer | Promise<ExchangeAnswer | BeginsElsewhere> {
    const refused = (error: unknown): ExchangeAnswer => {
      if (!(error instanceof UnreadableError)) throw error;
      console.error({ message: error.message, ...logNames(incoming.head) });
      return problemAnswer(incoming.head, { code: "store-unavailable" });
    };
    try {
      const given = new Exchange(incoming, this.#shared).answer();
      return given instanceof Promise ? given.catch(refused) : given;
    } catch (error) {
      return refused(error);
    }
  }

  /** Where a key begins that has no record here; `null`: it has one, or begins here. */
  elsewhere(placed: PlacedRecord, now: EpochMs): BeginsElsewhere | null {
    const answer = this.actions.elsewhere?.(placed) ?? null;
    if (answer === null) return null;
    const { id, olderIds = [] } = placed.record;
    return this.steps.holdsAny([id, ...olderIds], now) ? null : answer();
  }

  /** Waits for the end of a verification of the record that is under way. Whether there was one. */
  verificationEnd(id: RecordId): Promise<boolean> {
    return this.#shared.verifications.endOf(id);
  }

  /** Answers a request that cannot be run. */
  refuse(head: ExchangeHead, problem: ClientProblem): Response {
    return this.#finish(this.#begin(head), problemAnswer(head, problem));
  }

  /** Otherwise replays alone would leave what is due undone in an object whose alarm was dropped. */
  #restoreAlarm(): void {
    const { alarm, waitUntil } = this.#shared;
    if (!alarm.isUncertain) return;
    const look = (): void =>
      logFailure("looking for what a clock has put off", () => {
        if (!this.#bringBack(epochMs(Date.now()))) return;
        // So may the alarm itself; one that comes sets the next by itself.
        const next = this.nextDeadline();
        if (next !== null) alarm.moveTo(next);
      });
    waitUntil(alarm.restore().then(look));
  }

  /**
   * What is further away than the longest that its settings allow was put there by a clock that was ahead, and is due now. Otherwise a
   * clock that was ahead for a second would stop it for as long as it was ahead. Looked for by each new instance, and after the clock has
   * gone back. Whether it has looked.
   */
  #bringBack(now: EpochMs): boolean {
    const { alarm, ledger } = this.#shared;
    if (!alarm.isClockUncertain(now)) return false;
    ledger.lockEnds.readAgain();
    this.#shared.verifications.endPauses();
    const verifications = ledger.verifications.routes().flatMap((route) => ledger.verifications.tooFar(route, now));
    let broughtBack = 0;
    for (const id of [...ledger.due.tooFar(now), ...verifications]) {
      try {
        this.steps.applyTime(id, now);
        broughtBack += 1;
      } catch (error) {
        console.error({ message: "a record could not be brought back", keyHash: keyHashOf(id), reason: String(error) });
      }
    }
    for (const { bringBack } of this.features) broughtBack += bringBack?.(now) ?? 0;
    if (broughtBack > 0) {
      console.warn({ message: "a clock was ahead: what it had put off is due now", broughtBack });
      alarm.moveTo(now);
    }
    if (broughtBack < LAST_LOOKED_AT) alarm.trustClock(now);
    return true;
  }

  #begin({ record, request, rules, telemetry }: ExchangeHead): ExchangeSpan {
    const instance = instanceOf(request.attemptId);
    const isFromContent = rules.contentKey !== undefined;
    const { route, id: recordId } = record;
    return this.#shared.reporter.begin({ route, recordId, instance, telemetry, isFromContent });
  }

  #finish(span: ExchangeSpan, { response, outcome }: ExchangeAnswer): Response {
    return this.#shared.reporter.finish(span, response, outcome);
  }

  /**
   * Renews some of the expired locks whose attempts still run here, and ends those of lost ones. A record that fails gets another turn
   * later, and keeps no other from its own.
   */
  #endLocks(now: EpochMs): void {
    const { lockEnds } = this.#shared.ledger;
    const reasons = new Set<string>();
    for (const id of lockEnds.ended(now, LOCKS_AT_ONCE)) {
      try {
        this.steps.applyTime(id, now);
      } catch (error) {
        lockEnds.putOff(id, timeAfter(now, pauseAfterFailure(error, PAUSE_MS)));
        reasons.add(String(error));
      }
    }
    if (reasons.size > 0) console.error({ message: "records could not be settled", reasons: [...reasons] });
  }

  /**
   * How long the most overdue work of the alarm has been due. Read from rows: an instance that has just been loaded knows it too, and
   * an alarm that never comes shows.
   */
  overdueMs(): number {
    const now = Date.now();
    return Math.max(0, now - (this.nextDeadline() ?? now));
  }

  /** When the alarm has to come next; `null` when nothing has a deadline. */
  nextDeadline(): EpochMs | null {
    return nextDue(this.dues, epochMs(Date.now()));
  }
}

/** When the client has disconnected, the runtime drops the response without cancelling its body, so it is cancelled here. */
function leaveIfGone(answer: ExchangeAnswer, caller: RequestSignal | null): void {
  if (answer.isStreamed && caller?.signal.aborted === true) void answer.response.body?.cancel().catch(() => undefined);
}
