// What a client reads of a problem (RFC 9457), and the two kinds: those of which a retry is worth something, and the others.

export interface ProblemDescription {
  readonly status: number;
  readonly title: string;
  /** What happened, and what the client should do next. */
  readonly detail: string;
  /** Whether the same request with the same key is worth sending again. */
  readonly retryable: boolean;
  /**
   * Whether a client may start its operation afresh with a *new* key, if it sends nothing more with this one: no attempt of this key has taken
   * effect, may have, or is in flight. False unless somebody knows, because an earlier try may have been received. `null`: the problem is none of an
   * operation.
   */
  readonly safeNewKey: boolean | null;
  /** Seconds for `Retry-After`; `null` for none. */
  readonly retryAfterSeconds: number | null;
  /** Extension members of this problem (RFC 9457, section 3.2). */
  readonly members: Readonly<Record<string, number | string>>;
}

export const NOTHING_SENT = "Nothing was sent to the API.";

export function notRetryable(status: number, title: string, detail: string): ProblemDescription {
  return { status, title, detail, retryable: false, safeNewKey: false, retryAfterSeconds: null, members: {} };
}

/** `afterMs`: how long to wait at least; `null` if nobody can say. */
export function retryableProblem(
  status: number,
  title: string,
  detail: string,
  afterMs: number | null,
): ProblemDescription {
  const retryAfterSeconds = afterMs === null ? null : wholeSeconds(afterMs);
  return { status, title, detail, retryable: true, safeNewKey: false, retryAfterSeconds, members: {} };
}

/** `fault`: what exactly is wrong, for programs; `null`: the code says all of it. */
export function withFault(details: ProblemDescription, fault: string | null): ProblemDescription {
  return fault === null ? details : { ...details, members: { fault } };
}

/** `Retry-After` counts whole seconds (RFC 9110, section 10.2.3). Rounded up, because a retry that comes too soon is wasted. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
