// What the claims API refuses as a whole (src/features/claims/README.md); what it says of one claim is an answer, not a problem. The texts tell
// a caller without the right token nothing, not even which groups there are.

export type ConsumerProblem =
  /** The request cannot be understood. Nothing of it was done. */
  | { readonly code: "claim-invalid"; readonly reason: string }
  /** No token of this group. */
  | { readonly code: "consumer-unauthorized" }
  /** Too many wrong tokens from one address. */
  | { readonly code: "consumer-throttled"; readonly retryAfterMs: number };

interface Description {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** `null`: a retry is pointless. */
  readonly retryAfterMs: number | null;
}

export function describeConsumerProblem(problem: ConsumerProblem): Description {
  switch (problem.code) {
    case "claim-invalid":
      return {
        status: 400,
        title: "Claim invalid",
        detail: `${problem.reason} Nothing was claimed or changed.`,
        retryAfterMs: null,
      };
    case "consumer-unauthorized":
      return {
        status: 401,
        title: "Consumer token required",
        detail: "Send the token of this group in the header Authorization: Bearer TOKEN.",
        retryAfterMs: null,
      };
    case "consumer-throttled":
      return {
        status: 429,
        title: "Too many wrong tokens",
        detail: "Too many wrong tokens came from this address. Try again later.",
        retryAfterMs: problem.retryAfterMs,
      };
  }
}
