// What an observer from outside knows of the attempts: when each began, what the origin told the gateway of it, and what
// of it is durable. The rules are judged by these facts, never by what the gateway believes.

import type { DurableRow } from "./durable.ts";

export interface AttemptFacts {
  readonly id: string;
  readonly record: string;
  readonly fingerprint: string;
  readonly startedAtMs: number;
  /** The end of its lock: at least a lock after the start, and as late as the ledger has durably said. */
  lockedUntilMs: number;
  /** Whether an instance still runs it. */
  isLiving: boolean;
  /** Whether its claim has ever been durable. What never was is gone with a crash. */
  isDurable: boolean;
  /** The number that the origin saw; 0 before the call. */
  number: number;
  /** Whether the gateway has learnt that the origin did not act. */
  isRefused: boolean;
  /** Whether the origin, asked after its lock, has said that it did not take effect. */
  isAbsent: boolean;
  /** What operators have made of it: the next one may start, it has been given its answer, it counts no more. */
  isReleased: boolean;
  isResolved: boolean;
  isForgotten: boolean;
  /** Whose client began it. */
  readonly credential: string;
  /** How many requests had been sent when it began, and when the gateway learnt that the origin had refused it. */
  readonly startedAfter: number;
  refusedAfter: number | null;
  /** When the gateway heard that there is a result, which is settled from then on if it cannot be kept; `null` before. */
  answeredAtMs: number | null;
  /** When the gateway had the whole result; `null` before. */
  resultAtMs: number | null;
  /** How long the origin has said that its answer is; `null` when it has not. */
  declaredBytes: number | null;
  /** What is whole of what the origin has said of it: the body of its answer, and of an answer to a question. */
  readonly wholes: string[];
  /** Until when it is durably the record's answer; `null` when it is not. */
  completedUntilMs: number | null;
}

/** A result that a client has heard. */
export interface Told {
  readonly text: string;
  readonly status: number;
  readonly fingerprint: string;
  readonly untilMs: number;
  /** An operator has erased its record since. */
  isForgotten: boolean;
}

/** An operator's change that is not durable yet. */
interface Change {
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
  readonly told = new Map<string, Told>();
  /** The last question about each record; one whose instance is gone before what came of it was durable is never settled. */
  readonly questions = new Map<string, { readonly isOpen: boolean; isSettled: boolean }>();

  #changes: Change[] = [];

  /** What is to be done when a write is durable, or undone when it never will be. */
  change(change: Change): void {
    this.#changes.push(change);
  }

  commit(durable: number): void {
    const [done, open] = [
      this.#changes.filter(({ gate }) => gate <= durable),
      this.#changes.filter(({ gate }) => gate > durable),
    ];
    this.#changes = open;
    for (const one of done) one.done();
    for (const question of this.questions.values()) if (!question.isOpen) question.isSettled = true;
  }

  of(record: string): readonly AttemptFacts[] {
    return this.#byRecord.get(record) ?? [];
  }

  /** Those that an instance runs. */
  living(): readonly AttemptFacts[] {
    return [...this.attempts.values()].filter(({ isLiving }) => isLiving);
  }

  add(attempt: AttemptFacts): void {
    this.attempts.set(attempt.id, attempt);
    const others = this.#byRecord.get(attempt.record);
    if (others === undefined) this.#byRecord.set(attempt.record, [attempt]);
    else others.push(attempt);
  }

  /** The instance is gone: nothing runs any more, and what was not durable has never been. */
  crash(): void {
    for (const { undo } of this.#changes.toReversed()) undo();
    this.#changes = [];
    for (const [record, { isSettled }] of this.questions) {
      if (!isSettled) this.questions.set(record, { isOpen: true, isSettled });
    }
    for (const attempt of this.attempts.values()) {
      attempt.isLiving = false;
      const row = this.rows.get(attempt.record);
      if (attempt.isDurable && row?.attemptId === attempt.id && (row.state === "started" || row.state === "unknown")) {
        // What the origin said of it is forgotten.
        attempt.isRefused = false;
        attempt.refusedAfter = null;
        attempt.isAbsent = false;
        attempt.answeredAtMs = null;
        attempt.resultAtMs = null;
      }
      if (attempt.isDurable) continue;
      this.attempts.delete(attempt.id);
      const left = this.of(attempt.record).filter((one) => one !== attempt);
      this.#byRecord.set(attempt.record, left);
      // An earlier one may have had its id, when a request is delivered again.
      const earlier = left.findLast(({ id }) => id === attempt.id);
      if (earlier !== undefined) this.attempts.set(earlier.id, earlier);
    }
  }
}
