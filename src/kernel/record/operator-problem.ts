// The operator API's refusals. Their texts depend only on the kind of refusal, so that a caller who may not see a record
// learns nothing about it.

import { notRetryable, type ProblemDescription, retryableProblem } from "./problem-details.ts";

export type OperatorProblem =
  /** No token, or a wrong one. */
  | { readonly code: "operator-unauthorized" }
  /** A reader, or an operator by Access whose browser may have been made to send the request by some page. */
  | { readonly code: "operator-forbidden"; readonly why: "reader" | "browser" }
  /** Too many wrong tokens from one address. */
  | { readonly code: "operator-throttled"; readonly retryAfterMs: number }
  | { readonly code: "operator-request-invalid"; readonly reason: string }
  /** What has to be in the audit log is not done. */
  | { readonly code: "audit-unavailable" }
  /** No such operation, or the whole API is off. */
  | { readonly code: "operator-not-found" }
  | { readonly code: "record-not-found" }
  /** The record's response is final; of a remembered record it is erased. */
  | { readonly code: "change-refused"; readonly why: "completed" | "remembered" }
  /** An attempt may still be running, at the latest until its lock ends, or the origin is being asked about it. */
  | { readonly code: "change-refused"; readonly why: "in-flight"; readonly retryAfterMs: number };

/** As long as of `store-unavailable`. */
const AUDIT_RETRY_MS = 1_000;

const FINAL = {
  completed: "The record is completed and its response is final.",
  remembered: "Only the key of the record is remembered.",
} as const;

export function describeOperatorProblem(problem: OperatorProblem): ProblemDescription {
  switch (problem.code) {
    case "operator-unauthorized":
      return notRetryable(
        401,
        "Operator token required",
        "Send an operator token in the header Authorization: Bearer TOKEN.",
      );
    case "operator-forbidden":
      return problem.why === "reader"
        ? notRetryable(
            403,
            "Read only",
            "This operator can only read records. Changes and stored bodies need an administrator, such as the holder of ADMIN_TOKEN.",
          )
        : notRetryable(
            403,
            "Sent by a page",
            "A browser sends what any page of this host makes it send, with the operator's proof from Access. Use the console, or send the request without a browser: a change as application/json.",
          );
    case "operator-throttled":
      return retryableProblem(
        429,
        "Too many wrong tokens",
        "Too many wrong tokens came from this address. Try again later.",
        problem.retryAfterMs,
      );
    case "operator-request-invalid":
      return notRetryable(400, "Operator request invalid", `${problem.reason} Nothing was changed.`);
    case "audit-unavailable":
      return retryableProblem(
        503,
        "Audit log unavailable",
        "The audit log cannot be written, so nothing was changed and no body was read. The gateway's log says why. Repeat this when the audit log can be written again.",
        AUDIT_RETRY_MS,
      );
    case "operator-not-found":
      // The same whether it is off or not, and whatever the path, host and token: strangers learn nothing of it.
      return notRetryable(
        404,
        "No such operation",
        "The operator API has no such operation here, or it is off. It is on where the secret ADMIN_TOKEN is set, or OPERATORS or ACCESS names somebody.",
      );
    case "record-not-found":
      return notRetryable(404, "No such record", "There is no such record, or it keeps no body. It may have expired.");
    case "change-refused":
      return problem.why !== "in-flight"
        ? notRetryable(409, "Change refused", `${FINAL[problem.why]} It can only be forgotten. Nothing was changed.`)
        : retryableProblem(
            409,
            "Change refused",
            "An attempt is in flight or may still be running at the API, or the API is being asked whether it took effect. Attempts never overlap. Nothing was changed. Try again when the attempt, its lock or the question ends.",
            problem.retryAfterMs,
          );
  }
}
