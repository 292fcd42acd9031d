// What follows from a 202 (docs/guarantees.md, G10): the request is durable, and it is tried until it has a result, an unknown outcome or used
// up its limit; its monitor says which, to those alone whose request it is. And what must hold of each request that a record keeps.

import { PARKED, STATUS_HEADER } from "../../../../src/kernel/request/headers.ts";
import { PLACES } from "../../../../src/features/accepted/object/accepted-attempts.ts";
import type { OwnAnswer } from "../../../simulation/actors.ts";
import type { Asked } from "../../../simulation/answers.ts";
import type { Clock } from "../../../simulation/clock.ts";
import type { CurrentRow, DurableRow } from "../../../simulation/durable.ts";
import type { AttemptFacts, Facts } from "../../../simulation/facts.ts";
import type { Plan } from "../../../simulation/plan.ts";
import { LEAST_RETENTION_MS, LOCK_MS } from "../../../simulation/times.ts";
import type { PlainResponse } from "../../../simulation/platform.ts";
import type { Rules } from "../../../simulation/rules.ts";
import { SCHEDULE, type Look } from "./acceptance.ts";

/** How far the clock may have gone back. */
const CLOCK_BACK_MS = 20;

/** What a client has been told with a 202. */
interface AcceptedPromise {
  readonly fingerprint: string;
  /** The record is kept at least so long. */
  keptUntilMs: number;
  /** The last promise that was durable, and the number of its last attempt; `null` when the record has had its end. */
  promise: DurableRow["accepted"];
}

export class Promises {
  readonly #clock: Clock;
  readonly #facts: Facts;
  readonly #rules: Rules;
  readonly #plan: Pick<Plan, "unknown">;
  readonly #reported = new Map<string, AcceptedPromise>();
  /** Which promise each attempt belongs to. */
  readonly #promises = new Map<AttemptFacts, string>();
  /** The requests to monitors. */
  readonly #looks = new Map<Asked, Look>();
  /** Which requests had been delivered when people last erased each record. */
  readonly #erasedAfter = new Map<string, { readonly delivered: number; readonly atMs: number }>();

  constructor(clock: Clock, facts: Facts, rules: Rules, plan: Pick<Plan, "unknown">) {
    this.#clock = clock;
    this.#facts = facts;
    this.#rules = rules;
    this.#plan = plan;
  }

  /** Until when the record of this request is certainly kept; `null` if no client has been told that it is accepted. */
  until(record: string, fingerprint: string): number | null {
    const reported = this.#reported.get(record);
    return reported?.fingerprint === fingerprint ? reported.keptUntilMs : null;
  }

  /** The records whose requests were accepted. */
  get records(): readonly (readonly [string, string])[] {
    return [...this.#reported].map(([record, { fingerprint }]) => [record, fingerprint]);
  }

  /** A client asks a monitor. */
  looks(asked: Asked, look: Look): void {
    this.#looks.set(asked, look);
  }

  /** An answer that only accepted requests, their monitors and messages get; `null`: it is another. */
  hears(asked: Asked, { status, headers }: PlainResponse): OwnAnswer | null {
    const look = this.#looks.get(asked) ?? null;
    const word = headers.get(STATUS_HEADER) ?? "";
    switch (word) {
      case "accepted":
        // A monitor also tells of an attempt for which a client waits.
        if (look === null) this.#accepted(asked);
        break;
      case "monitor-not-found":
        this.#unseen(asked, look);
        break;
      case "cancelled":
      case "cancel-refused":
      case PARKED:
        break;
      default:
        return null;
    }
    return { what: `${status} ${word}`, replacesResult: look?.cancel !== true };
  }

  #accepted({ name, record, fingerprint, sentMs, sentRightMs, erasures }: Asked): void {
    // What has been erased since, by people or by time, is nothing that this client can know.
    const { latestMs, latestRightMs } = this.#clock;
    const isOld = latestMs >= sentMs + LEAST_RETENTION_MS || latestRightMs >= sentRightMs + LEAST_RETENTION_MS;
    if (erasures !== this.#facts.erasuresOf(record) || isOld) return;
    const row = this.#facts.rows.get(record);
    // A later attempt may be one that somebody waits for.
    const isUnkept = row?.state === "started" && row.number === 1 && row.accepted === null;
    if (row?.fingerprint !== fingerprint || isUnkept) {
      this.#rules.broken("G10", `${name} hears 202, but no such request is durable`);
      return;
    }
    this.#reported.set(record, { fingerprint, keptUntilMs: keptUntilMs(row), promise: row.accepted });
  }

  #unseen({ name, record, fingerprint, erasures, sentAfter }: Asked, look: Look | null): void {
    // What it waited for may have come, and have expired since, by the clock as it is: a promise of one that was ahead ends with it.
    const last = this.#facts.of(record).findLast(({ startedAfter }) => startedAfter < sentAfter);
    if (last !== undefined && last.resultAtMs !== null && this.#rules.hasExpired(last)) return;
    const leftMs = this.until(record, fingerprint) ?? 0;
    const untilMs = look === null || look.promisedUntilMs === null ? null : Math.min(look.promisedUntilMs, leftMs);
    if (untilMs !== null && erasures === this.#facts.erasuresOf(record) && this.#clock.latestMs < untilMs) {
      this.#rules.broken("G10", `${name} hears that there is no such request, but it was accepted`);
    }
  }

  /** An attempt of an accepted request starts. `delivered`: the last delivery of its request; `now`: of any. */
  starts(attempt: AttemptFacts, row: CurrentRow, isDue: boolean, delivered: number): void {
    const { accepted } = row;
    if (accepted === null) return;
    // An operator's release begins another promise, perhaps in the same millisecond.
    const promise = `${accepted.acceptedAt}, until ${accepted.giveUpAt} or attempt ${accepted.lastAttempt}`;
    this.#promises.set(attempt, promise);
    // So does a request that is delivered again after its record was forgotten.
    const others = this.#facts
      .of(attempt.record)
      .filter((one) => this.#promises.get(one) === promise && !one.isForgotten);
    if (others.length >= SCHEDULE.attempts) {
      this.#rules.broken(
        "G10",
        `${attempt.id} is attempt ${others.length + 1} of ${SCHEDULE.attempts} that were promised`,
      );
    }
    if (accepted.isParked !== true && others.length > 0 && attempt.startedAtMs > accepted.giveUpAt) {
      this.#rules.broken(
        "G10",
        `${attempt.id} starts at ${attempt.startedAtMs}, after the limit at ${accepted.giveUpAt}`,
      );
    }
    // One whose result is too large to be kept gives up its place while the rest arrives.
    const running = this.#facts
      .inFlight()
      .filter((one) => this.#promises.has(one) && one.resultAtMs === null && one.id !== attempt.id);
    if (running.length >= PLACES) {
      this.#rules.broken("G8", `${attempt.id} starts beside ${running.length} others, and there are ${PLACES} places`);
    }
    const erased = this.#erasedAfter.get(attempt.record);
    // One that waited meanwhile may have been accepted afterwards.
    const isErased = erased !== undefined && delivered <= erased.delivered && accepted.acceptedAt < erased.atMs;
    if (isDue && isErased) {
      this.#rules.broken("G10", `${attempt.id} starts, although its request was cancelled or forgotten`);
    }
  }

  /** The call of an accepted request has these bytes. */
  carries({ id, content }: AttemptFacts, text: string): void {
    if (text !== content) {
      this.#rules.broken(
        "G10",
        `${id} sends "${text.slice(0, 30)}" (${text.length}), expected "${content.slice(0, 30)}"`,
      );
    }
  }

  /** A monitor's client has cancelled: the record was `before`. Returns how to undo what that changes. */
  cancels(record: string, before: CurrentRow, isGone: boolean): () => void {
    if (before.state !== "waiting" && before.state !== "started") {
      this.#rules.broken("G10", `${record} is cancelled, but it has had its end: it was ${before.state}`);
    }
    const attempts = this.#facts.of(record);
    for (const attempt of attempts) {
      const isOver = attempt.isRefused || this.#clock.latestMs >= attempt.lockedUntilMs;
      // One that was forgotten had the same id, if the same request was delivered again.
      const isItsOwn = attempt.id === before.attemptId && before.number > 0 && !attempt.isForgotten;
      if (isItsOwn && (attempt.isInFlight || !isOver)) {
        this.#rules.broken("G10", `${record} is cancelled, but ${attempt.id} may be in flight`);
      }
    }
    const forgotten = isGone ? attempts.filter(({ isForgotten }) => !isForgotten) : [];
    for (const attempt of forgotten) attempt.isForgotten = true;
    return () => {
      for (const attempt of forgotten) attempt.isForgotten = false;
    };
  }

  /** People have erased the record, or ended its tries. Returns how to undo that. */
  erased(record: string, delivered: number): () => void {
    const reported = this.#reported.get(record);
    const before = this.#erasedAfter.get(record);
    this.#reported.delete(record);
    this.#erasedAfter.set(record, { delivered, atMs: this.#clock.latestMs });
    return () => {
      if (reported !== undefined) this.#reported.set(record, reported);
      if (before === undefined) this.#erasedAfter.delete(record);
      else this.#erasedAfter.set(record, before);
    };
  }

  /** These rows are durable now. */
  commits(rows: ReadonlyMap<string, DurableRow>): void {
    for (const row of rows.values()) {
      this.#judgeRow(row);
      this.#judgeStart(row);
    }
    for (const [record, reported] of this.#reported) this.#judgePromise(record, reported, rows.get(record));
  }

  /** What a record keeps of its request: all of it as long as it may be sent, and nothing afterwards. */
  #judgeRow({ id, state, accepted, request, startAtMs, isAmongWaiting, number }: DurableRow): void {
    const isWaiting = state === "waiting";
    if ((accepted === null) !== (request === null)) {
      const what = accepted === null ? "still has its request" : "has lost its request";
      this.#rules.broken("G10", `${id} (${state}) ${what}`);
    }
    if (isWaiting !== isAmongWaiting || isWaiting !== (startAtMs !== null) || (isWaiting && accepted === null)) {
      this.#rules.broken(
        "G10",
        `${id} (${state}) waits until ${startAtMs}, and lies among the waiting: ${isAmongWaiting}`,
      );
    }
    if (accepted === null) return;
    if (state === "completed" || state === "failed") {
      this.#rules.broken("G10", `${id} has had its end (${state}), and attempts are still promised`);
    }
    if (state === "unknown" && this.#plan.unknown === "retry") {
      this.#rules.broken("G10", `${id} is unknown, with unknown = "retry"`);
    }
    const { isParked = false, lastAttempt } = accepted;
    if (number > lastAttempt + (isWaiting ? 0 : Number(isParked))) {
      this.#rules.broken("G10", `${id} has attempt ${number}, and the last that was promised is ${lastAttempt}`);
    }
  }

  /** Once the clock is right and the object has looked at it, nothing starts later than the longest pause. */
  #judgeStart({ id, state, lockedUntilMs, startAtMs }: DurableRow): void {
    const latestMs = this.#clock.latestSince(this.#clock.corrections);
    if (startAtMs === null || !this.#rules.isClockSeen || lockedUntilMs > latestMs) return;
    const inMs = startAtMs - latestMs;
    if (inMs > SCHEDULE.longestPauseMs)
      this.#rules.broken("G8", `${id} (${state}) starts in ${inMs} ms, which a clock that was ahead has put off`);
  }

  #judgePromise(record: string, reported: AcceptedPromise, row: DurableRow | undefined): void {
    const { latestMs } = this.#clock;
    if (row?.fingerprint !== reported.fingerprint) {
      // It may have had its end, and that have expired, between two commits.
      const last = this.#facts.of(record).at(-1);
      const endedAtMs = last?.resultAtMs ?? last?.absentAtMs ?? (last?.isRefused === true ? last.startedAtMs : null);
      // What a clock that was ahead has promised ends with the lock that was renewed by the clock as it is.
      const hasExpired = last !== undefined && (this.#rules.hasExpired(last) || this.#rules.isRenewed(last));
      const isOver = hasExpired || (endedAtMs !== null && latestMs >= endedAtMs + LEAST_RETENTION_MS);
      if (latestMs < reported.keptUntilMs && !isOver)
        this.#rules.broken("G10", `the accepted request of ${record} is gone before ${reported.keptUntilMs}`);
      this.#reported.delete(record);
      return;
    }
    const { promise } = reported;
    if (row.state === "failed" && promise !== null && row.number < promise.lastAttempt) {
      const soonestMs = latestMs + SCHEDULE.longestPauseMs + LOCK_MS + CLOCK_BACK_MS;
      if (soonestMs < promise.giveUpAt)
        this.#rules.broken("G10", `${record} is given up after attempt ${row.number} of ${promise.lastAttempt}`);
    }
    const isSame = promise !== null && row.accepted?.giveUpAt === promise.giveUpAt;
    if (isSame && row.accepted.lastAttempt !== promise.lastAttempt && !this.#isReleased(record)) {
      const { lastAttempt } = row.accepted;
      this.#rules.broken(
        "G10",
        `${record} promises attempts up to ${lastAttempt}, and up to ${promise.lastAttempt} before`,
      );
    }
    reported.promise = row.accepted;
    reported.keptUntilMs = keptUntilMs(row);
  }

  /** Then another promise may have been made in the same millisecond. */
  #isReleased(record: string): boolean {
    return this.#facts.of(record).some(({ isReleased }) => isReleased);
  }

  /** Everything that was promised has been tried. */
  ends(): void {
    for (const [record] of this.#reported) {
      const row = this.#facts.rows.get(record);
      // An attempt without a promise is one that somebody waits for, after the end of what was accepted.
      if (row?.accepted !== null && (row?.state === "waiting" || row?.state === "started"))
        this.#rules.broken("G10", `the accepted request of ${record} has no end: it is ${row.state}`);
    }
  }
}

function keptUntilMs({ state, number, accepted, expiresAtMs, lockedUntilMs }: DurableRow): number {
  if (expiresAtMs !== null) return expiresAtMs;
  if (state === "started") return lockedUntilMs + LEAST_RETENTION_MS;
  // The first attempt is made however late.
  if (accepted === null || number <= accepted.lastAttempt - SCHEDULE.attempts) return Number.POSITIVE_INFINITY;
  return accepted.giveUpAt + LEAST_RETENTION_MS;
}
