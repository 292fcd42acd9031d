// Every error that the gateway itself reports, each with its evidence, and the one function that turns it into what a
// client reads (RFC 9457). No text here may reveal anything about a stored response except its status.

import { type CallerProblem, describeCallerProblem } from "./caller-problem.ts";
import { type ConsumerProblem, describeConsumerProblem } from "./consumer-problem.ts";
import { describeMonitorProblem, type MonitorProblem } from "./monitor-problem.ts";
import { describeOperatorProblem, type OperatorProblem } from "./operator-problem.ts";
import { describeOriginProblem, KEEP_THE_KEY, type OriginProblem } from "./origin-problem.ts";
import { NOTHING_SENT, notRetryable, type ProblemDescription, retryableProblem, withFault } from "./problem-details.ts";

export type Problem = ClientProblem | MonitorProblem | OperatorProblem | ConsumerProblem;

/** The problems that a client of the API behind the gateway can get. */
export type ClientProblem =
  /** `ways`: where a key may be, as a phrase. */
  | { readonly code: "key-missing"; readonly ways: string }
  | { readonly code: "key-invalid"; readonly reason: string }
  /**
   * `allow`: the methods that the address has, if the request has another one. `isLate`: its body came too slowly. `isNotJson`: it had to be JSON, and
   * is none.
   */
  | {
      readonly code: "request-invalid";
      readonly reason: string;
      readonly allow?: readonly string[];
      readonly isLate?: true;
      readonly isNotJson?: true;
    }
  | { readonly code: "key-reused"; readonly status: number }
  /** The caller has begun as many keys as its limit allows. */
  | { readonly code: "too-many-keys"; readonly retryAfterMs: number }
  | { readonly code: "in-flight"; readonly retryAfterMs: number }
  /** `retryAfterMs` is `null` when the origin is never asked whether the operation took effect. */
  | { readonly code: "outcome-unknown"; readonly retryAfterMs: number | null }
  | { readonly code: "response-not-kept"; readonly originalStatus: number | null }
  /** `originalStatus` is `null` when no result was ever known, or when the record was encrypted. */
  | { readonly code: "key-expired"; readonly originalStatus: number | null }
  /** The key's client has given it up, and this request came after that. */
  | { readonly code: "key-abandoned" }
  /** The request has no key of its own and the content of an earlier one of its caller, which took effect or is in flight. */
  | { readonly code: "repeated-content" }
  /** `holds`: the limit is that of a body that has to be read for it. */
  | { readonly code: "body-too-large"; readonly limitBytes: number; readonly holds?: "key" | "scope" | "signature" }
  | OriginProblem
  | { readonly code: "store-unavailable" }
  | CallerProblem
  /** How many problems the log lists. The problems themselves stay there, because they may name internal addresses. */
  | { readonly code: "configuration-invalid"; readonly problemCount: number };

/** Said of every problem with a key that its client has not sent. */
export const KEY_FROM_CONTENT =
  "The idempotency key was made from the content of this request, which has none: for a second operation send a key of your own.";

export type ClientProblemCode = ClientProblem["code"];

/** How soon a client may retry when the store did not answer: long enough for an object to restart elsewhere. */
const STORE_RETRY_SECONDS = 1;

const REPEATED_CONTENT = notRetryable(
  409,
  "Request repeats an earlier one",
  "This request has no idempotency key of its own, and its caller has sent an equal one shortly before, which has been answered or is in flight. Nothing was sent to the API. If this is a retry, read the outcome from the API; for a second operation send a key of your own.",
);

type Of<Code extends ClientProblemCode> = Extract<ClientProblem, { code: Code }>;

export function describeProblem(problem: Problem): ProblemDescription {
  switch (problem.code) {
    case "key-missing":
    case "key-invalid":
    case "request-invalid":
    case "too-many-keys":
    case "body-too-large":
      return describeRequestProblem(problem);
    case "key-reused":
    case "in-flight":
    case "outcome-unknown":
    case "response-not-kept":
    case "key-expired":
    case "key-abandoned":
      return describeRecordProblem(problem);
    case "repeated-content":
      return REPEATED_CONTENT;
    case "origin-unreachable":
    case "origin-dropped":
    case "origin-timeout":
      return describeOriginProblem(problem);
    case "store-unavailable":
      return retryableProblem(
        503,
        "Idempotency store unavailable",
        "The gateway cannot read or write the record of this idempotency key. An earlier request with this key may have taken effect. Send the same request again later, with the same key, to get its outcome.",
        STORE_RETRY_SECONDS * 1000,
      );
    case "credential-invalid":
    case "identity-unavailable":
      return describeCallerProblem(problem);
    case "configuration-invalid": {
      const details = notRetryable(
        500,
        "Gateway configuration invalid",
        `The gateway's configuration has errors, which are in its log. ${NOTHING_SENT} When the operator of this API has corrected them, send the same request again; if it has a key, with the same key.`,
      );
      return { ...details, members: { problemCount: problem.problemCount } };
    }
    case "monitor-not-found":
    case "key-not-known":
    case "attempts-exhausted":
    case "cancel-refused":
      return describeMonitorProblem(problem);
    case "claim-invalid":
    case "consumer-unauthorized":
    case "consumer-throttled":
      return { ...describeConsumerProblem(problem), safeNewKey: null };
    case "operator-unauthorized":
    case "operator-forbidden":
    case "operator-throttled":
    case "operator-request-invalid":
    case "audit-unavailable":
    case "operator-not-found":
    case "record-not-found":
    case "change-refused":
      return { ...describeOperatorProblem(problem), safeNewKey: null };
  }
}

const HELD_IN_BODY = {
  key: ", because its idempotency key may be in it",
  scope: ", because it says whose idempotency key this is",
  signature: ", because a signature covers it",
} as const;

/** The request itself is refused. Nothing is stored or sent. */
function describeRequestProblem(
  problem: Of<"key-missing" | "key-invalid" | "request-invalid" | "too-many-keys" | "body-too-large">,
): ProblemDescription {
  switch (problem.code) {
    case "key-missing": {
      const details = notRetryable(
        400,
        "Idempotency key missing",
        `This operation requires ${problem.ways}. Its value names the operation: make it once, such as a UUID, and send the same one with each retry. ${NOTHING_SENT}`,
      );
      return { ...details, safeNewKey: true };
    }
    case "key-invalid": {
      const details = notRetryable(400, "Idempotency key invalid", `${problem.reason} ${NOTHING_SENT}`);
      return { ...details, safeNewKey: true };
    }
    case "request-invalid":
      if (problem.isLate === true) {
        const detail = `${problem.reason} ${NOTHING_SENT} Send the same request again, with the same key.`;
        return retryableProblem(408, "Request body too slow", detail, STORE_RETRY_SECONDS * 1000);
      }
      return withFault(
        notRetryable(problem.allow === undefined ? 400 : 405, "Request invalid", `${problem.reason} ${NOTHING_SENT}`),
        problem.isNotJson === true ? "not-json" : null,
      );
    case "too-many-keys": {
      const details = retryableProblem(
        429,
        "Too many new idempotency keys",
        `This caller has begun too many operations in a short time. ${NOTHING_SENT} Send the same request again later, with the same key. Retries of operations that have begun are not limited.`,
        problem.retryAfterMs,
      );
      return { ...details, safeNewKey: true };
    }
    case "body-too-large": {
      const details = notRetryable(
        413,
        "Request body too large",
        `The body of this request may have at most ${problem.limitBytes} bytes${problem.holds === undefined ? "" : HELD_IN_BODY[problem.holds]}. ${NOTHING_SENT}`,
      );
      return { ...details, members: { limitBytes: problem.limitBytes } };
    }
  }
}

/** The record of the key lets nothing pass. */
function describeRecordProblem(
  problem: Of<"key-reused" | "in-flight" | "outcome-unknown" | "response-not-kept" | "key-expired" | "key-abandoned">,
): ProblemDescription {
  switch (problem.code) {
    case "key-reused":
      return notRetryable(
        problem.status,
        "Idempotency key reused",
        "This idempotency key belongs to a different request. If this is a retry, send the original request unchanged: with a new key it could take effect twice. Only a new operation needs a new key.",
      );
    case "in-flight":
      return retryableProblem(
        409,
        "Request in flight",
        "An earlier request with this idempotency key has not finished. Send the same request again later, with the same key, to get its response.",
        problem.retryAfterMs,
      );
    case "outcome-unknown":
      if (problem.retryAfterMs !== null) {
        return retryableProblem(
          409,
          "Outcome unknown",
          "An earlier request with this idempotency key may have taken effect, but its response was lost. The gateway is asking the API whether it did. Send the same request again later, with the same key, to get the outcome.",
          problem.retryAfterMs,
        );
      }
      return notRetryable(
        409,
        "Outcome unknown",
        `An earlier request with this idempotency key may have taken effect, but its response was lost. ${KEEP_THE_KEY}`,
      );
    case "response-not-kept": {
      const { originalStatus } = problem;
      const details = notRetryable(
        409,
        "Response not kept",
        originalStatus === null
          ? "The operation took effect and was answered, but its response was not kept or can no longer be read. Do not repeat it, with this key or a new one: read its outcome from the API."
          : `The operation took effect and was answered with status ${originalStatus}, but its response was not kept, because it was too large or could not be stored. Do not repeat it, with this key or a new one: read its outcome from the API.`,
      );
      return originalStatus === null ? details : { ...details, members: { originalStatus } };
    }
    case "key-abandoned": {
      const details = notRetryable(
        409,
        "Idempotency key abandoned",
        "The client of this idempotency key has given it up, so this request came too late. Nothing was sent to the API. If the operation is still wanted, send it with a new key.",
      );
      return { ...details, safeNewKey: true };
    }
    case "key-expired": {
      const { originalStatus } = problem;
      const what = originalStatus === null ? "may have taken effect" : `was answered with status ${originalStatus}`;
      const details = notRetryable(
        409,
        "Idempotency key expired",
        `An earlier request with this idempotency key ${what}. Its record has expired, so there is no response to replay, and the gateway will not repeat the operation. Read its outcome from the API. A new key is for a new operation: with one, this operation could take effect twice.`,
      );
      return originalStatus === null ? details : { ...details, members: { originalStatus } };
    }
  }
}
