// What the operator API answers when it does not do what it is asked. Whoever may not see a record learns nothing here: the
// text of a refusal depends on nothing but the refusal.

export type OperatorProblem =
  /** No token, or a wrong one. */
  | { readonly code: "operator-unauthorized" }
  /** A token that may only read. */
  | { readonly code: "operator-forbidden" }
  /** Too many wrong tokens from one address. */
  | { readonly code: "operator-throttled"; readonly retryAfterMs: number }
  | { readonly code: "operator-request-invalid"; readonly reason: string }
  /** No such operation; or the whole API is off. */
  | { readonly code: "operator-not-found" }
  | { readonly code: "record-not-found" }
  /** The record's answer stands. */
  | { readonly code: "change-refused"; readonly why: "completed" }
  /** An attempt may be at work, until its lock ends at the latest. */
  | { readonly code: "change-refused"; readonly why: "in-flight"; readonly retryAfterMs: number };

interface Description {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** `null`: not worth sending again. */
  readonly retryAfterMs: number | null;
}

export function describeOperatorProblem(problem: OperatorProblem): Description {
  switch (problem.code) {
    case "operator-unauthorized":
      return final(401, "Operator token needed", "Send the header Authorization: Bearer with an operator's token.");
    case "operator-forbidden":
      return final(403, "Token may only read", "This token reads records. Changes and stored bodies need ADMIN_TOKEN.");
    case "operator-throttled":
      return {
        status: 429,
        title: "Too many wrong tokens",
        detail: "Too many wrong tokens have come from this address. None is looked at until later.",
        retryAfterMs: problem.retryAfterMs,
      };
    case "operator-request-invalid":
      return final(400, "Operator request invalid", `${problem.reason} Nothing was changed.`);
    case "operator-not-found":
      return final(404, "No such operation", "The operator API has no such operation here, or it is switched off.");
    case "record-not-found":
      return final(
        404,
        "No such record",
        "There is no such record, or what was asked for is not kept. It may have expired.",
      );
    case "change-refused":
      return problem.why === "completed"
        ? final(
            409,
            "Change refused",
            "The record is completed, and its answer stands. It can only be forgotten. Nothing was changed.",
          )
        : {
            status: 409,
            title: "Change refused",
            detail:
              "An attempt is in flight, or may still be at work in the origin: attempts never overlap. Nothing was changed. Ask again when it has ended, or its lock has.",
            retryAfterMs: problem.retryAfterMs,
          };
  }
}

function final(status: number, title: string, detail: string): Description {
  return { status, title, detail, retryAfterMs: null };
}
