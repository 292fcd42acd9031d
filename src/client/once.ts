// Runs a handler at most once for each key: it claims the key at the gateway, keeps the claim while the handler works, and leaves the
// result, or says what a failure has left.

import { askPosition, callClaims, type ClaimCalls, payloadHash } from "./claim-calls.ts";
import { ClaimFailed, InDoubt, InFlight, Mismatch, NothingHappened, Superseded } from "./claim-errors.ts";
import { type ClaimName, Lease, lockOf } from "./lease.ts";
import { type Clock, type Fetch, milliseconds, SYSTEM, whole } from "./settings.ts";

export interface OnceOptions {
  /** The group of consumers, as `[[vars.CONSUMERS]]` names it. */
  readonly group: string;
  /** The group's token. */
  readonly token: string;
  /**
   * The address of the claims API. A service binding takes any host.
   * @defaultValue "https://gateway/_claims"
   */
  readonly url?: string;
  /** The gateway as a service binding, without a public hop. */
  readonly binding?: { readonly fetch: Fetch };
  /**
   * How long the lock lasts if nothing is heard of this process. It is extended while the handler works.
   * @defaultValue the group's `lock`
   */
  readonly lockMs?: number;
  /**
   * Where the message is that the operation is about. Its record then lies with the others of its partition, whose position moves with
   * the completion (`readPosition`). The same key in another partition is another record.
   */
  readonly position?: { readonly stream: string; readonly partition: number; readonly offset: number };
  /** Which process this is, for operators. */
  readonly holder?: string;
  /**
   * Calls of the gateway that fail are made so often.
   * @defaultValue 4
   */
  readonly tries?: number;
  /**
   * Milliseconds for one call of the gateway.
   * @defaultValue 10_000
   */
  readonly tryMs?: number;
  /**
   * Sends the requests, if there is no binding.
   * @defaultValue the global `fetch`
   */
  readonly fetch?: Fetch;
  /**
   * The clock, the timer and the source of random numbers.
   * @defaultValue the system's
   */
  readonly clock?: Clock;
}

export interface OnceContext {
  /** 1, 2, 3 …: the fencing token. Whatever can refuse an older one should. */
  readonly attempt: number;
  /** Aborts when the lock is about to end, or is lost: another attempt may begin. */
  readonly signal: AbortSignal;
}

export interface OnceResult<Result> {
  readonly result: Result;
  /** Whether it is the result of an earlier attempt, and the handler was not called. */
  readonly replayed: boolean;
  /** When it was completed, as ISO 8601; `null`: by this call. */
  readonly completedAt: string | null;
}

/**
 * Calls `handler`, unless it has had its result for `key` already. What it throws is thrown on; unless that is a `NothingHappened`, the
 * gateway takes it that the attempt may have had an effect.
 *
 * @param payload what the operation is about: text, bytes or JSON. The same key with another payload is refused.
 * @throws {InFlight} if another attempt is at work. @throws {Mismatch} if the key was used for another payload.
 * @throws {InDoubt} if an attempt may have taken effect and nobody knows. @throws {Superseded} if the claim was lost meanwhile.
 * @throws {ClaimFailed} if the gateway refuses the call or cannot be reached.
 *
 * @example
 * const { result, replayed } = await once(options, order.id, order, ({ attempt, signal }) => charge(order, attempt, signal));
 */
export async function once<Result>(
  options: OnceOptions,
  key: string,
  payload: unknown,
  handler: (context: OnceContext) => Promise<Result>,
): Promise<OnceResult<Result>> {
  const calls = callsOf(options);
  const { lockMs, holder, position } = options;
  const name = { key, attemptId: crypto.randomUUID(), position };
  const hash = await payloadHash(payload);
  const sentAt = calls.clock.now();
  const claimed = await callClaims<Result>(calls, "", { ...name, payloadHash: hash, lockMs, holder });
  switch (claimed.state) {
    case "granted":
      return run(calls, name, new Lease(calls, name, sentAt, lockOf(claimed)), claimed.attempt ?? 1, handler);
    case "completed":
      return { result: claimed.result, replayed: true, completedAt: claimed.completedAt ?? null };
    case "in-flight":
      throw new InFlight(key, claimed.retryAfterMs ?? 0);
    case "unknown":
      throw new InDoubt(key);
    case "mismatch":
      throw new Mismatch(key);
    default:
      throw new ClaimFailed(`the gateway says ${claimed.state}, which this client does not know`, claimed.state);
  }
}

/**
 * Where the group goes on reading in a partition: no message before that is still to be processed. `null`: nobody knows, so the broker's
 * own position counts.
 *
 * @throws {ClaimFailed} if the gateway refuses the call or cannot be reached.
 */
export async function readPosition(options: OnceOptions, stream: string, partition: number): Promise<number | null> {
  const calls = callsOf(options);
  return askPosition(calls, new URLSearchParams({ stream, partition: String(partition) }));
}

async function run<Result>(
  calls: ClaimCalls,
  name: ClaimName,
  lease: Lease,
  attempt: number,
  handler: (context: OnceContext) => Promise<Result>,
): Promise<OnceResult<Result>> {
  let result: Result;
  try {
    result = await handler({ attempt, signal: lease.signal });
  } catch (error) {
    lease.end();
    const effect = error instanceof NothingHappened ? "none" : "unknown";
    // If nobody hears of it, the lock ends, which says the same.
    await callClaims(calls, "release", { ...name, effect, reason: reasonOf(error) }).catch(() => undefined);
    throw error;
  }
  lease.end();
  const ended = await callClaims(calls, "complete", { ...name, result }).catch((error: unknown) => {
    throw new InDoubt(name.key, error);
  });
  if (ended.state !== "settled") throw new Superseded(name.key);
  return { result, replayed: false, completedAt: null };
}

/** As the API takes it: up to 200 ASCII characters. */
function reasonOf(error: unknown): string {
  const text = String(error)
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .trim()
    .slice(0, 200)
    .trim();
  return text === "" ? "thrown" : text;
}

/** Called as a function: see `resolveOptions`. */
const GLOBAL: Fetch = (...request) => fetch(...request);

function callsOf(options: OnceOptions): ClaimCalls {
  const { group, token, url = "https://gateway/_claims", binding } = options;
  return {
    url: `${url.replace(/\/$/, "")}/${group}`,
    token,
    tries: whole("tries", options.tries ?? 4, 1),
    tryMs: milliseconds("tryMs", options.tryMs ?? 10_000, 1),
    firstPauseMs: 200,
    maxPauseMs: 5000,
    fetch: binding === undefined ? (options.fetch ?? GLOBAL) : (...request) => binding.fetch(...request),
    clock: options.clock ?? SYSTEM,
  };
}
