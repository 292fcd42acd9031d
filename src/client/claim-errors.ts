// Why `once` gives no result. Each says what is known of the effect, which is what the caller has to decide about.

import { OncewayError } from "./idempotency-error.ts";

/** Another attempt has the lock, or may still be in flight. Try again after `retryAfterMs`; the broker's own redelivery will do. */
export class InFlightError extends OncewayError {
  override readonly name = "InFlightError";
  readonly retryAfterMs: number;

  constructor(key: string, retryAfterMs: number) {
    super(`another attempt of ${key} may be in flight for ${retryAfterMs} ms`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The key was used for another payload. No retry helps. */
export class KeyReusedError extends OncewayError {
  override readonly name = "KeyReusedError";

  constructor(key: string) {
    super(`${key} was claimed for another payload`);
  }
}

/**
 * The operation may have taken effect, and nobody knows: an earlier attempt was lost and an operator has to decide, or this one acted
 * and could not say so.
 */
export class OutcomeUnknownError extends OncewayError {
  override readonly name = "OutcomeUnknownError";

  constructor(key: string, cause?: unknown) {
    super(`${key} may have taken effect`, { cause });
  }
}

/** The lock had ended before this attempt did, and another has begun or an operator has decided since. Both may have acted. */
export class SupersededError extends OncewayError {
  override readonly name = "SupersededError";

  constructor(key: string) {
    super(`the claim of ${key} was lost: its lock ended, and another attempt may have begun`);
  }
}

/** For a handler to throw: this attempt certainly had no effect, so the next one may begin at once. */
export class NoEffectError extends OncewayError {
  override readonly name = "NoEffectError";
}

/**
 * The gateway refused the request, or cannot be reached. The handler was not called. A claim whose answer was lost may hold the key until
 * its lock ends.
 */
export class ClaimFailedError extends OncewayError {
  override readonly name = "ClaimFailedError";
  /** The gateway's code, such as `consumer-unauthorized`; `null` if the answer had none, or there was no answer. */
  readonly code: string | null;
  /** The status of the answer; `null` if there was none. */
  readonly status: number | null;

  constructor(
    message: string,
    { code, status, cause }: { readonly code: string | null; readonly status: number | null; readonly cause?: unknown },
  ) {
    super(message, { cause });
    this.code = code;
    this.status = status;
  }
}
