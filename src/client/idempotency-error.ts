// The one error of a request whose operation's answer could not be had: it says what is known, and what helps next.

import type { Outcome } from "./judge.ts";
import type { ProblemDetails } from "./problem-details.ts";
import type { TryResponse } from "./send.ts";

/**
 * The base of all errors of `onceway/client`: `IdempotencyError` of a request, and those of `once`. Invalid options and arguments are a
 * RangeError or TypeError instead.
 */
export abstract class OncewayError extends Error {}

/** Why it gave up. `final`: a retry cannot help. `tries`, `time`: a retry might help, but the limit is reached. */
export type GiveUpReason = "final" | "tries" | "time";

export interface IdempotencyErrorFacts {
  readonly outcome: Outcome;
  readonly reason: GiveUpReason;
  readonly key: string;
  readonly tries: number;
  readonly last: TryResponse;
}

/**
 * The operation's own answer could not be had. What to do next depends on `outcome`:
 * - `"no-effect"`: every try was refused before it acted, so start again at any time;
 * - `"unknown"`: only the same request with the same `key` is safe;
 * - `"happened"`: read the result from the API.
 *
 * @example
 * ```ts
 * try {
 *   await send(url, init);
 * } catch (error) {
 *   if (!(error instanceof IdempotencyError)) throw error;
 *   await retryLater({ outcome: error.outcome, key: error.key, code: error.problem?.code });
 * }
 * ```
 */
export class IdempotencyError extends OncewayError {
  override readonly name = "IdempotencyError";
  /** What is known of the operation after all tries. */
  readonly outcome: Outcome;
  readonly reason: GiveUpReason;
  /** The operation's key: send the same request with it to continue later. */
  readonly key: string;
  /** How many requests were sent. */
  readonly tries: number;
  /** The answer to the last try, with its body unread; `null` if that try was lost (`cause` says how). */
  readonly response: Response | null;
  /** The gateway's problem in that answer; `null` if the answer was not the gateway's. */
  readonly problem: ProblemDetails | null;

  constructor(facts: IdempotencyErrorFacts) {
    const { last } = facts;
    super(describe(facts), last.kind === "lost" ? { cause: last.cause } : undefined);
    this.outcome = facts.outcome;
    this.reason = facts.reason;
    this.key = facts.key;
    this.tries = facts.tries;
    this.response = last.kind === "answer" ? last.response : null;
    this.problem = last.kind === "answer" ? last.answer.problem : null;
  }
}

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  happened: "The operation took effect, but its answer is not available",
  "no-effect": "The operation did not take effect",
  unknown: "Outcome unknown: the operation may have taken effect",
};

function describe({ outcome, key, tries, last }: IdempotencyErrorFacts): string {
  return `${OUTCOMES[outcome]} (key ${key}, ${tries} ${tries === 1 ? "try" : "tries"}). ${lastWords(last)}`;
}

function lastWords(last: TryResponse): string {
  if (last.kind === "lost") return `The last try was lost: ${String(last.cause)}`;
  const { problem, status } = last.answer;
  return problem === null ? `The last answer was ${status}.` : `${problem.code}: ${problem.detail}`;
}
