// What one answer means for the operation, and whether the same request is worth sending again. Pure: the loop in
// fetch.ts sends, waits and gives up. What cannot be told is in doubt; it never guesses that nothing happened.

import type { Problem } from "./problem.ts";

/** What is known of the operation: it took effect and was answered; it did not; or nobody can tell from here. */
export type Outcome = "happened" | "did-not-happen" | "unknown";

/** What of a whole answer counts. */
export interface Answer {
  readonly status: number;
  /** `null` where it is not the gateway's own. */
  readonly problem: Problem | null;
  /** `X-Should-Retry`; `null` where it says nothing. */
  readonly shouldRetry: boolean | null;
  /** The gateway repeats the key on whatever it protects. */
  readonly isProtected: boolean;
  /** The gateway keeps this answer (`Idempotency-Expires`): every retry would get the same. */
  readonly isKept: boolean;
  /** `Idempotency-Unprotected`: the gateway failed open, so that a retry may act a second time. */
  readonly isUnprotected: boolean;
}

/** The try brought no answer of the operation's own. */
export interface Unanswered {
  readonly kind: "unanswered";
  /** Whether the same request is worth sending again. */
  readonly again: boolean;
  /** What is known if it is not. */
  readonly outcome: Outcome;
}

export type Judgement =
  /** The operation's answer, good or bad: for the caller. */
  { readonly kind: "answered" } | Unanswered;

/** No answer, or not the whole of it: no connection, a connection that broke, no end within the time of a try. */
export const LOST: Unanswered = { kind: "unanswered", again: true, outcome: "unknown" };

/** Statuses that say that the origin did not act: the gateway's own default for `refused`. */
export const REFUSED: readonly number[] = [425, 429, 503, 521, 523, 525, 526, 530];

/** Statuses that are no result, so that the gateway lets the key be tried again: its defaults. */
const NO_RESULT: ReadonlySet<number> = new Set([...REFUSED, 408, 502, 504, 520, 522, 524]);

/** `refused`: the statuses after which the origin did not act, for certain. */
export function judge(answer: Answer, refused: readonly number[] = REFUSED): Judgement {
  const { status, problem, shouldRetry } = answer;
  if (problem !== null) {
    return { kind: "unanswered", again: shouldRetry ?? problem.retryable, outcome: outcomeOf(problem) };
  }
  if (answer.isKept || answer.isUnprotected) return { kind: "answered" };
  const isRefused = refused.includes(status);
  const again = shouldRetry ?? (isRefused || NO_RESULT.has(status));
  if (!again) return { kind: "answered" };
  return { kind: "unanswered", again, outcome: isRefused && answer.isProtected ? "did-not-happen" : "unknown" };
}

function outcomeOf(problem: Problem): Outcome {
  switch (problem.code) {
    case "key-missing":
    case "key-invalid":
    case "request-invalid":
    case "body-too-large":
    case "configuration-invalid":
    case "origin-unreachable":
      return "did-not-happen";
    case "response-not-kept":
      return "happened";
    // The key belongs to another request. Whether that was this operation, written otherwise, only the caller knows.
    case "key-reused":
    case "in-flight":
    case "outcome-unknown":
    case "origin-dropped":
    case "origin-timeout":
    // The answer may have been lost on its way into the store.
    case "store-unavailable":
      return "unknown";
    default:
      return "unknown";
  }
}

/** What is known after one more try: a doubt of an earlier one stays until an answer ends it. */
export function combine(earlier: Outcome, latest: Outcome): Outcome {
  return earlier === "unknown" && latest === "did-not-happen" ? "unknown" : latest;
}
