// What the gateway reports when nobody knows whose request it is. Nothing of it is stored or sent.

import { NOTHING_SENT, notRetryable, type ProblemDescription, retryableProblem, withFault } from "./problem-details.ts";

export type CallerProblem =
  /** `signature`: the credential is a signature of the request itself. `realm`: who issues the tokens that are valid here. */
  | {
      readonly code: "credential-invalid";
      readonly why: CredentialFault;
      readonly signature?: SignatureFault;
      readonly realm?: string;
    }
  /** `isProfile`: the document with the keys of the caller's agent cannot be fetched. */
  | { readonly code: "identity-unavailable"; readonly retryAfterMs: number; readonly isProfile?: true };

/** What is wrong with a credential, as far as its caller may know. */
export type CredentialFault = "missing" | "expired" | "invalid";

/** What is wrong with a request's signature. Its client may know all of it: it is about nothing but that request, and the keys that its agent publishes. */
export interface SignatureFault {
  readonly fault:
    | "signature-missing"
    | "signature-invalid"
    | "key-not-found"
    | "digest-invalid"
    | "algorithm-unsupported"
    | "profile-not-trusted";
  /** A sentence. */
  readonly reason: string;
  /** How long until the key may be known; absent: the signature stays wrong. */
  readonly retryAfterMs?: number;
}

const FAULTS: Readonly<Record<CredentialFault, string>> = {
  missing: "This operation requires a credential, and the request has none.",
  expired: "The credential of this request has expired.",
  invalid: "The credential of this request is not valid here.",
};

export function describeCallerProblem(problem: CallerProblem): ProblemDescription {
  switch (problem.code) {
    case "credential-invalid": {
      const { why, signature } = problem;
      const detail = `${signature?.reason ?? FAULTS[why]} ${NOTHING_SENT} Send the same request with the same key and a valid ${signature === undefined ? "credential" : "signature"} of the same caller.`;
      const wait = signature?.retryAfterMs;
      const [status, title] = [401, "Credential invalid"] as const;
      const details =
        wait === undefined ? notRetryable(status, title, detail) : retryableProblem(status, title, detail, wait);
      return withFault(details, signature?.fault ?? null);
    }
    case "identity-unavailable":
      return withFault(
        retryableProblem(
          503,
          "Identity unavailable",
          `The gateway cannot find out whose credential this is at the moment${problem.isProfile === true ? ", because it cannot fetch the keys of its agent" : ""}. ${NOTHING_SENT} Send the same request again later, with the same key.`,
          problem.retryAfterMs,
        ),
        problem.isProfile === true ? "profile-unreachable" : null,
      );
  }
}
