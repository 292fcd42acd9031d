// Runs a handler at most once for each key: it claims the key at the gateway, keeps the claim while the handler works, and leaves the
// result, or says what a failure has left.

import {
  askPosition,
  callClaims,
  type ClaimCallAnswer,
  type ClaimCalls,
  isRefusedEntry,
  payloadHash,
} from "./claim-calls.ts";
import {
  ClaimFailedError,
  InFlightError,
  KeyReusedError,
  NoEffectError,
  OutcomeUnknownError,
  SupersededError,
} from "./claim-errors.ts";
import { exactJson } from "./exact-json.ts";
import { type ClaimName, ClaimLease, lockOf } from "./lease.ts";
import { beginReading, type MessagePosition, takeTurn, type ClaimTurn } from "./partition-order.ts";
import { type Clock, type Fetch, wholeMilliseconds, SYSTEM, wholeNumber } from "./client-settings.ts";

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
   * the completion (`readPosition`). The same key in another partition is another record. Call `once` in the order of the partition, and for
   * all its messages at once if you like: their claims go one after the other, and the handlers run side by side.
   */
  readonly position?: MessagePosition;
  /** Which process this is, for operators. */
  readonly holder?: string;
  /**
   * A claim, and each extension of it, that gets no answer is sent so often. How the attempt ended is said for longer: until the lock has
   * ended, and as much time again, at least 30 seconds.
   * @defaultValue 8
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

export type OnceResult<Result> = HandledResult<Result> | ReplayedResult<Result>;

/** The handler was called. */
export interface HandledResult<Result> {
  readonly replayed: false;
  readonly result: Result;
  /**
   * Whether later calls get the result. `false`: it is `undefined`, has more than 64 KiB as JSON, or JSON does not say exactly what it is;
   * the operation is completed all the same, and later calls get `undefined`.
   */
  readonly isKept: boolean;
  readonly completedAt: null;
}

/** An earlier attempt has had its result, and the handler was not called. */
export interface ReplayedResult<Result> {
  readonly replayed: true;
  /** What came back from JSON, such as text instead of a `Date`; `undefined` if it was not kept. */
  readonly result: Result | undefined;
  readonly isKept: boolean;
  /** As ISO 8601; `null`: the record has expired, and only its key is remembered. */
  readonly completedAt: string | null;
}

/**
 * Calls `handler`, unless it has had its result for `key` already. What it throws is thrown on; unless that is a `NoEffectError`, the
 * gateway takes it that the attempt may have had an effect. It settles when the gateway has heard how the handler ended, or when that is
 * too late: while the gateway is away, when the lock has ended and as much time again.
 *
 * @param payload what the operation is about: text, bytes (an `ArrayBuffer` or a view of one) or plain JSON. The same key with another payload is
 * refused.
 * @throws {TypeError} if the payload is none of these: a `Map`, for example, or an instance of a class without `toJSON`.
 * @throws {InFlightError} if another attempt is in flight. @throws {KeyReusedError} if the key was used for another payload.
 * @throws {OutcomeUnknownError} if an attempt may have taken effect and nobody knows. @throws {SupersededError} if the claim was lost meanwhile.
 * @throws {ClaimFailedError} if the gateway refuses the call or cannot be reached.
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
  // Before anything is awaited.
  const turn = position === undefined ? null : takeTurn(calls, position);
  const name = { key, attemptId: crypto.randomUUID(), position };
  const placed = position === undefined ? undefined : { ...position, previous: turn?.previous ?? null };
  const { claimed, sentAt } = await claimInTurn<Result>(calls, turn, async () => ({
    ...name,
    position: placed,
    payloadHash: await payloadHash(payload),
    lockMs,
    holder,
  }));
  switch (claimed.state) {
    case "granted":
      return run(name, new ClaimLease(calls, name, sentAt, lockOf(claimed)), claimed.attempt ?? 1, handler);
    case "completed":
      return {
        replayed: true,
        result: claimed.result,
        isKept: "result" in claimed,
        completedAt: claimed.completedAt ?? null,
      };
    case "in-flight":
      throw new InFlightError(key, claimed.retryAfterMs ?? 0);
    case "unknown":
      throw new OutcomeUnknownError(key);
    case "mismatch":
      throw new KeyReusedError(key);
    default:
      throw new ClaimFailedError(`the gateway says ${claimed.state}, which this client does not know`, {
        code: claimed.state,
        status: 200,
      });
  }
}

interface Claimed<Result> {
  readonly claimed: ClaimCallAnswer<Result>;
  /** Its lock may have begun then. */
  readonly sentAt: number;
}

/** Sends the claim when its turn has come, and lets the next one go when it is answered, or has failed. */
async function claimInTurn<Result>(
  calls: ClaimCalls,
  turn: ClaimTurn | null,
  entryOf: () => Promise<ClaimName & { readonly position?: MessagePosition | undefined }>,
): Promise<Claimed<Result>> {
  let isAnswered = false;
  try {
    const entry = await entryOf();
    await turn?.come;
    const sentAt = calls.clock.now();
    const claimed = await callClaims<Result>(calls, "", entry).catch(async (error: unknown) => {
      // It may have been granted, and with "hold" a lock that ends leaves the outcome unknown of a handler that was never called.
      const { key, attemptId, position } = entry;
      const release = { key, attemptId, position, effect: "none", reason: "the claim had no answer" };
      if (isUnanswered(error)) await callClaims({ ...calls, tries: 1 }, "release", release).catch(() => undefined);
      throw error;
    });
    isAnswered = true;
    return { claimed, sentAt };
  } finally {
    turn?.end(isAnswered);
  }
}

/** Whether the gateway may have done what it was asked. */
function isUnanswered(error: unknown): boolean {
  return error instanceof ClaimFailedError && (error.status === null || error.status < 300 || error.status >= 500);
}

/**
 * Where the group goes on reading in a partition: no message before that is still to be processed. `null`: nobody knows, so the broker's
 * own position counts.
 *
 * @throws {ClaimFailedError} if the gateway refuses the call or cannot be reached.
 */
export async function readPosition(options: OnceOptions, stream: string, partition: number): Promise<number | null> {
  const calls = callsOf(options);
  beginReading(calls, { stream, partition });
  return askPosition(calls, new URLSearchParams({ stream, partition: String(partition) }));
}

async function run<Result>(
  name: ClaimName,
  lease: ClaimLease,
  attempt: number,
  handler: (context: OnceContext) => Promise<Result>,
): Promise<OnceResult<Result>> {
  try {
    let result: Result;
    try {
      result = await handler({ attempt, signal: lease.signal });
    } catch (error) {
      const effect = error instanceof NoEffectError ? "none" : "unknown";
      // If the gateway never hears of it, the lock ends, which says that the outcome is unknown.
      await lease.end("release", { ...name, effect, reason: reasonOf(error) }).catch(() => undefined);
      throw error;
    }
    const { ended, isKept } = await complete(lease, name, keptForm(result));
    if (ended.state !== "settled") throw new SupersededError(name.key);
    return { replayed: false, result, isKept, completedAt: null };
  } finally {
    lease.close();
  }
}

/** With the result, if it can be kept. The operation took effect: without a completion the next delivery would act again. */
async function complete(
  lease: ClaimLease,
  name: ClaimName,
  kept: { readonly result?: unknown },
): Promise<{ readonly ended: ClaimCallAnswer; readonly isKept: boolean }> {
  try {
    const ended = await lease.end("complete", { ...name, ...kept });
    return { ended, isKept: "result" in kept };
  } catch (error) {
    // Whoever is between here and the gateway may take less than the gateway does.
    if ("result" in kept && error instanceof ClaimFailedError && isRefusedEntry(error))
      return complete(lease, name, {});
    throw new OutcomeUnknownError(name.key, error);
  }
}

/** The most bytes of a result that the gateway keeps, as JSON. */
const MAX_RESULT_BYTES = 64 * 1024;

/** The result as later calls get it; without a member: they get none. */
function keptForm(result: unknown): { readonly result?: unknown } {
  if (result === undefined) return {};
  try {
    exactJson(result);
    const text = JSON.stringify(result);
    return new TextEncoder().encode(text).byteLength > MAX_RESULT_BYTES ? {} : { result: JSON.parse(text) };
  } catch {
    return {};
  }
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
    tries: wholeNumber("tries", options.tries ?? 8, 1),
    tryMs: wholeMilliseconds("tryMs", options.tryMs ?? 10_000, 1),
    firstPauseMs: 200,
    maxPauseMs: 5000,
    fetch: binding === undefined ? (options.fetch ?? GLOBAL) : (...request) => binding.fetch(...request),
    clock: options.clock ?? SYSTEM,
    sender: binding ?? options.fetch ?? GLOBAL,
  };
}
