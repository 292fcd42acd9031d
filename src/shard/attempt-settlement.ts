// How an attempt ends: the word that it leaves in its record, and what its own client hears. The word comes first (G4), and
// what would contradict the record is never told.

import type { LifeCycleEvent, Step } from "../core/events.ts";
import { type Outcome, outcomeOf } from "../core/outcome.ts";
import type { ClientProblem } from "../core/problem.ts";
import type { Started } from "../core/record.ts";
import { type AttemptEnd, judge, type EndReason } from "../core/verdict.ts";
import type { ExchangeHead } from "../http/message.ts";
import { problemResponse } from "../http/problem-response.ts";
import type { Attachments } from "./store/ledger.ts";
import type { StoredResponse } from "./store/response-rows.ts";
import type { AnswerFor } from "./waiters.ts";

/** One step of the attempt's record, written in this turn. */
export type StepRecord = (event: LifeCycleEvent, attachments: Attachments) => Step;

/** An answer, and what it is. */
export interface ExchangeAnswer {
  readonly response: Response;
  readonly outcome: Outcome;
}

export function refuse({ request }: ExchangeHead, problem: ClientProblem): ExchangeAnswer {
  return { response: problemResponse(problem, request.echo), outcome: outcomeOf(problem.code) };
}

/** A client that is told to come again while an attempt lives may do so after this time; most calls are over by then. */
export const POLL_MS = 1000;

const UNREACHABLE = { code: "origin-unreachable" } as const;

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

  /** What the client hears; whatever is told first. */
  get answer(): Promise<ExchangeAnswer> {
    return this.#answer.promise;
  }

  tell(told: ExchangeAnswer): void {
    this.#answer.resolve(told);
  }

  refuse(problem: ClientProblem): void {
    this.#answer.resolve(refuse(this.#head, problem));
  }

  /** The store failed: nothing is told that a later retry could contradict. */
  fail(error: unknown): void {
    this.#answer.reject(error);
  }

  /** No answer came, or its body broke off. Gives what those who wait may be told too; `null` when they look for themselves. */
  unanswered(end: Exclude<AttemptEnd, { kind: "answered" }>): AnswerFor | null {
    const verdict = judge(end, this.#head.rules.lists);
    const settled = this.passed(verdict === "refused" ? "refused" : "ambiguous", end);
    if (settled === null) return null;
    const { unknown } = this.#record.policy;
    const retryAfterMs = settled.record?.state === "failed" ? settled.record.retryFrom - Date.now() : 0;
    switch (end.kind) {
      case "unreachable":
        this.refuse(UNREACHABLE);
        return (head) => refuse(head, UNREACHABLE);
      case "dropped":
        this.refuse({ code: "origin-dropped", unknown, retryAfterMs });
        return null;
      case "timed-out":
        this.refuse({ code: "origin-timeout", unknown, retryAfterMs });
        return null;
    }
  }

  /** An answer that is no result. */
  passed(type: "refused" | "ambiguous", reason: EndReason): Step | null {
    return this.#settle({ type, attemptId: this.#record.attempt.id, reason });
  }

  /** A result, with the response that the record keeps; `null` when it keeps none. */
  result(status: number, stored: StoredResponse | null): Step | null {
    const { id } = this.#record.attempt;
    const event = { type: "result", attemptId: id, status, kept: stored !== null, verified: false } as const;
    return this.#settle(event, stored);
  }

  /** A result whose response cannot be given or stored. It was there, so there is never a second effect. */
  unkept(status: number): void {
    if (this.result(status, null) !== null) this.refuse({ code: "response-not-kept", originalStatus: status });
  }

  /** `null` when the record is no longer the attempt's own; then nobody is told its answer. */
  #settle(event: LifeCycleEvent, response: StoredResponse | null = null): Step | null {
    const settled = this.#step(event, { response });
    if (settled.reply.type !== "superseded") return settled;
    this.refuse({ code: "in-flight", retryAfterMs: POLL_MS });
    return null;
  }
}
