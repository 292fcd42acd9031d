// What a result tells its destinations (docs/guarantees.md, G11): the events that were ever stored are those of the results, each
// once; one that is stored stays until its destination has taken it, an operator drops it, or it has been dead for long; nothing is
// sent before it is durable; and whatever waits has a time at which the alarm comes for it, whatever other destinations and other
// lanes do.

import {
  EVENT_PAUSES_MS,
  EVERY_LANE,
  matchesStatus,
  type EventPublication,
  type TryResult,
} from "../../../../src/kernel/record/outbox.ts";
import { PAUSE_MS } from "../../../../src/kernel/object/next-turn.ts";
import type { Clock } from "../../../simulation/clock.ts";
import type { Disk } from "../../../simulation/disk.ts";
import type { Facts } from "../../../simulation/facts.ts";
import type { Rules } from "../../../simulation/rules.ts";
import { type EventCall, GIVE_UP_MS, KEEP_DEAD_MS } from "./destinations.ts";
import { completedNow, eventRows, type EventRow, restsOn } from "./outbox-rows.ts";
import { DEAD } from "../../../../src/features/outbox/object/outbox-tables.ts";

/** How far the clock may have gone back. */
const CLOCK_BACK_MS = 20;

/** When the alarm looks for calls that a lost instance has made. */
const CHECK_AFTER_MS = 30_000;

/** After so many lanes without an answer a destination may rest as a whole. */
const LANES_UNCERTAIN = 3;

/** Pauses are drawn longer by this much. */
const JITTER = 1.25;

/** The longest rest after a failure of which the destination has not said how long it lasts. */
const LONGEST_REST_MS = 300_000;

/** A result, by its attempt, which its events' ids begin with: the same attempt has another one only after its record was erased. */
type Results = Map<string, { readonly record: string; readonly status: number }>;

export class EventRules {
  readonly #publications: readonly EventPublication[];
  readonly #clock: Clock;
  readonly #facts: Facts;
  readonly #rules: Rules;
  /** All events that were ever durable, by their whole text, and their ids; what is durable now. */
  readonly #ever = new Set<string>();
  readonly #ids = new Set<string>();
  #stored: ReadonlyMap<string, EventRow> = new Map();
  readonly #taken = new Set<string>();
  readonly #dropped = new Set<string>();
  /** Results that were ever durable, and those that are not yet. */
  readonly #results: Results = new Map();
  readonly #fresh: Results = new Map();
  /** Events that have left the object. */
  readonly #sent = new Set<string>();
  /** How often each lane of each destination has failed, rather than have one event refused: `<destination> <lane>`. */
  readonly #failures = new Map<string, number>();
  /** The lanes of each destination whose calls had no answer since any had one; and the most that there ever were. */
  readonly #unanswered = new Map<string, ReadonlySet<number>>();
  readonly #mostUnanswered = new Map<string, number>();
  /** The longest that each destination has asked for, in its answers to anybody. */
  readonly #asked = new Map<string, number>();
  /** Until when the alarm may stay away because of calls that an instance has made. */
  #busyUntilMs = 0;

  constructor(publications: readonly EventPublication[], clock: Clock, facts: Facts, rules: Rules) {
    this.#publications = publications;
    this.#clock = clock;
    this.#facts = facts;
    this.#rules = rules;
  }

  /** The latest time since the clock was put right. */
  get #latestMs(): number {
    return this.#clock.latestSince(this.#clock.corrections);
  }

  #broken(what: string): void {
    this.#rules.broken("G11", what);
  }

  /** Everything has come to rest in the object. */
  rests(disk: Disk, calls: readonly EventCall[]): void {
    for (const [attempt, result] of completedNow(disk)) this.#fresh.set(attempt, result);
    if (calls.length > 0) this.#busyUntilMs = this.#latestMs + CHECK_AFTER_MS;
  }

  crash(): void {
    this.#fresh.clear();
  }

  /** The clock has been put right. */
  corrects(): void {
    this.#busyUntilMs = this.#clock.nowMs + CHECK_AFTER_MS;
  }

  /** Everything that was written is durable now. */
  commits(disk: Disk): void {
    for (const [attempt, result] of this.#fresh) this.#results.set(attempt, result);
    this.#fresh.clear();
    for (const [attempt, result] of completedNow(disk)) this.#results.set(attempt, result);
    const stored = eventRows(disk);
    for (const row of stored.values()) {
      if (!this.#ever.has(row.event)) this.#begins(row);
      this.#judgeTimes(row);
    }
    for (const row of this.#stored.values()) if (!stored.has(row.event)) this.#isGone(row);
    this.#stored = stored;
    for (const [attempt, result] of this.#results) this.#judgeResult(attempt, result.status);
    this.#judgeRests(disk);
    this.#judgeAlarm(disk);
  }

  /** An event is stored: it is one that a result has. */
  #begins({ id, record, event }: EventRow): void {
    this.#ever.add(event);
    this.#ids.add(id);
    this.#busyUntilMs = this.#latestMs + CHECK_AFTER_MS;
    const result = this.#results.get(attemptOf(id));
    if (result?.record !== record || !this.#idsOf(attemptOf(id), result.status).includes(id)) {
      this.#broken(`event ${id} is stored, and ${record} has no result that publishes it`);
    }
    const said: { readonly id: string; readonly subject: string } = JSON.parse(event);
    if (said.id !== id || said.subject !== record) this.#broken(`event ${id} of ${record} says ${event}`);
  }

  /** A result is durable: so are its events, or they were until they were taken or dropped. */
  #judgeResult(attempt: string, status: number): void {
    const missing = this.#idsOf(attempt, status).find((id) => !this.#ids.has(id));
    if (missing !== undefined) this.#broken(`the result of ${attempt} is durable, and event ${missing} is not`);
  }

  #idsOf(attempt: string, status: number): readonly string[] {
    return this.#publications.flatMap(({ when }, at) => (matchesStatus(status, when) ? [`${attempt}-${at}`] : []));
  }

  /** Nothing rests for more than the longest pause, and nothing is dead before its time is over. */
  #judgeTimes({ id, destination, due, tries, since, event }: EventRow): void {
    const isDead = due >= DEAD;
    if (isDead && !this.#sent.has(event)) this.#broken(`event ${id} is dead, and was never sent`);
    if (isDead && due - DEAD < since + GIVE_UP_MS - CLOCK_BACK_MS)
      this.#broken(`event ${id} is dead after ${due - DEAD - since} ms, expected not before ${GIVE_UP_MS} ms`);
    const pauseMs = EVENT_PAUSES_MS[Math.min(tries, EVENT_PAUSES_MS.length) - 1] ?? 0;
    if (!isDead && due > this.#latestPause(destination, pauseMs))
      this.#broken(`event ${id} waits until ${due}, longer than any pause after ${tries} tries`);
  }

  /** When a pause that has begun by now is over at the latest. */
  #latestPause(destination: string, pauseMs: number): number {
    if (!this.#rules.isClockSeen) return Number.POSITIVE_INFINITY;
    return this.#latestMs + Math.max(JITTER * pauseMs, this.#asked.get(destination) ?? 0) + CLOCK_BACK_MS;
  }

  #isGone({ id, event, due }: EventRow): void {
    const isErasable = due >= DEAD && this.#clock.latestMs >= due - DEAD + KEEP_DEAD_MS - CLOCK_BACK_MS;
    if (!isErasable && !this.#taken.has(event) && !this.#dropped.has(event) && !this.#takesForAnother(id))
      this.#broken(`event ${id} is gone, and nobody has taken it`);
  }

  /**
   * An operator has erased a claim's record and dropped its event while it was being sent, and a claim with the same attempt id was
   * completed again within that millisecond: both events have one id, so the destination has taken the one for the other.
   */
  #takesForAnother(id: string): boolean {
    const isOf = (event: string): boolean => event.includes(`"id":"${id}"`);
    return [...this.#taken].some((event) => isOf(event) && this.#dropped.has(event));
  }

  /**
   * A lane rests only as often as it has failed itself: not because its destination refused an event, nor because another lane failed. A
   * destination rests as a whole only when several lanes had no answer, one after the other.
   */
  #judgeRests(disk: Disk): void {
    for (const { destination, lane, until, failures } of restsOn(disk)) {
      const name = `${destination} ${lane}`;
      if (until > this.#latestPause(destination, LONGEST_REST_MS))
        this.#broken(`${name} rests until ${until}, longer than the longest pause`);
      if (lane === EVERY_LANE) {
        const lanes = this.#mostUnanswered.get(destination) ?? 0;
        if (lanes < LANES_UNCERTAIN) this.#broken(`${destination} rests as a whole after ${lanes} lanes had no answer`);
        continue;
      }
      const most = this.#failures.get(name) ?? 0;
      if (failures > most) this.#broken(`${name} rests after ${failures} failures, and has failed ${most} times`);
    }
  }

  #judgeAlarm(disk: Disk): void {
    if (this.#rules.isAlarmDropped || !this.#rules.isClockSeen) return;
    const rests = new Map(restsOn(disk).map(({ destination, lane, until }) => [`${destination} ${lane}`, until]));
    const alarm = disk.durableAlarmMs;
    const earliestMs = Math.max(
      this.#busyUntilMs,
      this.#rules.excusedUntilMs,
      disk.refusedAtMs + PAUSE_MS,
      this.#latestMs,
    );
    for (const { id, destination, lane, due } of this.#stored.values()) {
      const [own = 0, whole = 0] = [lane, EVERY_LANE].map((one) => rests.get(`${destination} ${one}`));
      const dueMs = due >= DEAD ? due - DEAD + KEEP_DEAD_MS : Math.max(due, own, whole);
      const deadline = Math.max(dueMs, earliestMs);
      if (alarm === null || alarm > deadline + 1)
        this.#broken(`the alarm is set to ${alarm}, but event ${id} for ${destination} has its time at ${deadline}`);
    }
  }

  /** A call leaves the object. */
  leaves({ destination, events }: EventCall): void {
    for (const { id, event } of events) {
      this.#sent.add(event);
      const isDurable = this.#ever.has(event) && this.#results.has(attemptOf(id));
      // One that was dropped in the turn of its result has never been in the store.
      if (!isDurable && !this.#dropped.has(event))
        this.#broken(`event ${id} is sent to ${destination}, and it is not durable, or its result is not`);
    }
  }

  takes({ events }: EventCall): void {
    for (const { event } of events) this.#taken.add(event);
  }

  /** The gateway hears how a call has ended. */
  hears({ destination, events }: EventCall, sent: TryResult): void {
    const lane = events[0]?.lane ?? 0;
    const isUnanswered = sent.kind === "failed" && sent.scope === "destination";
    const unanswered = isUnanswered ? new Set(this.#unanswered.get(destination)).add(lane) : new Set<number>();
    this.#unanswered.set(destination, unanswered);
    const most = Math.max(unanswered.size, this.#mostUnanswered.get(destination) ?? 0);
    this.#mostUnanswered.set(destination, most);
    if (sent.kind === "failed")
      this.#asked.set(destination, Math.max(sent.retryAfterMs ?? 0, this.#asked.get(destination) ?? 0));
    if (sent.kind === "accepted" || sent.scope === "event") return;
    const name = `${destination} ${lane}`;
    this.#failures.set(name, 1 + (this.#failures.get(name) ?? 0));
  }

  /** An operator has dropped these, once that is durable. */
  drops(rows: readonly EventRow[], object: string, gate: number): void {
    const fresh = rows.filter(({ event }) => !this.#dropped.has(event));
    for (const { id, event } of fresh) {
      this.#dropped.add(event);
      this.#ids.add(id);
    }
    const undo = (): void => {
      for (const { event } of fresh) this.#dropped.delete(event);
    };
    this.#facts.change({ object, gate, done: () => undefined, undo });
  }

  /** All time has passed, and all destinations but a dead one have taken what they were sent. */
  ends(): void {
    for (const { id } of this.#stored.values()) this.#broken(`event ${id} is neither taken nor erased`);
  }
}

/** An event's id begins with that of its attempt. */
function attemptOf(id: string): string {
  return id.slice(0, id.lastIndexOf("-"));
}
