// What one answer means for the operation, and whether to send the same request again. Pure: the loop in fetch.ts sends,
// waits and gives up. It never guesses that there was no effect: what it cannot know is `unknown`.

import type { ProblemDetails } from "./problem-details.ts";

/** What is known of the operation: it took effect, it did not, or the client cannot know. */
export type Outcome = "happened" | "no-effect" | "unknown";

/** The parts of an answer that decide. */
export interface JudgedAnswer {
  readonly status: number;
  /** `null` if the answer is not the gateway's own. */
  readonly problem: ProblemDetails | null;
  /** `X-Should-Retry`; `null` if it is absent or neither `true` nor `false`. */
  readonly shouldRetry: boolean | null;
  /** The answer repeats the key, so the gateway protects this route. */
  readonly isProtected: boolean;
  /** The gateway keeps this answer (`Idempotency-Expires`), so a retry would get the same one. */
  readonly isKept: boolean;
  /** `Idempotency-Status: unprotected`: the gateway failed open, so that a retry may act a second time. */
  readonly isUnprotected: boolean;
}

/** The try did not bring the operation's own answer. */
export interface UnansweredTry {
  readonly kind: "unanswered";
  /** Whether a retry may help. */
  readonly again: boolean;
  /** What is known if this try was the last. */
  readonly outcome: Outcome;
}

export type AnswerJudgement =
  /** The operation's answer, success or not: the caller gets it. */
  { readonly kind: "answered" } | UnansweredTry;

/** No complete answer: no connection, a broken one, or no end within the time of one try. */
export const LOST: UnansweredTry = { kind: "unanswered", again: true, outcome: "unknown" };

/** Statuses that say that the origin did not act: the gateway's default for `refused`. */
export const REFUSED_STATUSES: readonly number[] = [425, 429, 503, 521, 523, 525, 526, 530];

/** Statuses after which the gateway lets the key be tried again: its defaults for `refused` and `ambiguous`. */
const NO_RESULT: ReadonlySet<number> = new Set([...REFUSED_STATUSES, 408, 502, 504, 520, 522, 524]);

/** `refused`: the statuses that say for certain that the origin did not act. */
export function judgeAnswer(answer: JudgedAnswer, refused: readonly number[] = REFUSED_STATUSES): AnswerJudgement {
  const { status, problem, shouldRetry } = answer;
  if (problem !== null) {
    return { kind: "unanswered", again: shouldRetry ?? problem.retryable, outcome: outcomeOf(problem) };
  }
  if (answer.isKept || answer.isUnprotected) return { kind: "answered" };
  const isRefused = refused.includes(status);
  const again = shouldRetry ?? (isRefused || NO_RESULT.has(status));
  if (!again) return { kind: "answered" };
  return { kind: "unanswered", again, outcome: isRefused && answer.isProtected ? "no-effect" : "unknown" };
}

function outcomeOf(problem: ProblemDetails): Outcome {
  switch (problem.code) {
    case "key-missing":
    case "key-invalid":
    case "request-invalid":
    case "body-too-large":
    case "credential-invalid":
    case "identity-unavailable":
    case "configuration-invalid":
    case "too-many-keys":
    case "key-abandoned":
      return "no-effect";
    // An earlier attempt of the key may have taken effect.
    case "origin-unreachable":
    case "attempts-exhausted":
      return problem.safeNewKey ? "no-effect" : "unknown";
    case "response-not-kept":
      return "happened";
    case "key-expired":
      return problem.originalStatus === null ? "unknown" : "happened";
    // The key belongs to another request; only the caller knows whether that one was this operation in other words.
    case "key-reused":
    case "in-flight":
    case "outcome-unknown":
    case "origin-dropped":
    case "origin-timeout":
    // An equal request took effect or is in flight; only the caller knows whether that was this operation.
    case "repeated-content":
    // The origin may have acted before its answer could not be stored.
    case "store-unavailable":
    // Of a monitor: what it does not know, an earlier attempt may have done.
    case "monitor-not-found":
    case "key-not-known":
    case "cancel-refused":
      return "unknown";
    default:
      return "unknown";
  }
}

/** What is known after one more try: an earlier try stays unknown until an answer settles it. */
export function combineOutcomes(earlier: Outcome, latest: Outcome): Outcome {
  return earlier === "unknown" && latest === "no-effect" ? "unknown" : latest;
}
