// What a lease is (docs/guarantees.md, G12): at any time one attempt is granted per key, only its id ends it, a later one has a
// higher number, and its own claim is granted again. A group's position never goes back, nor past an offset that is open, and it
// moves with the completion. The facts are the object's own answers, as far as no crash has undone them.

import type { OperatorChange } from "../../../../src/kernel/record/timeline.ts";
import type { ClaimAct, ClaimAnswer } from "../../../../src/features/claims/claim-message.ts";
import type { Clock } from "../../../simulation/clock.ts";
import type { Disk } from "../../../simulation/disk.ts";
import type { DurableRow } from "../../../simulation/durable.ts";
import type { Facts } from "../../../simulation/facts.ts";
import type { Plan } from "../../../simulation/plan.ts";
import { LEAST_RETENTION_MS, LEAST_UNKNOWN_RETENTION_MS } from "../../../simulation/times.ts";
import type { Rules } from "../../../simulation/rules.ts";
import type { Try } from "./consumers.ts";

/** What groups are called among routes. */
export const ROUTE = "claims:group";

/** An attempt that was granted. */
interface Lease {
  readonly claim: Try;
  readonly number: number;
  readonly grantedAtMs: number;
  untilMs: number;
  /** `unknown`: its holder said that it may have had an effect. */
  state: "held" | "completed" | "released" | "unknown";
  result: string | null;
  endedAtMs: number;
  /** What operators have done: the next may begin; it has a result; it was erased. */
  isReleased: boolean;
  isResolved: boolean;
  isForgotten: boolean;
  /** Where the group went on when it was granted. */
  readonly next: number;
}

/** What is stored of the partition. */
interface Stored {
  readonly next: number;
  readonly done: number;
}

const NOTHING: Stored = { next: 0, done: 0 };
const OPEN: ReadonlySet<string> = new Set(["started", "failed", "unknown"]);

export class ClaimRules {
  readonly #plan: Pick<Plan, "unknown" | "remembers">;
  readonly #clock: Clock;
  readonly #facts: Facts;
  readonly #rules: Rules;
  /** Of each key, in the order of their grants. */
  readonly #leases = new Map<string, Lease[]>();
  /** Offsets that were completed, or whose claim has heard that they are. */
  readonly #done: number[] = [];
  /** Offsets whose claim has been answered, in whatever way. */
  readonly #answered = new Set<number>();
  #stored = NOTHING;

  constructor(plan: Pick<Plan, "unknown" | "remembers">, clock: Clock, facts: Facts, rules: Rules) {
    this.#plan = plan;
    this.#clock = clock;
    this.#facts = facts;
    this.#rules = rules;
  }

  #broken(what: string): void {
    this.#rules.broken("G12", what);
  }

  /** The object has decided about one entry. `nextBefore`: where the group went on just before. */
  decides(one: Try, act: ClaimAct, answer: ClaimAnswer, nextBefore: number, disk: Disk): void {
    const leases = this.#of(one.key);
    const own = leases.findLast(({ claim, isForgotten }) => claim.id === one.id && !isForgotten);
    const change = this.#changer(disk);
    if (answer.state === "unavailable") return;
    if (answer.state === "granted" && answer.attemptId !== one.id)
      this.#broken(`${one.id} asks, and ${answer.attemptId} is granted`);
    switch (act.verb) {
      case "claim":
        if (one.position !== null) this.#answered.add(one.position.offset);
        if (one.position !== null && answer.state === "completed") this.#hears(one.position.offset, disk);
        this.#claims(one, answer, own, nextBefore, change);
        return;
      case "extend":
        if (answer.state !== "granted") return this.#refuses(one, "extend", own);
        if (answer.lockedForMs !== one.lockMs)
          this.#broken(`${one.id} is extended for ${answer.lockedForMs} ms, expected ${one.lockMs} ms`);
        if (this.#mayEnd(one, "extended", own))
          change(own, { untilMs: this.#clock.nowMs + answer.lockedForMs, state: "held" });
        return;
      case "complete":
        if (answer.state !== "settled") return this.#refuses(one, "complete", own);
        if (own?.state === "completed" || !this.#mayEnd(one, "completed", own)) return;
        change(own, { state: "completed", result: act.result, endedAtMs: this.#clock.latestMs });
        if (one.position !== null) this.#completes(one.position.offset, disk);
        return;
      case "release":
        if (answer.state !== "released") return this.#refuses(one, "release", own);
        if (own?.state === "released" || !this.#mayEnd(one, "released", own)) return;
        if (own.state === "completed") this.#broken(`${one.id} is released, and it was completed`);
        change(own, { state: act.effect === "none" ? "released" : "unknown", endedAtMs: this.#clock.latestMs });
    }
  }

  #of(key: string): Lease[] {
    const known = this.#leases.get(key) ?? [];
    this.#leases.set(key, known);
    return known;
  }

  /** Changes a lease; a crash before that is durable undoes it. */
  #changer(disk: Disk): (lease: Lease, to: Partial<Lease>) => void {
    return (lease, to) => {
      const before = { ...lease };
      Object.assign(lease, to);
      const undo = (): void => void Object.assign(lease, before);
      this.#facts.change({ object: "", gate: disk.written, done: () => undefined, undo });
    };
  }

  #claims(
    one: Try,
    answer: ClaimAnswer,
    own: Lease | undefined,
    next: number,
    change: (lease: Lease, to: Partial<Lease>) => void,
  ): void {
    const leases = this.#of(one.key).filter(({ isForgotten }) => !isForgotten);
    const { latestMs, nowMs } = this.#clock;
    switch (answer.state) {
      case "granted": {
        const untilMs = nowMs + answer.lockedForMs;
        const isAgain = own?.state === "held" && own.number === answer.attempt;
        if (isAgain && untilMs === own.untilMs) return;
        if (isAgain && this.#isLive(own)) {
          this.#broken(`${one.id} is granted again until ${untilMs}, and it had the lock until ${own.untilMs}`);
          return;
        }
        if (answer.lockedForMs !== one.lockMs)
          this.#broken(`${one.id} is granted for ${answer.lockedForMs} ms, expected ${one.lockMs} ms`);
        for (const other of leases) this.#follows(one, answer.attempt, other);
        const lease: Lease = {
          claim: one,
          number: answer.attempt,
          grantedAtMs: latestMs,
          untilMs,
          state: "held",
          result: null,
          endedAtMs: latestMs,
          isReleased: false,
          isResolved: false,
          isForgotten: true,
          next,
        };
        this.#of(one.key).push(lease);
        // A crash makes it as if it had never been.
        change(lease, { isForgotten: false });
        return;
      }
      case "completed": {
        const isKnown = leases.some(
          ({ state, result, isResolved }) =>
            isResolved || (state === "completed" && (answer.result === undefined || isSame(answer.result, result))),
        );
        if (!isKnown) this.#broken(`${one.id} hears of a result that nobody has completed`);
        return;
      }
      case "mismatch":
        if (leases.every(({ claim }) => claim.fingerprint === one.fingerprint))
          this.#broken(`${one.id} hears mismatch, and every claim of ${one.key} was the same`);
        return;
      case "unknown":
        // A remembered key of which nobody knows whether its operation took effect.
        if (this.#plan.unknown === "retry" && !this.#plan.remembers)
          this.#broken(`${one.id} hears unknown, with unknown = "retry"`);
        return;
      case "in-flight":
      case "settled":
      case "released":
      case "superseded":
      case "unavailable":
        // Its own claim is granted again.
        if (own !== undefined && this.#isLive(own) && latestMs === nowMs)
          this.#broken(`${one.id} has the lock until ${own.untilMs}, and its own claim gets ${answer.state}`);
    }
  }

  /** A new attempt is granted after `other`. */
  #follows(one: Try, number: number, other: Lease): void {
    const { latestMs } = this.#clock;
    const pair = `${one.id} is granted after ${other.claim.id}`;
    if (this.#isLive(other)) this.#broken(`${pair}, which has the lock until ${other.untilMs} (now ${latestMs})`);
    const isKept = latestMs < other.grantedAtMs + LEAST_RETENTION_MS;
    if (isKept && number <= other.number)
      this.#broken(`${pair} with number ${number}, expected a higher one than ${other.number}`);
    // Only the last attempt's id is remembered.
    const isLast = other === this.#of(one.key).findLast(({ isForgotten }) => !isForgotten);
    if (isKept && isLast && other.claim.id === one.id)
      this.#broken(`${one.id} has ended, and is granted a second time`);
    const isResult = other.state === "completed" || other.isResolved;
    if (isResult && latestMs < other.endedAtMs + LEAST_RETENTION_MS)
      this.#rules.broken("G2", `${pair}, whose result is kept`);
    const mayBeUnknown = !isResult && other.state !== "released" && !other.isReleased;
    if (this.#plan.unknown !== "retry" && mayBeUnknown && latestMs < endOf(other) + LEAST_UNKNOWN_RETENTION_MS)
      this.#rules.broken("G6", `${pair}, whose outcome is unknown, with unknown = "hold"`);
  }

  /** Whether its lock has certainly not ended. */
  #isLive({ state, untilMs, isForgotten, isReleased, isResolved }: Lease): boolean {
    return state === "held" && this.#clock.latestMs < untilMs && !isForgotten && !isReleased && !isResolved;
  }

  /** An attempt is extended, completed or released: it is the record's last one. */
  #mayEnd(one: Try, how: string, own: Lease | undefined): own is Lease {
    if (own === undefined) {
      this.#broken(`${one.id} is ${how}, and it was never granted`);
      return false;
    }
    const last = this.#of(one.key).findLast(({ isForgotten }) => !isForgotten);
    if (last !== own) this.#broken(`${one.id} is ${how}, after ${last?.claim.id} was granted`);
    if (own.isResolved) this.#broken(`${one.id} is ${how}, after an operator has given its result`);
    return true;
  }

  /** Only its own end, its time or an operator takes the lock from an attempt. */
  #refuses(one: Try, verb: string, own: Lease | undefined): void {
    if (own !== undefined && this.#isLive(own))
      this.#broken(`${one.id} has the lock until ${own.untilMs}, and its ${verb} is superseded`);
  }

  /** The position has moved with this answer, unless a full disk refused that alone. */
  #hears(offset: number, disk: Disk): void {
    const isBehind = (storedOn(disk)?.done ?? 0) <= offset;
    if (!isBehind || !disk.hasFailed) this.#completes(offset, disk);
  }

  #completes(offset: number, disk: Disk): void {
    this.#done.push(offset);
    const undo = (): void => void this.#done.splice(this.#done.lastIndexOf(offset), 1);
    this.#facts.change({ object: "", gate: disk.written, done: () => undefined, undo });
  }

  /** An operator has changed the record. */
  operates(key: string, action: OperatorChange, disk: Disk): void {
    const leases = this.#of(key).filter(({ isForgotten }) => !isForgotten);
    const change = this.#changer(disk);
    for (const lease of leases) {
      if (this.#isLive(lease))
        this.#broken(`an operator's ${action} beside ${lease.claim.id}, which has the lock until ${lease.untilMs}`);
    }
    const last = leases.at(-1);
    if (action === "forget") for (const lease of leases) change(lease, { isForgotten: true });
    else if (action === "release") for (const lease of leases) change(lease, { isReleased: true });
    else if (last !== undefined) change(last, { isResolved: true, endedAtMs: this.#clock.latestMs });
  }

  /** Everything that was written is durable now. */
  commits(disk: Disk, rows: ReadonlyMap<string, DurableRow>): void {
    for (const [key, leases] of this.#leases) {
      const row = rows.get(key);
      for (const lease of leases) {
        const isHolder = row?.state === "started" && row.attemptId === lease.claim.id;
        if (this.#isLive(lease) && !isHolder)
          this.#broken(`${lease.claim.id} has the lock until ${lease.untilMs}, and ${key} is ${row?.state ?? "gone"}`);
      }
    }
    this.#judgePosition(disk, rows);
  }

  #judgePosition(disk: Disk, rows: ReadonlyMap<string, DurableRow>): void {
    const stored = storedOn(disk);
    const before = this.#stored;
    this.#stored = stored ?? NOTHING;
    const { next, done } = this.#stored;
    if (next < before.next || done < before.done)
      this.#broken(`the position goes back: from ${before.next} (${before.done}) to ${next} (${done})`);
    const highest = Math.max(-1, ...this.#done);
    if (done !== highest + 1) this.#broken(`the position ends at ${done}, and the last completion is ${highest}`);
    for (const row of rows.values()) this.#judgeOpen(row, next, "the position");
    this.#judgeUnclaimed([...rows.values()], next, "the position");
  }

  /** An offset that was open before the position came to it holds it. */
  #judgeOpen({ id, state }: Pick<DurableRow, "id" | "state">, next: number, what: string): void {
    const lease = this.#of(id).findLast(({ isForgotten }) => !isForgotten);
    const offset = lease?.claim.position?.offset;
    if (lease === undefined || offset === undefined || !OPEN.has(state)) return;
    const isExpired = this.#clock.latestMs >= endOf(lease) + LEAST_RETENTION_MS;
    if (isExpired) return;
    if (lease.next <= offset && next > offset) this.#broken(`${what} is ${next}, and ${offset} (${id}) is ${state}`);
  }

  /** A message that a claim has named as the one before it, and that was never claimed, holds the position too. */
  #judgeUnclaimed(rows: readonly Pick<DurableRow, "id" | "state">[], next: number, what: string): void {
    for (const [key, leases] of this.#leases) {
      const lease = leases.findLast(({ isForgotten }) => !isForgotten);
      const before = lease?.claim.position?.previous ?? null;
      if (lease === undefined || before === null || this.#answered.has(before)) continue;
      const isExpired = this.#clock.latestMs >= endOf(lease) + LEAST_RETENTION_MS;
      const isOpen = !isExpired && rows.some(({ id, state }) => id === key && OPEN.has(state));
      const isKnown = isOpen || (lease.state === "completed" && !lease.isResolved);
      if (isKnown && lease.next <= before && next > before)
        this.#broken(`${what} is ${next}, and ${before} (r${before}) was never claimed`);
    }
  }

  /** Where the group goes on by what is stored now, durably or not. */
  nextNow(disk: Disk): number {
    return storedOn(disk)?.next ?? 0;
  }

  /** A consumer reads where to go on. */
  reads(next: number | null, disk: Disk): void {
    const stored = storedOn(disk);
    if (stored !== null && (next === null || next < stored.next || next > stored.done))
      this.#broken(`the position is read as ${next}, and it is stored as ${stored.next} to ${stored.done}`);
    const rows = openNow(disk);
    for (const row of rows) this.#judgeOpen(row, next ?? 0, "the position that is read");
    this.#judgeUnclaimed(rows, next ?? 0, "the position that is read");
  }
}

/** From when on the retention counts, at the earliest. */
function endOf({ state, untilMs, endedAtMs }: Lease): number {
  return state === "held" ? untilMs : endedAtMs;
}

function isSame(one: unknown, text: string | null): boolean {
  return JSON.stringify(one) === text;
}

function storedOn(disk: Disk): Stored | null {
  if (!disk.hasTable("positions")) return null;
  const [row] = disk.statement("SELECT next, done FROM positions").all();
  return row === undefined ? null : { next: Number(row["next"]), done: Number(row["done"]) };
}

/** The records that are open as they stand now, and whose last claim had a position. */
function openNow(disk: Disk): readonly Pick<DurableRow, "id" | "state">[] {
  const rows = disk.statement("SELECT id, state FROM records").all();
  return rows.map(({ id, state }) => ({ id: String(id), state: String(state) }));
}
