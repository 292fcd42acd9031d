// The guarantees as rules over facts (docs/guarantees.md). Each names the guarantee that it stands for; a broken one is noted, not
// thrown, since what is thrown in the middle of an exchange would be taken for a fault of the origin.

import { TURN_CHECK_MS } from "../../src/kernel/object/record-steps.ts";
import type { Clock } from "./clock.ts";
import type { Disk } from "./disk.ts";
import type { DurableRow } from "./durable.ts";
import { ends } from "./ends.ts";
import type { AttemptFacts, Facts } from "./facts.ts";
import type { Plan } from "./plan.ts";
import { LEAST_REMEMBER_MS, LEAST_RETENTION_MS, LEAST_UNKNOWN_RETENTION_MS, LOCK_MS, RETENTION_MS } from "./times.ts";

/** By then the alarm checks a question to which no answer has come. */
const LOOK_AFTER_MS = 35_000;

/** How many questions are asked at a time. */
const QUESTIONS_AT_ONCE = 2;

/** How long the alarm's work is postponed after the store has failed. */
export const ALARM_RETRY_MS = 5000;

export interface Effect {
  readonly attempt: AttemptFacts;
  readonly atMs: number;
  /** The same by the origin's own clock, which is right. */
  readonly rightMs: number;
}

type RulesPlan = Pick<Plan, "unknown" | "remembers"> & Partial<Pick<Plan, "takesOthers">>;

export class Rules {
  readonly violations: string[] = [];
  readonly #plan: RulesPlan;
  readonly #clock: Clock;
  readonly #hasFailed: () => boolean;
  readonly #facts: Facts;
  readonly effects: Effect[] = [];
  /** Whether the platform has dropped the alarm and none has been set since. */
  isAlarmDropped = false;
  /** Until when the alarm may be late, because its work failed or the instance is new. */
  excusedUntilMs = 0;
  /** How many records were durable before the last commit. */
  #rowsBefore = 0;
  /** Whether the object has done anything since its clock was put right: only then it can know that what is far away was put off. */
  isClockSeen = true;

  /** `hasFailed`: whether a write has failed. */
  constructor(plan: RulesPlan, clock: Clock, hasFailed: () => boolean, facts: Facts) {
    this.#plan = plan;
    this.#clock = clock;
    this.#hasFailed = hasFailed;
    this.#facts = facts;
  }

  /** The latest time that the clock has shown since the attempt's lock was set: what was ahead before explains nothing. */
  #seenBy({ lockCorrections }: AttemptFacts): number {
    return this.#clock.latestSince(lockCorrections);
  }

  /** Whether its lock has been renewed since the clock was put right, or it runs on, so that it will be. */
  isRenewed(attempt: AttemptFacts): boolean {
    return attempt.lockCorrections > attempt.corrections || this.#runsOn(attempt);
  }

  /** Whether it has not been lost since the clock was put right. */
  #runsOn({ corrections, isLost }: AttemptFacts): boolean {
    return this.#clock.corrections > corrections && !isLost;
  }

  /** Whether its record may have expired since its end: what was ahead before it came explains nothing. */
  hasExpired({ ended, completedUntilMs }: AttemptFacts): boolean {
    if (ended === null) return false;
    const { corrections, correctedMs } = this.#clock;
    const isExpired = this.#clock.latestSince(ended.corrections) >= ended.nowMs + LEAST_RETENTION_MS;
    // It may have been settled after the clock was put right, and have expired before the next commit.
    const isUnseen = completedUntilMs === null && corrections > ended.corrections;
    return isExpired || (isUnseen && this.#clock.latestSince(corrections) >= correctedMs + LEAST_RETENTION_MS);
  }

  /** Whether its end came when the clock had been put right, and has been kept for so long since, whatever the clock showed before. */
  #isOverSinceRight({ ended, corrections }: AttemptFacts, keptMs: number): boolean {
    if (ended === null || ended.corrections === corrections) return false;
    return this.#clock.latestSince(ended.corrections) >= ended.nowMs + keptMs;
  }

  /** Whether its record still has to know of it. */
  #isRemembered(attempt: AttemptFacts): boolean {
    if (!attempt.isDurable || attempt.isForgotten || this.#runsOn(attempt) || this.hasExpired(attempt)) return false;
    return this.#seenBy(attempt) < beganAtMs(attempt) + LEAST_RETENTION_MS;
  }

  broken(guarantee: string, what: string): void {
    this.violations.push(`${guarantee}: ${what}`);
  }

  /** An attempt starts. `waitedSince`: if its request has waited, how many requests had been sent before it. */
  starts(next: AttemptFacts, waitedSince: number | null): void {
    if (this.#facts.unreadable.has(next.record)) this.broken("G6", `${next.id} starts, and its record cannot be read`);
    const same = this.#facts.of(next.record).at(-1);
    // The record remembers its last attempt as long as it lives.
    const isShared =
      same !== undefined && !same.isForgotten && waitedSince !== null && same.fingerprint === next.fingerprint;
    if (isShared && !this.#hasFailed() && same.startedAfter < waitedSince && waitedSince <= (same.refusedAfter ?? 0)) {
      this.broken(
        "G8",
        `${next.id} starts, and its client has waited for ${same.id}, which was refused; expected it to share the refusal`,
      );
    }
    const agoMs = same === undefined ? 0 : this.#seenBy(same) - beganAtMs(same);
    if (same?.id === next.id && !same.isForgotten && !this.hasExpired(same) && agoMs < LEAST_RETENTION_MS) {
      this.broken("G1", `${next.id} starts a second time, ${agoMs} ms after the first`);
    }
    for (const earlier of this.#facts.of(next.record)) {
      const latestMs = this.#seenBy(earlier);
      const pair = `${next.id} starts after ${earlier.id}`;
      // An attempt with a known result may still send the rest of a body that is not kept.
      const resultIsOver = earlier.resultAtMs !== null && this.hasExpired(earlier);
      if (earlier.isInFlight && !resultIsOver) this.broken("G1", `${pair}, which is still in flight`);
      const isOther = earlier.fingerprint !== next.fingerprint && this.#isRemembered(earlier);
      const isUndone = earlier.isRefused || earlier.isReleased || earlier.absentAtMs !== null;
      if (isOther && !(this.#plan.takesOthers === true && isUndone))
        this.broken("G6", `${pair}, which may have acted for another request`);
      // The origin's own answer has ended its lock.
      if (earlier.isForgotten && earlier.answeredAtMs !== null && !earlier.isResolved) continue;
      const completedUntilMs = earlier.completedUntilMs ?? 0;
      if (
        this.#clock.latestSince(earlier.ended?.corrections ?? earlier.corrections) < completedUntilMs &&
        !earlier.isForgotten
      ) {
        this.broken("G2", `${pair}, whose result is durable until ${completedUntilMs} (now ${latestMs})`);
      }
      if (earlier.isRefused || this.#runsOn(earlier)) continue;
      if (latestMs < earlier.lockedUntilMs && !resultIsOver)
        this.broken("G1", `${pair}, before the end of its lock at ${earlier.lockedUntilMs} (now ${latestMs})`);
      if (earlier.isReleased || earlier.isForgotten) continue;
      const settledMs = Math.min(earlier.lockedUntilMs, earlier.answeredAtMs ?? Number.POSITIVE_INFINITY);
      const mayBeUnknown = earlier.isUndecided && earlier.resultAtMs === null && !earlier.isResolved;
      const keptMs = mayBeUnknown ? LEAST_UNKNOWN_RETENTION_MS : LEAST_RETENTION_MS;
      const forbiddenUntil = settledMs + (this.#plan.remembers ? LEAST_REMEMBER_MS : keptMs);
      if (this.#plan.unknown !== "retry" && earlier.absentAtMs === null && latestMs < forbiddenUntil) {
        this.broken("G6", `${pair}, whose outcome is unknown, with unknown = "${this.#plan.unknown}"`);
      }
    }
  }

  /** The call of an attempt leaves the object. */
  leaves(attempt: AttemptFacts): void {
    const row = this.#facts.rows.get(attempt.record);
    if (row?.attemptId !== attempt.id || row.state !== "started") {
      this.broken("G3", `the call of ${attempt.id} leaves, but its claim is not durable`);
    }
    for (const earlier of this.#facts.of(attempt.record)) {
      if (earlier !== attempt && this.#isRemembered(earlier) && earlier.number >= attempt.number) {
        this.broken(
          "G6",
          `${attempt.id} has number ${attempt.number}, ${earlier.id} had ${earlier.number}; expected a higher number`,
        );
      }
    }
  }

  /** The call of an attempt has the key as that of every attempt before it, or the origin would take it for another operation. */
  identifies(attempt: AttemptFacts, key: string): void {
    attempt.key = key;
    for (const earlier of this.#facts.of(attempt.record)) {
      if (earlier === attempt || earlier.key === null || earlier.key === key) continue;
      if (this.#isRemembered(earlier))
        this.broken("G6", `${attempt.id} has the key as ${key}, ${earlier.id} had ${earlier.key}`);
    }
  }

  /** The origin starts to work on an attempt while it works on the attempts `atWork`. */
  arrives(attempt: AttemptFacts, atWork: readonly AttemptFacts[]): void {
    for (const other of atWork) {
      if (other.record === attempt.record)
        this.broken("G1", `the origin works on ${attempt.id} and ${other.id} at the same time`);
    }
  }

  /** The operation takes effect. */
  acts(attempt: AttemptFacts): void {
    for (const earlier of this.effects) {
      const { isReleased, isForgotten, isResolved, answeredAtMs, lockedUntilMs, record } = earlier.attempt;
      // A record that an operator has settled may expire before the attempt takes effect.
      const settledMs = isResolved ? (answeredAtMs ?? lockedUntilMs) : lockedUntilMs;
      // An origin that is asked forgets its effects when their records expire.
      const isRemembered = this.#plan.remembers && this.#plan.unknown === "hold";
      const keptMs = isRemembered ? LEAST_REMEMBER_MS : LEAST_RETENTION_MS;
      const isErased = this.#seenBy(earlier.attempt) >= Math.min(earlier.atMs, settledMs) + keptMs;
      if (isReleased || isForgotten || this.#isOverSinceRight(earlier.attempt, keptMs)) continue;
      if (this.#plan.unknown !== "retry" && record === attempt.record && !isErased) {
        this.broken(
          "G6",
          `${attempt.id} is a second effect after ${earlier.attempt.id}, with unknown = "${this.#plan.unknown}"`,
        );
      }
    }
    const { nowMs, rightMs } = this.#clock;
    this.effects.push({ attempt, atMs: nowMs, rightMs });
  }

  /** The effect of a record's operation, as long as the origin remembers it: until it can have been asked, however long a lock looks. */
  effectOf(record: string): Effect | null {
    const isFresh = ({ rightMs, attempt }: Effect): boolean =>
      this.#clock.latestRightMs < rightMs + RETENTION_MS ||
      (attempt.isUndecided && this.#seenBy(attempt) < attempt.lockedUntilMs + RETENTION_MS);
    return this.effects.findLast((effect) => effect.attempt.record === record && isFresh(effect)) ?? null;
  }

  /** An operator's change was made to a record whose last attempt is `attempt`. */
  decides(action: string, attempt: AttemptFacts): void {
    if (attempt.isInFlight) this.broken("G1", `an operator's ${action} beside ${attempt.id}, which is in flight`);
    const hasSpoken = attempt.isRefused || (attempt.answeredAtMs !== null && !attempt.isResolved);
    const isOver = this.#seenBy(attempt) >= attempt.lockedUntilMs || hasSpoken;
    if (action === "forget" && !isOver) {
      this.broken("G1", `${attempt.id} is forgotten before the end of its lock at ${attempt.lockedUntilMs}`);
    }
  }

  /** Nothing is running. Each waiting request needs one timer at most, and a client that has left needs none. */
  rests(timers: number, waiting: number): void {
    if (timers > 1 + waiting)
      this.broken("G8", `${timers} timers, and only ${waiting} requests wait; expected at most ${1 + waiting} timers`);
  }

  /** Everything that an object has written so far is durable now: these rows, of attempts that it makes. */
  commits(disk: Disk, rows: Iterable<DurableRow>): void {
    const all = [...rows];
    for (const row of all) this.#learn(row);
    this.judgeAlarm(disk, all);
    this.#rowsBefore = all.length;
  }

  /** The alarm is set no later than the first deadline of these rows, which are durable. */
  judgeAlarm(disk: Disk, all: readonly DurableRow[]): void {
    const alarm = disk.durableAlarmMs;
    if (alarm !== null) this.isAlarmDropped = false;
    if (this.isAlarmDropped || !this.isClockSeen) return;
    const latestMs = this.#clock.latestSince(this.#clock.corrections);
    // The others begin when these end.
    const hasManyQuestions =
      [...this.#facts.verifications.values()].filter(({ isSettled }) => !isSettled).length >= QUESTIONS_AT_ONCE;
    for (const row of all) {
      // A record about which the origin is asked has only the question's deadline, also when the instance is gone.
      const isAsked =
        row.state === "unknown" && (hasManyQuestions || this.#facts.verifications.get(row.id)?.isSettled === false);
      const answeredMs = isAsked ? latestMs + LOOK_AFTER_MS : 0;
      // A question that could not be noted is postponed, like an alarm whose work failed.
      const isPutOff = row.state === "unknown" || row.state === "started" || row.state === "waiting";
      const putOffMs = isPutOff ? disk.refusedAtMs + ALARM_RETRY_MS : 0;
      // What waits for a place is begun by what has it, also if its record has expired since.
      const hasOthers = Math.max(all.length, this.#rowsBefore) > 1;
      const turnMs = row.state === "waiting" && hasOthers ? latestMs + TURN_CHECK_MS : 0;
      const deadline = Math.max(this.excusedUntilMs, row.deadlineMs, answeredMs, putOffMs, turnMs);
      // For overdue work the alarm comes as soon as it can, but never at the time of the previous alarm.
      if (alarm === null || alarm > Math.max(deadline, latestMs) + 1) {
        this.broken("G8", `the alarm is set to ${alarm}, but ${row.id} (${row.state}) has its deadline at ${deadline}`);
      }
    }
  }

  #learn({ attemptId, lockedUntilMs, state, number, completedAtMs }: DurableRow): void {
    // An accepted request that has not been tried.
    if (number === 0) return;
    const attempt = this.#facts.attempts.get(attemptId);
    if (attempt === undefined) {
      this.broken("G3", `the ledger has attempt ${attemptId}, which never started`);
      return;
    }
    attempt.isDurable = true;
    // One that runs on has its lock by the clock as it is. If it is lost later, that lock stands.
    if (state === "started" && attempt.isInFlight && this.#runsOn(attempt) && lockedUntilMs < attempt.lockedUntilMs)
      attempt.lockCorrections = this.#clock.corrections;
    attempt.lockedUntilMs = this.isRenewed(attempt)
      ? lockedUntilMs
      : Math.max(attempt.startedAtMs + LOCK_MS, lockedUntilMs);
    attempt.isUndecided = state === "unknown" || state === "started";
    // It may have been settled after the clock was put right, with an answer that came before.
    const { corrections: atLeast, correctedMs, nowMs } = this.#clock;
    const isSettledLater = attempt.completedUntilMs === null && atLeast > (attempt.ended?.corrections ?? 0);
    if (completedAtMs !== null && state === "completed" && attempt.ended !== null && isSettledLater)
      ends(attempt, { nowMs: Math.min(nowMs, Math.max(completedAtMs, correctedMs)), corrections: atLeast });
    const { startedAtMs, resultAtMs, corrections, ended } = attempt;
    const endedAtMs = Math.min(resultAtMs ?? 0, ended?.nowMs ?? 0);
    const rememberedFromMs = (ended?.corrections ?? 0) > corrections ? endedAtMs : startedAtMs;
    const rememberedUntilMs = this.#plan.remembers ? rememberedFromMs + LEAST_REMEMBER_MS : 0;
    const keptUntilMs = endedAtMs + LEAST_RETENTION_MS;
    attempt.completedUntilMs =
      state === "completed" || state === "remembered" ? Math.max(keptUntilMs, rememberedUntilMs) : null;
  }

  /** After everything has settled and all time has passed. `kept`: the records that are left. */
  ends(leftovers: readonly string[], waiting: readonly string[], kept: ReadonlySet<string> = new Set()): void {
    for (const record of this.#facts.unreadable)
      if (!kept.has(record)) this.broken("G6", `the record of ${record} cannot be read, and is gone`);
    for (const what of leftovers) this.broken("G8", `${what} left for ever, although everything has expired`);
    for (const request of waiting) this.broken("G8", `${request} is never answered`);
  }
}

/** When it began; by the clock as it is, if its lock was renewed. */
function beganAtMs({ startedAtMs, lockedUntilMs }: AttemptFacts): number {
  return Math.min(startedAtMs, lockedUntilMs);
}
