// The one error of a request that got no answer of its operation's: says what is known, and carries what helps next.

import type { Outcome } from "./judge.ts";
import type { Problem } from "./problem.ts";
import type { Try } from "./send.ts";

/** `final`: sending it again cannot help. `tries`, `time`: it could, but a limit is reached. */
export type GiveUpReason = "final" | "tries" | "time";

export interface IdempotencyErrorFacts {
  readonly outcome: Outcome;
  readonly reason: GiveUpReason;
  readonly key: string;
  readonly tries: number;
  readonly last: Try;
}

/**
 * The operation's own answer could not be had. With `outcome` `"did-not-happen"` the operation may be started anew;
 * with `"unknown"` only the same request with the same `key` is safe; with `"happened"` read its result from the API.
 */
export class IdempotencyError extends Error {
  override readonly name = "IdempotencyError";
  readonly outcome: Outcome;
  readonly reason: GiveUpReason;
  /** Of the operation: send it again to go on later. */
  readonly key: string;
  /** How many requests were sent. */
  readonly tries: number;
  /** To the last try, unread; `null` where it was lost (`cause` says how). */
  readonly response: Response | null;
  /** What the gateway said in it; `null` where it was not the gateway's. */
  readonly problem: Problem | null;

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
  happened: "The operation took effect, but its answer is not to be had",
  "did-not-happen": "The operation did not take effect",
  unknown: "It is not known whether the operation took effect",
};

function describe({ outcome, key, tries, last }: IdempotencyErrorFacts): string {
  return `${OUTCOMES[outcome]} (key ${key}, ${tries} ${tries === 1 ? "try" : "tries"}). ${lastWords(last)}`;
}

function lastWords(last: Try): string {
  if (last.kind === "lost") return `The last try was lost: ${String(last.cause)}`;
  const { problem, status } = last.answer;
  return problem === null ? `The last answer was ${status}.` : `${problem.code}: ${problem.detail}`;
}
