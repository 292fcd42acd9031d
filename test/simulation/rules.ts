// The guarantees as rules over facts (README.md, "Guarantees"). Each names the guarantee that it stands for; a broken one is
// noted, not thrown, since what is thrown in the middle of an exchange would be taken for a fault of the origin.

import type { Clock } from "./clock.ts";
import type { Disk } from "./disk.ts";
import type { DurableRow } from "./durable.ts";
import type { AttemptFacts, Facts } from "./facts.ts";
import { LEAST_RETENTION_MS, LOCK_MS, type Plan, RETENTION_MS } from "./plan.ts";

/** By then the alarm looks after a question that nobody has heard of again. */
const LOOK_AFTER_MS = 35_000;

/** How long what the alarm does is put off after the store has failed. */
const ALARM_RETRY_MS = 5000;

export interface Effect {
  readonly attempt: AttemptFacts;
  readonly atMs: number;
}

export class Rules {
  readonly violations: string[] = [];
  readonly #plan: Plan;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #facts: Facts;
  readonly effects: Effect[] = [];
  /** Whether the platform has dropped the alarm, and none has been set since. */
  isAlarmDropped = false;
  /** Until when the alarm may stay away (its work failed, or the instance is new), though not for ever. */
  excusedUntilMs = 0;

  constructor(plan: Plan, clock: Clock, disk: Disk, facts: Facts) {
    this.#plan = plan;
    this.#clock = clock;
    this.#disk = disk;
    this.#facts = facts;
  }

  broken(guarantee: string, what: string): void {
    this.violations.push(`${guarantee}: ${what}`);
  }

  /** An attempt starts. `waitedSince`: how many requests had been sent when its own was, if that has waited for others. */
  starts(next: AttemptFacts, waitedSince: number | null): void {
    const { latestMs } = this.#clock;
    const same = this.#facts.of(next.record).at(-1);
    // Its record remembers the last attempt, as long as it lives.
    const isShared = same !== undefined && waitedSince !== null && same.fingerprint === next.fingerprint;
    if (
      isShared &&
      !this.#disk.hasFailed &&
      same.startedAfter < waitedSince &&
      waitedSince <= (same.refusedAfter ?? 0)
    ) {
      this.broken("G8", `${next.id} starts, and its client has waited for ${same.id}, which was refused`);
    }
    if (same?.id === next.id && !same.isForgotten && latestMs < same.startedAtMs + LEAST_RETENTION_MS) {
      this.broken("G1", `${next.id} starts a second time`);
    }
    for (const earlier of this.#facts.of(next.record)) {
      const pair = `${next.id} after ${earlier.id}`;
      // One whose result is known may still send the rest of a body that is not kept.
      const resultIsOver = earlier.resultAtMs !== null && latestMs >= earlier.resultAtMs + LEAST_RETENTION_MS;
      if (earlier.isLiving && !resultIsOver) this.broken("G1", `${pair}, which is still in flight`);
      // With its own word its lock has ended.
      if (earlier.isForgotten && earlier.answeredAtMs !== null && !earlier.isResolved) continue;
      if (earlier.completedUntilMs !== null && latestMs < earlier.completedUntilMs && !earlier.isForgotten) {
        this.broken("G2", `${pair}, whose result is durable`);
      }
      if (earlier.isRefused) continue;
      if (latestMs < earlier.lockedUntilMs) this.broken("G1", `${pair}, before the end of its lock`);
      if (earlier.isReleased || earlier.isForgotten) continue;
      const settledMs = Math.min(earlier.lockedUntilMs, earlier.answeredAtMs ?? Number.POSITIVE_INFINITY);
      const forbiddenUntil = settledMs + LEAST_RETENTION_MS;
      if (this.#plan.unknown !== "retry" && !earlier.isAbsent && latestMs < forbiddenUntil) {
        this.broken("G6", `${pair}, whose outcome is not known`);
      }
    }
  }

  /** The call of an attempt leaves the object. */
  leaves(attempt: AttemptFacts): void {
    const row = this.#facts.rows.get(attempt.record);
    if (row?.attemptId !== attempt.id || row.state !== "started") {
      this.broken("G3", `the call of ${attempt.id} leaves, and its claim is not durable`);
    }
    for (const earlier of this.#facts.of(attempt.record)) {
      const isErased = this.#clock.latestMs >= earlier.startedAtMs + LEAST_RETENTION_MS;
      if (
        earlier !== attempt &&
        earlier.isDurable &&
        !earlier.isForgotten &&
        !isErased &&
        earlier.number >= attempt.number
      ) {
        this.broken("G6", `${attempt.id} has number ${attempt.number}, ${earlier.id} had ${earlier.number}`);
      }
    }
  }

  /** The origin begins to work for an attempt, while others are at work. */
  arrives(attempt: AttemptFacts, atWork: readonly AttemptFacts[]): void {
    for (const other of atWork) {
      if (other.record === attempt.record)
        this.broken("G1", `the origin works for ${attempt.id} and ${other.id} at once`);
    }
  }

  /** The operation takes effect. */
  acts(attempt: AttemptFacts): void {
    for (const earlier of this.effects) {
      const { isReleased, isForgotten, isResolved, answeredAtMs, lockedUntilMs, record } = earlier.attempt;
      // What an operator has settled may expire before the attempt has taken effect.
      const settledMs = isResolved ? (answeredAtMs ?? lockedUntilMs) : lockedUntilMs;
      const isErased = this.#clock.latestMs >= Math.min(earlier.atMs, settledMs) + LEAST_RETENTION_MS;
      if (isReleased || isForgotten) continue;
      if (this.#plan.unknown !== "retry" && record === attempt.record && !isErased) {
        this.broken("G6", `${attempt.id} is a second effect after ${earlier.attempt.id}`);
      }
    }
    this.effects.push({ attempt, atMs: this.#clock.nowMs });
  }

  /** The effect of a record's operation that the origin remembers. */
  effectOf(record: string): Effect | null {
    const isFresh = ({ atMs }: Effect): boolean => this.#clock.latestMs < atMs + RETENTION_MS;
    return this.effects.findLast((effect) => effect.attempt.record === record && isFresh(effect)) ?? null;
  }

  /** An operator's change has been made to the record of this attempt, its last one. */
  decides(action: string, attempt: AttemptFacts): void {
    if (attempt.isLiving) this.broken("G1", `an operator's ${action} beside ${attempt.id}, which is in flight`);
    const hasSpoken = attempt.isRefused || (attempt.answeredAtMs !== null && !attempt.isResolved);
    const isOver = this.#clock.latestMs >= attempt.lockedUntilMs || hasSpoken;
    if (action === "forget" && !isOver) {
      this.broken("G1", `${attempt.id} is forgotten before the end of its lock`);
    }
  }

  /** Nothing goes on by itself. What waits needs a timer each, at the most; who has left needs none. */
  rests(timers: number, waiting: number): void {
    if (timers > 1 + waiting) this.broken("G8", `${timers} timers, and only ${waiting} requests wait`);
  }

  /** Everything written so far has become durable. */
  commits(): void {
    for (const row of this.#facts.rows.values()) this.#learn(row);
    const alarm = this.#disk.durableAlarmMs;
    if (alarm !== null) this.isAlarmDropped = false;
    if (this.isAlarmDropped) return;
    for (const row of this.#facts.rows.values()) {
      // What is at the origin has no deadline but that of the question itself, also when its instance is gone.
      const isAsked = row.state === "unknown" && this.#facts.questions.get(row.id)?.isSettled === false;
      const answeredMs = isAsked ? this.#clock.latestMs + LOOK_AFTER_MS : 0;
      // A question that could not be noted is put off, as an alarm whose work failed.
      const putOffMs = row.state === "unknown" ? this.#disk.refusedAtMs + ALARM_RETRY_MS : 0;
      const deadline = Math.max(this.excusedUntilMs, row.deadlineMs, answeredMs, putOffMs);
      // For what is overdue it comes as soon as it can; and never for the very time of the one before.
      if (alarm === null || alarm > Math.max(deadline, this.#clock.latestMs) + 1) {
        this.broken("G8", `the alarm stands at ${alarm}, and ${row.id} has its deadline at ${deadline}`);
      }
    }
  }

  #learn({ attemptId, lockedUntilMs, state }: DurableRow): void {
    const attempt = this.#facts.attempts.get(attemptId);
    if (attempt === undefined) {
      this.broken("G3", `the ledger knows of ${attemptId}, which never started`);
      return;
    }
    attempt.isDurable = true;
    attempt.lockedUntilMs = Math.max(attempt.startedAtMs + LOCK_MS, lockedUntilMs);
    attempt.completedUntilMs = state === "completed" ? (attempt.resultAtMs ?? 0) + LEAST_RETENTION_MS : null;
  }

  /** After everything has settled and all time has passed. */
  ends(leftovers: readonly string[], waiting: readonly string[]): void {
    for (const what of leftovers) this.broken("G8", `${what} left for ever`);
    for (const request of waiting) this.broken("G8", `${request} is never answered`);
  }
}
