// What an attempt's end means. Whatever cannot be told apart is ambiguous: never a guess towards a second effect.

/** How an attempt ended, as seen from the gateway. */
export type AttemptEnd =
  /** The origin answered, and its whole body arrived (or more of it than is kept). */
  | { readonly kind: "answered"; readonly status: number }
  /** No connection could be opened: certainly nothing was sent. */
  | { readonly kind: "unreachable" }
  /** The connection broke after something may have been sent, or the body was cut short. */
  | { readonly kind: "dropped" }
  /** The deadline for the headers, or for the next piece of the body, passed. */
  | { readonly kind: "timed-out" };

/** Why an attempt ended without a result. */
export type EndReason =
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "unreachable" | "dropped" | "timed-out" };

/** An attempt at which the call broke off, after something may have been sent. */
export type BrokenOff = Extract<AttemptEnd, { kind: "dropped" | "timed-out" }>;

/**
 * - `result`: the operation took effect (or was answered for good); stored and replayed.
 * - `refused`: the origin certainly did not act; the key may be tried again at once.
 * - `ambiguous`: nobody knows.
 */
export type Verdict = "result" | "refused" | "ambiguous";

/** A verdict that leaves nothing to replay. */
export type NoResult = Exclude<Verdict, "result">;

/** A route's statuses that are no result. A status in both lists is ambiguous; the configuration forbids it. */
export type VerdictLists = Readonly<Record<NoResult, readonly number[]>>;

/**
 * The status that a final response is processed as: one that is no status of a final response means what 500 means (RFC 9110,
 * section 15). The runtime makes no such response either, so a client is told 500.
 */
export function finalStatus(status: number): number {
  return status >= 200 && status <= 599 ? status : 500;
}

export function judge(end: AttemptEnd, lists: VerdictLists): Verdict {
  switch (end.kind) {
    case "answered":
      if (lists.ambiguous.includes(end.status)) return "ambiguous";
      return lists.refused.includes(end.status) ? "refused" : "result";
    case "unreachable":
      return "refused";
    case "dropped":
    case "timed-out":
      return "ambiguous";
  }
}
