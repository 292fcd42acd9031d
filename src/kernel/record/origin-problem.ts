// What the gateway reports when its call to the origin failed. Only a connection that was never made certainly sent nothing.

import { notRetryable, type ProblemDescription, retryableProblem } from "./problem-details.ts";
import type { UnknownRule } from "./record.ts";

export type OriginProblem =
  /** `mayHaveActed`: whether an earlier attempt of the same key may have taken effect. */
  | { readonly code: "origin-unreachable"; readonly mayHaveActed: boolean }
  | { readonly code: "origin-dropped"; readonly unknown: UnknownRule | "unprotected"; readonly retryAfterMs: number }
  | { readonly code: "origin-timeout"; readonly unknown: UnknownRule; readonly retryAfterMs: number };

/** What to do while nobody knows the outcome. A new key would be a new operation, and so possibly a second effect. */
export const KEEP_THE_KEY =
  "The gateway will not repeat it. Do not use a new key: that could do it twice. The operator of this API decides what happened; send the same request with the same key later to get the result.";

export function describeOriginProblem(problem: OriginProblem): ProblemDescription {
  switch (problem.code) {
    case "origin-unreachable": {
      const details = retryableProblem(
        502,
        "API unreachable",
        "The gateway could not connect to the API, so nothing was sent. Send the same request again later; if it has a key, with the same key.",
        null,
      );
      return { ...details, safeNewKey: !problem.mayHaveActed };
    }
    case "origin-dropped":
      return describeAmbiguous(
        502,
        "Connection to the API lost",
        "The connection to the API broke, possibly after the request was sent",
        problem,
      );
    case "origin-timeout":
      return describeAmbiguous(504, "API timed out", "The API did not answer in time", problem);
  }
}

/** The origin may have acted. The route decides whether a retry is useful. */
function describeAmbiguous(
  status: number,
  title: string,
  what: string,
  left: { readonly unknown: UnknownRule | "unprotected"; readonly retryAfterMs: number },
): ProblemDescription {
  switch (left.unknown) {
    case "retry":
      return retryableProblem(
        status,
        title,
        `${what}, so the operation may have taken effect. Send the same request with the same key again: the gateway makes another attempt once the first can no longer be running.`,
        left.retryAfterMs,
      );
    case "verify":
      return retryableProblem(
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
