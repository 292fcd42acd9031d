// What a monitor refuses (src/features/accepted/README.md).

/** The problems that only a monitor reports; what it knows about a record it says as the answer to a retry would. */
import { notRetryable, type ProblemDescription, retryableProblem } from "./problem-details.ts";

export type MonitorProblem =
  /** A look-up found no record of this key, for this caller. */
  | { readonly code: "key-not-known" }
  /** There is no such record, or it is not this caller's, or of another request. It does not say which of these. */
  | { readonly code: "monitor-not-found" }
  /**
   * The last attempt had no effect, or may be repeated, and no other is made. `lastStatus`: what the origin answered, if it did.
   * `mayHaveActed`: whether one of the attempts may have taken effect.
   */
  | { readonly code: "attempts-exhausted"; readonly lastStatus: number | null; readonly mayHaveActed: boolean }
  | { readonly code: "cancel-refused"; readonly why: "in-flight"; readonly retryAfterMs: number }
  | { readonly code: "cancel-refused"; readonly why: "ended" };

export function describeMonitorProblem(problem: MonitorProblem): ProblemDescription {
  switch (problem.code) {
    case "monitor-not-found":
      return notRetryable(
        404,
        "Monitor not found",
        "No request with this key, content and caller is known here. Check the address and the credential. If both are right, the request was cancelled or its record has expired: it may have taken effect, so read its outcome from the API before you send it again.",
      );
    case "key-not-known":
      return notRetryable(
        404,
        "Idempotency key not known",
        "No request with this key is known here for this caller and operation. It may still be on its way, or its record has expired: a new key could do the operation twice. Send the same request with the same key.",
      );
    case "attempts-exhausted":
      return {
        ...retryableProblem(
          502,
          "Attempts exhausted",
          "No attempt brought a result, and the gateway makes no further one: it has made all that it promised, the request was cancelled, or what was stored of it cannot be read. To have it tried again, send the same request with the same key.",
          null,
        ),
        safeNewKey: !problem.mayHaveActed,
        members: problem.lastStatus === null ? {} : { lastStatus: problem.lastStatus },
      };
    case "cancel-refused":
      return problem.why === "in-flight"
        ? retryableProblem(
            409,
            "Not cancelled",
            "An attempt is running, or may be, so the operation may take effect. Nothing was changed. Try again later.",
            problem.retryAfterMs,
          )
        : notRetryable(
            409,
            "Not cancelled",
            "The operation has its result, or may have taken effect, so it can no longer be cancelled. Read its monitor, or look its key up, to see which.",
          );
  }
}
