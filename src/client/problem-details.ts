// The gateway's problems (RFC 9457) as a client reads them. Their `type` distinguishes them from the origin's own problems.

/** The codes of the contract; a later gateway may send others. */
export type ProblemCode =
  | "key-missing"
  | "key-invalid"
  | "request-invalid"
  | "key-reused"
  | "too-many-keys"
  | "in-flight"
  | "outcome-unknown"
  | "response-not-kept"
  | "key-expired"
  | "key-abandoned"
  | "repeated-content"
  | "body-too-large"
  | "origin-unreachable"
  | "origin-dropped"
  | "origin-timeout"
  | "store-unavailable"
  | "credential-invalid"
  | "identity-unavailable"
  | "configuration-invalid"
  | "monitor-not-found"
  | "key-not-known"
  | "attempts-exhausted"
  | "cancel-refused";

export interface ProblemDetails {
  readonly code: ProblemCode | (string & {});
  readonly status: number;
  readonly title: string;
  /** What happened and what to do next, in a sentence for people. */
  readonly detail: string;
  /** Whether a retry of the same request with the same key may help. */
  readonly retryable: boolean;
  /**
   * Whether no attempt of this key has taken effect, may have, or is in flight: if nothing more is sent with it, and no earlier try is still on its way,
   * the operation may be started afresh with a new key. `false` if the gateway did not say.
   */
  readonly safeNewKey: boolean;
  /** Names this occurrence, also in the gateway's log: worth quoting to its operators. `null` if the gateway gave none. */
  readonly instance: string | null;
  /** The status of the origin's answer, in `response-not-kept` and `key-expired`; `null` if it is not known. */
  readonly originalStatus: number | null;
}

const TYPE_PREFIX = "/.well-known/idempotency#";

/** `null` if the text is not a problem of the gateway's. */
export function parseProblem(text: string): ProblemDetails | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isMembers(read)) return null;
  const { type, code, status, title, detail, retryable, safeNewKey, instance, originalStatus } = read;
  if (typeof code !== "string" || type !== TYPE_PREFIX + code || typeof status !== "number") return null;
  return {
    code,
    status,
    title: typeof title === "string" ? title : code,
    detail: typeof detail === "string" ? detail : "",
    retryable: retryable === true,
    safeNewKey: safeNewKey === true,
    instance: typeof instance === "string" ? instance : null,
    originalStatus: typeof originalStatus === "number" ? originalStatus : null,
  };
}

interface Members {
  readonly type?: unknown;
  readonly code?: unknown;
  readonly status?: unknown;
  readonly title?: unknown;
  readonly detail?: unknown;
  readonly retryable?: unknown;
  readonly safeNewKey?: unknown;
  readonly instance?: unknown;
  readonly originalStatus?: unknown;
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}
