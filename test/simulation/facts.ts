// What an outside observer knows about the attempts: when each began, what the origin answered, and what is durable. The
// rules use these facts and never the gateway's own view.

import type { ExchangeHead } from "../../src/kernel/request/message.ts";
import type { Clock } from "./clock.ts";
import type { DurableRow } from "./durable.ts";
import { LOCK_MS } from "./times.ts";

/** A time, and how often the clock had been put right by then. */
export type Moment = Pick<Clock, "nowMs" | "corrections">;

export interface AttemptFacts {
  readonly id: string;
  readonly record: string;
  /** The object that runs it. */
  readonly object: string;
  readonly fingerprint: string;
  readonly startedAtMs: number;
  /** How often the clock had been put right when it began. */
  readonly corrections: number;
  /** The same when its lock was set that it has now, as far as is known. */
  lockCorrections: number;
  /** The end of its lock: at least one lock after the start, or later if the ledger durably says so. */
  lockedUntilMs: number;
  /** Whether an instance still runs it. */
  isInFlight: boolean;
  /** Whether its instance was lost while it ran. */
  isLost: boolean;
  /** Whether its claim has ever been durable. If not, a crash undoes it. */
  isDurable: boolean;
  /** The attempt number that the origin saw; 0 before the call. */
  number: number;
  /** Whether the gateway knows that the origin did not act. */
  isRefused: boolean;
  /** When the origin, asked after the lock's end, said that the attempt had no effect; `null` before. */
  absentAtMs: number | null;
  /** Operators' changes: released, the next attempt may start; resolved, it has its answer; forgotten, it no longer counts. */
  isReleased: boolean;
  isResolved: boolean;
  isForgotten: boolean;
  /** How its call has the key; `null` before the call. */
  key: string | null;
  /** The body of its request. */
  readonly content: string;
  /** The credential of the client that began it. */
  readonly credential: string;
  /** How many requests had been sent when it began, and when the gateway got the origin's refusal. */
  readonly startedAfter: number;
  refusedAfter: number | null;
  /** When the gateway got the head of a result; a result too large to keep is settled from then on. `null` before. */
  answeredAtMs: number | null;
  /** When the gateway had the whole result; `null` before. */
  resultAtMs: number | null;
  /** When its end was known: by its result, a refusal, or the origin's report; `null` before. */
  ended: Moment | null;
  /** The length that the origin declared for its answer; `null` if none. */
  declaredBytes: number | null;
  /** The complete bodies of the origin's answer to the call and of its answers to questions. */
  readonly wholes: string[];
  /** Until when it is durably the record's answer; `null` if it is not. */
  completedUntilMs: number | null;
  /** Whether its record says durably that nobody knows its outcome, or that it is still in flight. */
  isUndecided: boolean;
}

/** An attempt of `head`'s record that `object` starts, after `sent` requests have been sent. */
export function startedAttempt(
  object: string,
  id: string,
  head: ExchangeHead,
  { nowMs, corrections }: Moment,
  sent: number,
  content = "",
): AttemptFacts {
  return {
    id,
    record: head.record.key,
    object,
    fingerprint: head.request.fingerprint,
    startedAtMs: nowMs,
    corrections,
    lockCorrections: corrections,
    lockedUntilMs: nowMs + LOCK_MS,
    isInFlight: true,
    isLost: false,
    isDurable: false,
    number: 0,
    isRefused: false,
    absentAtMs: null,
    isReleased: false,
    isResolved: false,
    isForgotten: false,
    key: null,
    content,
    credential: head.call.headers.find(([header]) => header === "authorization")?.[1] ?? "",
    startedAfter: sent,
    refusedAfter: null,
    answeredAtMs: null,
    resultAtMs: null,
    ended: null,
    declaredBytes: null,
    wholes: [],
    completedUntilMs: null,
    isUndecided: false,
  };
}

/** A result that a client has got. */
export interface HeardResult {
  readonly text: string;
  readonly status: number;
  readonly fingerprint: string;
  readonly untilMs: number;
  /** An operator has erased its record since. */
  isForgotten: boolean;
}

/** An operator's change that is not durable yet. */
interface Change {
  readonly object: string;
  readonly gate: number;
  readonly done: () => void;
  readonly undo: () => void;
}

export class Facts {
  readonly attempts = new Map<string, AttemptFacts>();
  /** The attempts of one record, in the order of their starts. */
  readonly #byRecord = new Map<string, AttemptFacts[]>();
  rows: ReadonlyMap<string, DurableRow> = new Map();
  /** How many bytes of each body in chunks are durable. */
  readonly durableBytes = new Map<string, number>();
  readonly reported = new Map<string, HeardResult>();
  /** How often people have erased each record. */
  readonly #erasures = new Map<string, number>();
  /** The records whose rows say what no code writes. */
  readonly unreadable = new Set<string>();
  /** The last question about each record. If its instance is gone before the outcome is durable, it is never settled. */
  readonly verifications = new Map<string, { readonly isOpen: boolean; isSettled: boolean }>();

  #changes: Change[] = [];

  /** Registers what to do once a write is durable, and what to undo if a crash comes first. */
  change(change: Change): void {
    this.#changes.push(change);
  }

  commit(object: string, durable: number): void {
    const [done, open] = [
      this.#changes.filter((one) => one.object === object && one.gate <= durable),
      this.#changes.filter((one) => one.object !== object || one.gate > durable),
    ];
    this.#changes = open;
    for (const one of done) one.done();
    for (const verification of this.verifications.values()) if (!verification.isOpen) verification.isSettled = true;
  }

  /** People have erased the record. */
  erase(record: string): void {
    this.#erasures.set(record, this.erasuresOf(record) + 1);
  }

  erasuresOf(record: string): number {
    return this.#erasures.get(record) ?? 0;
  }

  of(record: string): readonly AttemptFacts[] {
    return this.#byRecord.get(record) ?? [];
  }

  /** The attempts that an instance runs. */
  inFlight(): readonly AttemptFacts[] {
    return [...this.attempts.values()].filter(({ isInFlight }) => isInFlight);
  }

  add(attempt: AttemptFacts): void {
    this.attempts.set(attempt.id, attempt);
    const others = this.#byRecord.get(attempt.record);
    if (others === undefined) this.#byRecord.set(attempt.record, [attempt]);
    else others.push(attempt);
  }

  /** Bodies in chunks become durable. */
  learnBytes(sizes: readonly (readonly [string, number])[]): void {
    for (const [body, bytes] of sizes) {
      this.durableBytes.set(body, Math.max(bytes, this.durableBytes.get(body) ?? 0));
    }
  }

  /** The object's instance is gone: nothing runs there, and what was not durable is undone. */
  crash(object: string): void {
    const lost = this.#changes.filter((one) => one.object === object);
    for (const { undo } of lost.toReversed()) undo();
    this.#changes = this.#changes.filter((one) => one.object !== object);
    for (const [record, { isSettled }] of this.verifications) {
      if (!isSettled) this.verifications.set(record, { isOpen: true, isSettled });
    }
    for (const attempt of this.attempts.values()) {
      if (attempt.object !== object) continue;
      attempt.isLost ||= attempt.isInFlight;
      attempt.isInFlight = false;
      const row = this.rows.get(attempt.record);
      if (attempt.isDurable && row?.attemptId === attempt.id && (row.state === "started" || row.state === "unknown")) {
        // The gateway has lost the origin's answer.
        attempt.isRefused = false;
        attempt.refusedAfter = null;
        attempt.absentAtMs = null;
        attempt.answeredAtMs = null;
        attempt.resultAtMs = null;
        attempt.ended = null;
      }
      if (attempt.isDurable) continue;
      this.attempts.delete(attempt.id);
      const left = this.of(attempt.record).filter((one) => one !== attempt);
      this.#byRecord.set(attempt.record, left);
      // When a request is delivered again, an earlier attempt may have had the same id.
      const earlier = left.findLast(({ id }) => id === attempt.id);
      if (earlier !== undefined) this.attempts.set(earlier.id, earlier);
    }
  }
}
