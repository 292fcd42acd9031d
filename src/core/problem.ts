// Every error that the gateway itself makes, each with its evidence, and the one map from them to what a client reads
// (RFC 9457). No text here may tell anything of a stored response but its status.

import { describeOperatorProblem, type OperatorProblem } from "./operator-problem.ts";
import type { UnknownRule } from "./record.ts";

export type Problem = ClientProblem | OperatorProblem;

/** What a client of the API behind the gateway can meet. */
export type ClientProblem =
  | { readonly code: "key-missing"; readonly header: string }
  | { readonly code: "key-invalid"; readonly reason: string }
  | { readonly code: "request-invalid"; readonly reason: string }
  | { readonly code: "key-reused"; readonly status: number }
  | { readonly code: "in-flight"; readonly retryAfterMs: number }
  /** `retryAfterMs` where the origin is asked what became of it; `null` where nobody asks. */
  | { readonly code: "outcome-unknown"; readonly retryAfterMs: number | null }
  | { readonly code: "response-not-kept"; readonly originalStatus: number }
  | { readonly code: "body-too-large"; readonly limitBytes: number }
  | { readonly code: "origin-unreachable" }
  | { readonly code: "origin-dropped"; readonly unknown: UnknownRule | "unprotected"; readonly retryAfterMs: number }
  | { readonly code: "origin-timeout"; readonly unknown: UnknownRule; readonly retryAfterMs: number }
  | { readonly code: "store-unavailable" }
  /** How many problems the log names. Not which: they tell of internal addresses, and strangers read this. */
  | { readonly code: "configuration-invalid"; readonly problemCount: number };

export type ClientProblemCode = ClientProblem["code"];

export interface ProblemDetails {
  readonly status: number;
  readonly title: string;
  /** What happened, and what the client does next. */
  readonly detail: string;
  /** Whether the same request with the same key is worth sending again. */
  readonly retryable: boolean;
  /** Seconds for `Retry-After`; `null` for none. */
  readonly retryAfterSeconds: number | null;
  /** Members of this problem's own (RFC 9457, section 3.2). */
  readonly members: Readonly<Record<string, number>>;
}

/** How soon a client may ask again when the store did not answer: long enough for an object to restart elsewhere. */
const STORE_RETRY_SECONDS = 1;

export function describeProblem(problem: Problem): ProblemDetails {
  switch (problem.code) {
    case "key-missing":
      return final(
        400,
        "Idempotency key missing",
        `This operation requires the ${problem.header} header: a value that is unique to the operation, such as a UUID. Nothing was sent to the origin.`,
      );
    case "key-invalid":
      return final(400, "Idempotency key invalid", `${problem.reason} Nothing was sent to the origin.`);
    case "request-invalid":
      return final(400, "Request invalid", `${problem.reason} Nothing was sent to the origin.`);
    case "key-reused":
      return final(
        problem.status,
        "Idempotency key reused",
        "This idempotency key was already used for a different request. Send a new key for a new operation, or the same request for a retry.",
      );
    case "in-flight":
      return later(
        409,
        "Request in flight",
        "An earlier request with this idempotency key has not finished. Send the same request again later to get its answer.",
        problem.retryAfterMs,
      );
    case "outcome-unknown":
      if (problem.retryAfterMs !== null) {
        return later(
          409,
          "Outcome unknown",
          "An earlier request with this idempotency key may have taken effect, and its answer was lost. The origin is being asked. Send the same request again later to learn what became of it.",
          problem.retryAfterMs,
        );
      }
      return final(
        409,
        "Outcome unknown",
        "An earlier request with this idempotency key may have taken effect, and its answer was lost. It is not repeated. Find out whether it took effect before you start the operation again with a new key.",
      );
    case "response-not-kept": {
      const details = final(
        409,
        "Response not kept",
        `The operation took effect and was answered with status ${problem.originalStatus}, but its response is not kept: it was too large, or it could not be stored. Do not repeat it; read its outcome from the API.`,
      );
      return { ...details, members: { originalStatus: problem.originalStatus } };
    }
    case "body-too-large": {
      const details = final(
        413,
        "Request body too large",
        `The body of this operation may have at most ${problem.limitBytes} bytes. Nothing was sent to the origin.`,
      );
      return { ...details, members: { limitBytes: problem.limitBytes } };
    }
    case "origin-unreachable":
      return {
        ...final(
          502,
          "Origin unreachable",
          "No connection to the origin could be opened, so nothing was sent. The same request may be sent again.",
        ),
        retryable: true,
      };
    case "origin-dropped":
      return inDoubt(
        502,
        "Connection to the origin lost",
        "The connection broke after the request may have been sent",
        problem,
      );
    case "origin-timeout":
      return inDoubt(504, "Origin timed out", "The origin did not answer in time", problem);
    case "store-unavailable":
      return later(
        503,
        "Idempotency store unavailable",
        "The record of this idempotency key cannot be reached. Send the same request again, with the same key, to learn its outcome.",
        STORE_RETRY_SECONDS * 1000,
      );
    case "configuration-invalid": {
      const details = final(
        500,
        "Gateway configuration invalid",
        "The gateway's configuration has errors, so it forwards nothing. Its operator finds them in its log.",
      );
      return { ...details, members: { problemCount: problem.problemCount } };
    }
    case "operator-unauthorized":
    case "operator-forbidden":
    case "operator-throttled":
    case "operator-request-invalid":
    case "operator-not-found":
    case "record-not-found":
    case "change-refused": {
      const { status, title, detail, retryAfterMs } = describeOperatorProblem(problem);
      return retryAfterMs === null ? final(status, title, detail) : later(status, title, detail, retryAfterMs);
    }
  }
}

function final(status: number, title: string, detail: string): ProblemDetails {
  return { status, title, detail, retryable: false, retryAfterSeconds: null, members: {} };
}

function later(status: number, title: string, detail: string, afterMs: number): ProblemDetails {
  return { status, title, detail, retryable: true, retryAfterSeconds: wholeSeconds(afterMs), members: {} };
}

/** The origin may have acted. Whether a retry is worth anything is the route's decision. */
function inDoubt(
  status: number,
  title: string,
  what: string,
  doubt: { readonly unknown: UnknownRule | "unprotected"; readonly retryAfterMs: number },
): ProblemDetails {
  switch (doubt.unknown) {
    case "retry":
      return later(
        status,
        title,
        `${what}, so the operation may have taken effect. Send the same request with the same key again: it is tried once more when the first try can no longer be at work.`,
        doubt.retryAfterMs,
      );
    case "verify":
      return later(
        status,
        title,
        `${what}, so the operation may have taken effect. Send the same request with the same key again: the origin is asked first whether it did.`,
        doubt.retryAfterMs,
      );
    case "hold":
      return final(
        status,
        title,
        `${what}, so the operation may have taken effect. It will not be repeated: find out whether it took effect before you start it again with a new key.`,
      );
    case "unprotected":
      return final(
        status,
        title,
        `${what}, and no idempotency key protects it. Whether it may be sent again depends on the operation.`,
      );
  }
}

/** `Retry-After` counts whole seconds (RFC 9110, section 10.2.3); a client that comes too soon has come in vain. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
