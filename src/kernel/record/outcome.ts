// The outcome of one exchange, as its client saw it. Metrics, logs and the operator's views all use this one list.

import type { ClientProblemCode } from "./problem.ts";

export const OUTCOMES = [
  /** The origin's result, sent to the client that started the attempt. */
  "first",
  /** The stored response. */
  "replay",
  /** The first answer, sent to a duplicate while it was still arriving. */
  "attached",
  /** The origin's answer, passed on. The origin did not act. */
  "refused",
  /** The origin's answer, passed on. The origin may have acted. */
  "ambiguous",
  /** 202: the request is stored, and the gateway makes its attempts by itself. */
  "accepted",
  /** The last attempt of an accepted request had no result, and no other is made. */
  "attempts-exhausted",
  "in-flight",
  "mismatch",
  "outcome-unknown",
  "not-kept",
  "key-expired",
  "key-missing",
  "key-invalid",
  "request-invalid",
  "body-too-large",
  "origin-unreachable",
  "origin-dropped",
  "origin-timeout",
  "store-unavailable",
  "credential-invalid",
  "identity-unavailable",
  "configuration-invalid",
  /** Forwarded although the record could not be reached (`on_store_failure = "open"`). */
  "unprotected",
  /** Forwarded without a key, because the route does not require one. */
  "passed-through",
  /** Refused, because its caller has begun too many keys. */
  "too-many-keys",
  /** Refused: it has no key of its own, and the content of an earlier request (`repeat = "refuse"`). */
  "repeated-content",
] as const;

export type ExchangeOutcome = (typeof OUTCOMES)[number];

/** Those of duplicates that did not reach the origin. An attempt that loses its answer or its record can end with one of them, too. */
export const PREVENTED = [
  "replay",
  "attached",
  "in-flight",
  "outcome-unknown",
  "not-kept",
  "key-expired",
  "repeated-content",
] as const satisfies readonly ExchangeOutcome[];

export function isPrevented(outcome: ExchangeOutcome): outcome is (typeof PREVENTED)[number] {
  return PREVENTED.some((one) => one === outcome);
}

/** The outcome of an exchange that the gateway answers with a problem. */
export function outcomeOf(code: ClientProblemCode): ExchangeOutcome {
  switch (code) {
    case "key-reused":
      return "mismatch";
    case "response-not-kept":
      return "not-kept";
    case "key-abandoned":
      return "key-expired";
    case "key-missing":
    case "key-invalid":
    case "request-invalid":
    case "too-many-keys":
    case "in-flight":
    case "outcome-unknown":
    case "key-expired":
    case "body-too-large":
    case "origin-unreachable":
    case "origin-dropped":
    case "origin-timeout":
    case "store-unavailable":
    case "credential-invalid":
    case "identity-unavailable":
    case "configuration-invalid":
    case "repeated-content":
      return code;
  }
}

/** What became of a request whose key is made from its content: it began an operation, repeated one, or was another with the same members. */
export const CONTENT_USES = ["new", "repeated", "key-reused"] as const;

/** `null`: neither, because nothing could be done for it. */
export function contentUseOf(outcome: ExchangeOutcome): (typeof CONTENT_USES)[number] | null {
  if (isPrevented(outcome)) return "repeated";
  if (outcome === "mismatch") return "key-reused";
  const isSent = ["first", "refused", "ambiguous", "accepted", "origin-dropped", "origin-timeout"].includes(outcome);
  return isSent ? "new" : null;
}

/** Whether an attempt without a result has ended this exchange, so that the outcome of its record may be unknown. */
export function mayBeUnknown(outcome: ExchangeOutcome): boolean {
  return outcome === "ambiguous" || outcome === "origin-dropped" || outcome === "origin-timeout";
}

/** Which exchanges are logged: all, those with trouble, or none. */
export const LOG_RULES = ["all", "errors", "none"] as const;
export type LogRule = (typeof LOG_RULES)[number];

/** A retry of what an earlier exchange was trouble for is refused as it has to be. */
export function isKnownTrouble(outcome: ExchangeOutcome): boolean {
  return outcome === "outcome-unknown" || outcome === "not-kept";
}

/** Whether an operator should look: an outcome is unknown, an answer is lost, or the gateway or its origin fails. */
export function isTrouble(outcome: ExchangeOutcome): boolean {
  switch (outcome) {
    case "ambiguous":
    case "attempts-exhausted":
    case "outcome-unknown":
    case "not-kept":
    case "origin-unreachable":
    case "origin-dropped":
    case "origin-timeout":
    case "store-unavailable":
    case "identity-unavailable":
    case "configuration-invalid":
    case "unprotected":
      return true;
    case "first":
    case "replay":
    case "attached":
    case "refused":
    case "accepted":
    case "in-flight":
    case "mismatch":
    case "key-expired":
    case "key-missing":
    case "key-invalid":
    case "request-invalid":
    case "credential-invalid":
    case "body-too-large":
    case "passed-through":
    case "too-many-keys":
    case "repeated-content":
      return false;
  }
}
