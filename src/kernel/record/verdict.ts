// Decides what an attempt's end means. If the origin may or may not have acted, the end is ambiguous: a wrong guess could
// cause a second effect.

/** How an attempt ended, as the gateway saw it. */
export type AttemptEnd =
  /** The origin answered, and its whole body arrived, or more of it than the gateway keeps. */
  | { readonly kind: "answered"; readonly status: number }
  /** No connection could be opened: certainly nothing was sent. */
  | { readonly kind: "unreachable" }
  /** The connection broke when something may already have been sent, or the body was cut short. */
  | { readonly kind: "dropped" }
  /** The headers, or the next piece of the body, did not arrive in time. */
  | { readonly kind: "timed-out" };

/** Why an attempt ended without a result. */
export type EndReason =
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "unreachable" | "dropped" | "timed-out" }
  /** The consumer that made the attempt says why. */
  | { readonly kind: "said"; readonly text: string };

/** An attempt at which the call broke off, after something may have been sent. */
export type BrokenOff = Extract<AttemptEnd, { kind: "dropped" | "timed-out" }>;

/**
 * - `result`: the origin's answer is final (usually the operation took effect); it is stored and replayed.
 * - `refused`: the origin certainly did not act; the key may be retried at once.
 * - `ambiguous`: the origin may have acted.
 */
export type Verdict = "result" | "refused" | "ambiguous";

/** A verdict that leaves nothing to replay. */
export type NoResult = Exclude<Verdict, "result">;

/** A route's statuses that are not results. A status in both lists would be ambiguous; the configuration forbids it. */
export type VerdictLists = Readonly<Record<NoResult, readonly number[]>>;

/**
 * The status that the gateway processes and sends for an origin's final response. A status outside 200–599 counts as 500 (RFC
 * 9110, section 15), also because the runtime cannot construct such a response.
 */
export function finalStatus(status: number): number {
  return status >= 200 && status <= 599 ? status : 500;
}

/** The verdict on an attempt's end, by the route's lists. */
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
