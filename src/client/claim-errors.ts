// Why `once` gives no result. Each says what is known of the effect, which is what the caller has to decide about.

/** Another attempt has the lock, or may still be at work. Try again after `retryAfterMs`; the broker's own redelivery will do. */
export class InFlight extends Error {
  override readonly name = "InFlight";
  readonly retryAfterMs: number;

  constructor(key: string, retryAfterMs: number) {
    super(`another attempt of ${key} may be at work for ${retryAfterMs} ms`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The key was used for another payload. No retry helps. */
export class Mismatch extends Error {
  override readonly name = "Mismatch";

  constructor(key: string) {
    super(`${key} was claimed for another payload`);
  }
}

/**
 * The operation may have taken effect, and nobody knows: an earlier attempt was lost and an operator has to decide, or this one acted
 * and could not say so.
 */
export class InDoubt extends Error {
  override readonly name = "InDoubt";

  constructor(key: string, cause?: unknown) {
    super(`${key} may have taken effect`, { cause });
  }
}

/** The lock had ended before this attempt did, and another has begun or an operator has decided since. Both may have acted. */
export class Superseded extends Error {
  override readonly name = "Superseded";

  constructor(key: string) {
    super(`the claim of ${key} was lost: its lock ended, and another attempt may have begun`);
  }
}

/** For handlers to throw: the attempt certainly had no effect, so the next one may begin at once. */
export class NothingHappened extends Error {
  override readonly name = "NothingHappened";
}

/**
 * The gateway refused the request, or cannot be reached. The handler was not called. A claim whose answer was lost may hold the key until
 * its lock ends.
 */
export class ClaimFailed extends Error {
  override readonly name = "ClaimFailed";
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
