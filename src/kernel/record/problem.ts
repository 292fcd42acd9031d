// Every error that the gateway itself reports, each with its evidence, and the one function that turns it into what a
// client reads (RFC 9457). No text here may reveal anything about a stored response except its status.

import { type ConsumerProblem, describeConsumerProblem } from "./consumer-problem.ts";
import { describeMonitorProblem, type MonitorProblem } from "./monitor-problem.ts";
import { describeOperatorProblem, type OperatorProblem } from "./operator-problem.ts";
import type { UnknownRule } from "./record.ts";

export type Problem = ClientProblem | MonitorProblem | OperatorProblem | ConsumerProblem;

/** The problems that a client of the API behind the gateway can get. */
export type ClientProblem =
  /** `ways`: where a key may be, as a phrase. */
  | { readonly code: "key-missing"; readonly ways: string }
  | { readonly code: "key-invalid"; readonly reason: string }
  /** `allow`: the methods that the address has, if the request has another one. `isLate`: its body came too slowly. */
  | {
      readonly code: "request-invalid";
      readonly reason: string;
      readonly allow?: readonly string[];
      readonly isLate?: true;
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
  /** `holdsKey`: the limit is that of a body in which a key is looked for. */
  | { readonly code: "body-too-large"; readonly limitBytes: number; readonly holdsKey?: true }
  | { readonly code: "origin-unreachable" }
  | { readonly code: "origin-dropped"; readonly unknown: UnknownRule | "unprotected"; readonly retryAfterMs: number }
  | { readonly code: "origin-timeout"; readonly unknown: UnknownRule; readonly retryAfterMs: number }
  | { readonly code: "store-unavailable" }
  | { readonly code: "credential-invalid"; readonly why: CredentialFault }
  | { readonly code: "identity-unavailable"; readonly retryAfterMs: number }
  /** How many problems the log lists. The problems themselves stay there, because they may name internal addresses. */
  | { readonly code: "configuration-invalid"; readonly problemCount: number };

/** What is wrong with a credential, as far as its caller is told. */
export type CredentialFault = "missing" | "expired" | "invalid";

export type ClientProblemCode = ClientProblem["code"];

export interface ProblemDetails {
  readonly status: number;
  readonly title: string;
  /** What happened, and what the client should do next. */
  readonly detail: string;
  /** Whether the same request with the same key is worth sending again. */
  readonly retryable: boolean;
  /** Seconds for `Retry-After`; `null` for none. */
  readonly retryAfterSeconds: number | null;
  /** Extension members of this problem (RFC 9457, section 3.2). */
  readonly members: Readonly<Record<string, number>>;
}

const NOTHING_SENT = "Nothing was sent to the API.";

/** What to do while nobody knows the outcome. A new key would be a new operation, and so possibly a second effect. */
const KEEP_THE_KEY =
  "The gateway will not repeat it. Do not use a new key: that could do it twice. The operator of this API decides what happened; send the same request with the same key later to get the result.";

/** How soon a client may retry when the store did not answer: long enough for an object to restart elsewhere. */
const STORE_RETRY_SECONDS = 1;

export function describeProblem(problem: Problem): ProblemDetails {
  switch (problem.code) {
    case "key-missing":
      return notRetryable(
        400,
        "Idempotency key missing",
        `This operation requires ${problem.ways}. Its value names the operation: make it once, such as a UUID, and send the same one with each retry. ${NOTHING_SENT}`,
      );
    case "key-invalid":
      return notRetryable(400, "Idempotency key invalid", `${problem.reason} ${NOTHING_SENT}`);
    case "request-invalid":
      if (problem.isLate === true) {
        const detail = `${problem.reason} ${NOTHING_SENT} Send the same request again, with the same key.`;
        return retryable(408, "Request body too slow", detail, STORE_RETRY_SECONDS * 1000);
      }
      return notRetryable(
        problem.allow === undefined ? 400 : 405,
        "Request invalid",
        `${problem.reason} ${NOTHING_SENT}`,
      );
    case "key-reused":
      return notRetryable(
        problem.status,
        "Idempotency key reused",
        "This idempotency key belongs to a different request. If this is a retry, send the original request unchanged: with a new key it could take effect twice. Only a new operation needs a new key.",
      );
    case "too-many-keys":
      return retryable(
        429,
        "Too many new idempotency keys",
        `This caller has begun too many operations in a short time. ${NOTHING_SENT} Send the same request again later, with the same key. Retries of operations that have begun are not limited.`,
        problem.retryAfterMs,
      );
    case "in-flight":
      return retryable(
        409,
        "Request in flight",
        "An earlier request with this idempotency key has not finished. Send the same request again later, with the same key, to get its response.",
        problem.retryAfterMs,
      );
    case "outcome-unknown":
      if (problem.retryAfterMs !== null) {
        return retryable(
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
    case "body-too-large": {
      const details = notRetryable(
        413,
        "Request body too large",
        `The body of this request may have at most ${problem.limitBytes} bytes${problem.holdsKey === true ? ", because its idempotency key may be in it" : ""}. ${NOTHING_SENT}`,
      );
      return { ...details, members: { limitBytes: problem.limitBytes } };
    }
    case "origin-unreachable":
      return {
        ...notRetryable(
          502,
          "API unreachable",
          "The gateway could not connect to the API, so nothing was sent. Send the same request again later; if it has a key, with the same key.",
        ),
        retryable: true,
      };
    case "origin-dropped":
      return describeAmbiguous(
        502,
        "Connection to the API lost",
        "The connection to the API broke, possibly after the request was sent",
        problem,
      );
    case "origin-timeout":
      return describeAmbiguous(504, "API timed out", "The API did not answer in time", problem);
    case "store-unavailable":
      return retryable(
        503,
        "Idempotency store unavailable",
        "The gateway cannot read or write the record of this idempotency key. An earlier request with this key may have taken effect. Send the same request again later, with the same key, to get its outcome.",
        STORE_RETRY_SECONDS * 1000,
      );
    case "credential-invalid":
      return notRetryable(
        401,
        "Credential invalid",
        `${describeFault(problem.why)} ${NOTHING_SENT} Send the same request with the same key and a valid credential of the same caller.`,
      );
    case "identity-unavailable":
      return retryable(
        503,
        "Identity unavailable",
        `The gateway cannot find out whose credential this is at the moment. ${NOTHING_SENT} Send the same request again later, with the same key.`,
        problem.retryAfterMs,
      );
    case "configuration-invalid": {
      const details = notRetryable(
        500,
        "Gateway configuration invalid",
        `The gateway's configuration has errors, which are in its log. ${NOTHING_SENT} When the operator of this API has corrected them, send the same request again; if it has a key, with the same key.`,
      );
      return { ...details, members: { problemCount: problem.problemCount } };
    }
    case "monitor-not-found":
    case "attempts-exhausted":
    case "cancel-refused": {
      const { retryAfterMs, ...details } = describeMonitorProblem(problem);
      return { ...details, retryAfterSeconds: retryAfterMs === null ? null : wholeSeconds(retryAfterMs) };
    }
    case "claim-invalid":
    case "consumer-unauthorized":
    case "consumer-throttled":
      return ofApi(describeConsumerProblem(problem));
    case "operator-unauthorized":
    case "operator-forbidden":
    case "operator-throttled":
    case "operator-request-invalid":
    case "audit-unavailable":
    case "operator-not-found":
    case "record-not-found":
    case "change-refused":
      return ofApi(describeOperatorProblem(problem));
  }
}

/** A refusal of one of the gateway's own APIs. */
function ofApi({ status, title, detail, retryAfterMs }: ReturnType<typeof describeOperatorProblem>): ProblemDetails {
  return retryAfterMs === null ? notRetryable(status, title, detail) : retryable(status, title, detail, retryAfterMs);
}

function notRetryable(status: number, title: string, detail: string): ProblemDetails {
  return { status, title, detail, retryable: false, retryAfterSeconds: null, members: {} };
}

function retryable(status: number, title: string, detail: string, afterMs: number): ProblemDetails {
  return { status, title, detail, retryable: true, retryAfterSeconds: wholeSeconds(afterMs), members: {} };
}

function describeFault(why: CredentialFault): string {
  switch (why) {
    case "missing":
      return "This operation requires a credential, and the request has none.";
    case "expired":
      return "The credential of this request has expired.";
    case "invalid":
      return "The credential of this request is not valid here.";
  }
}

/** The origin may have acted. The route decides whether a retry is useful. */
function describeAmbiguous(
  status: number,
  title: string,
  what: string,
  left: { readonly unknown: UnknownRule | "unprotected"; readonly retryAfterMs: number },
): ProblemDetails {
  switch (left.unknown) {
    case "retry":
      return retryable(
        status,
        title,
        `${what}, so the operation may have taken effect. Send the same request with the same key again: the gateway makes another attempt once the first can no longer be running.`,
        left.retryAfterMs,
      );
    case "verify":
      return retryable(
        status,
        title,
        `${what}, so the operation may have taken effect. Send the same request with the same key again: the gateway first asks the API whether it did.`,
        left.retryAfterMs,
      );
    case "hold":
      return notRetryable(status, title, `${what}, so the operation may have taken effect. ${KEEP_THE_KEY}`);
    case "unprotected":
      return notRetryable(
        status,
        title,
        `${what}, so it may have taken effect, and no idempotency key protects it. Read its outcome from the API before you send it again: a second request, also one with a key, is a second operation.`,
      );
  }
}

/** `Retry-After` counts whole seconds (RFC 9110, section 10.2.3). Rounded up, because a retry that comes too soon is wasted. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
