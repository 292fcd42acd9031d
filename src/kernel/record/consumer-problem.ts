// What the claims API refuses as a whole (src/features/claims/README.md); what it says of one claim is an answer, not a problem. The texts tell
// a caller without the right token nothing, not even which groups there are.

import { notRetryable, type ProblemDescription, retryableProblem } from "./problem-details.ts";

export type ConsumerProblem =
  /** The request cannot be understood. Nothing of it was done. */
  | { readonly code: "claim-invalid"; readonly reason: string }
  /** No token of this group. */
  | { readonly code: "consumer-unauthorized" }
  /** Too many wrong tokens from one address. */
  | { readonly code: "consumer-throttled"; readonly retryAfterMs: number };

export function describeConsumerProblem(problem: ConsumerProblem): ProblemDescription {
  switch (problem.code) {
    case "claim-invalid":
      return notRetryable(400, "Claim invalid", `${problem.reason} Nothing was claimed or changed.`);
    case "consumer-unauthorized":
      return notRetryable(
        401,
        "Consumer token required",
        "Send the token of this group in the header Authorization: Bearer TOKEN.",
      );
    case "consumer-throttled":
      return retryableProblem(
        429,
        "Too many wrong tokens",
        "Too many wrong tokens came from this address. Try again later.",
        problem.retryAfterMs,
      );
  }
}
