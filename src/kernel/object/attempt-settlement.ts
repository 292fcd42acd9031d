// How an attempt ends: the event that it writes to its record, and the answer that its own client gets. The write comes
// first (G4), and an answer that contradicts the record is never sent.

import type { LifeCycleEvent, PauseAdvice, LifeCycleStep } from "../record/events.ts";
import type { ClientProblem } from "../record/problem.ts";
import type { Started } from "../record/record.ts";
import { type EndReason, judgeUnanswered, type NoResult, type UnansweredEnd } from "../record/verdict.ts";
import { type HeaderPairs, retryAfterIn } from "../request/headers.ts";
import { type ExchangeHead, type LogNames, logNames } from "../request/message.ts";
import { type AnswerFor, POLL_MS } from "./answers.ts";
import { type ExchangeAnswer, problemAnswer } from "./exchange-answer.ts";
import type { OriginResponse } from "./origin-call.ts";
import type { RecordAttachments } from "../store/attachments.ts";
import type { KeptResponse } from "../store/response-rows.ts";
import { StoreError } from "../store/store-error.ts";

/** Takes one step of the attempt's record, written in this turn. */
export type StepRecord = (event: LifeCycleEvent, attachments: RecordAttachments) => LifeCycleStep;

/** What an event says of a response that is a result, besides what is kept. */
type Answered = Pick<OriginResponse, "status" | "events">;

export class AttemptSettlement {
  readonly #head: ExchangeHead;
  readonly #record: Started;
  readonly #step: StepRecord;
  readonly #answer = Promise.withResolvers<ExchangeAnswer>();

  constructor(head: ExchangeHead, record: Started, step: StepRecord) {
    this.#head = head;
    this.#record = record;
    this.#step = step;
  }

  get names(): LogNames {
    return logNames(this.#head);
  }

  /** Only a failure of the store means that the response could not be stored; any other error is a bug. */
  report(error: unknown): void {
    const message = error instanceof StoreError ? "response could not be stored" : "unexpected error in an attempt";
    console.error({ message, ...this.names, reason: String(error) });
  }

  /** The answer for the attempt's own client: the first one that is given. */
  get answer(): Promise<ExchangeAnswer> {
    return this.#answer.promise;
  }

  give(answer: ExchangeAnswer): void {
    this.#answer.resolve(answer);
  }

  refuse(problem: ClientProblem): void {
    this.#answer.resolve(problemAnswer(this.#head, problem));
  }

  /** The store failed. No answer is given, because a later retry could contradict it. */
  fail(error: unknown): void {
    this.#answer.reject(error);
  }

  /** No response came, or its body broke off. Returns the answer that all waiters share; `null` if each must re-check the record. */
  unanswered(end: UnansweredEnd): AnswerFor | null {
    const settled = this.passed(judgeUnanswered(end), end);
    if (settled === null) return null;
    const { policy, attempt } = this.#record;
    const { unknown } = policy;
    const retryAfterMs = settled.record?.state === "failed" ? settled.record.retryFrom - Date.now() : 0;
    switch (end.kind) {
      case "unreachable": {
        const unreachable = { code: "origin-unreachable", mayHaveActed: attempt.mayHaveActed } as const;
        this.refuse(unreachable);
        return (head) => problemAnswer(head, unreachable);
      }
      case "dropped":
        this.refuse({ code: "origin-dropped", unknown, retryAfterMs });
        return null;
      case "timed-out":
        this.refuse({ code: "origin-timeout", unknown, retryAfterMs });
        return null;
    }
  }

  /** The response is not a result. `headers` are its own. That of an accepted request is given to nobody. */
  passed(type: NoResult, reason: EndReason, headers: HeaderPairs = []): LifeCycleStep | null {
    const isAccepted = this.#record.accepted !== undefined;
    const pause = isAccepted ? adviceIn(headers) : undefined;
    const step = this.#settle({ type, attemptId: this.#record.attempt.id, reason, pause });
    if (isAccepted) this.refuse({ code: "in-flight", retryAfterMs: POLL_MS });
    return step;
  }

  /** The response is a result. `stored` is what the record keeps; `null` when it keeps none. */
  result({ status, events }: Answered, stored: KeptResponse | null): LifeCycleStep | null {
    const { id } = this.#record.attempt;
    // On an `encrypt_responses` route the record does not tell it, not even if the response is not kept.
    const shownStatus = this.#head.encryption?.isOn === true ? null : status;
    const event = {
      type: "result",
      attemptId: id,
      status: shownStatus,
      kept: stored !== null,
      verified: false,
    } as const;
    return this.#settle(event, { response: stored, originEvents: events });
  }

  /** The response is a result that cannot be sent or stored. The operation took effect, so it is never repeated. */
  unkept(response: Answered): void {
    const problem = { code: "response-not-kept", originalStatus: response.status } as const;
    if (this.result(response, null) !== null) this.refuse(problem);
  }

  /** `null` when the record no longer belongs to this attempt; then no client gets its answer. */
  #settle(event: LifeCycleEvent, attachments: RecordAttachments = { response: null }): LifeCycleStep | null {
    const settled = this.#step(event, attachments);
    if (settled.reply.type !== "superseded") return settled;
    this.refuse({ code: "in-flight", retryAfterMs: POLL_MS });
    return null;
  }
}

/** When the next attempt of an accepted request may begin, as far as the origin and chance decide that. */
function adviceIn(headers: HeaderPairs): PauseAdvice {
  const value = headers.find(([name]) => name.toLowerCase() === "retry-after")?.[1] ?? null;
  return { jitter: Math.random(), retryAfterMs: retryAfterIn(value, Date.now()) };
}
