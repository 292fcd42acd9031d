// Relays events: at once after the commit that has published them, and by the alarm whatever is left. Destinations take turns, one
// call at a time each and a few in all, so that none delays another, and connections are left to the exchanges. kernel/record/outbox.ts
// decides whose event is next, and what follows a failure.

import type { LaneHead } from "../../../kernel/record/lanes.ts";
import {
  afterFailure,
  EVERY_LANE,
  type EventFate,
  isAway,
  isOwnFailure,
  type NewEvent,
  nextTurn,
  restAfter,
  type TryResult,
  triedFrom,
} from "../../../kernel/record/outbox.ts";
import type { IdempotencyRecord } from "../../../kernel/record/record.ts";
import {
  dueAt,
  type DurationMs,
  durationMs,
  earliestTime,
  epochMs,
  type EpochMs,
  isPauseOn,
  timeAfter,
  latestTime,
  type RecordId,
} from "../../../kernel/record/units.ts";
import type { ObjectAlarm } from "../../../kernel/object/alarm.ts";
import type { IsolateWork } from "../../../kernel/object/isolate-work.ts";
import type { AlertWriter } from "./alerts.ts";
import { DestinationMemory } from "./destination-memory.ts";
import { PAUSE_MS, takeNextTurn } from "../../../kernel/object/next-turn.ts";
import { type EventBodies, resultFactsOf, type ResultSource } from "./result-facts.ts";
import { logFailure } from "../../../kernel/traffic/bookkeep.ts";
import { eventsOf } from "../cloud-event.ts";
import type { LaneEvents, OutboxRows, StoredEvent } from "./rows.ts";
import { DEAD } from "./outbox-tables.ts";

/** How many destinations are called at a time: fewer than the six connections that a shard has. */
const MAX_AT_ONCE = 2;

/** An instance may be lost with its calls. The alarm checks after the time by which they must have ended. */
const CHECK_AFTER_MS = durationMs(30_000);

/**
 * How many events of a destination are given up, or erased, in one turn: each may have 120 kB. Also how many whose time is over are tried
 * without a rest between them: none is given up before it was tried, and a destination that stays away must not collect them for ever.
 */
const AT_ONCE = 20;

/** Where events go. */
export interface RelayTarget {
  /** How old an event may become before it is dead. */
  readonly giveUpAfterMs: DurationMs;
  /** How long a dead event is kept. */
  readonly keepDeadMs: DurationMs;
  /** The most that one call takes. */
  readonly batch: { readonly events: number; readonly bytes: number };
  /** Never rejects. */
  readonly send: (events: readonly StoredEvent[], now: Date) => Promise<TryResult>;
}

export interface OutboxPorts {
  readonly store: { readonly events: OutboxRows };
  readonly ledger: { readonly bodies: EventBodies["bodies"] };
  readonly alarm: Pick<ObjectAlarm, "moveTo">;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly isolate: IsolateWork;
  /** What the configuration says about a destination. */
  readonly destination: (name: string) => RelayTarget;
  readonly count: (destination: string, what: EventFate, events: number) => void;
  readonly alerts: Pick<AlertWriter, "diedEvents">;
}

export class OutboxRelay {
  readonly #ports: OutboxPorts;
  /** The destinations that are being called. */
  readonly #running = new Set<string>();
  /** The destination that had its turn last. */
  #last = "";
  /** What is remembered of destinations, for their turns. */
  readonly #memories = new Map<string, DestinationMemory>();
  #pausedUntil = epochMs(0);

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  /** The events of a step: those that a result has for which they were promised. */
  eventsOf(
    id: RecordId,
    before: IdempotencyRecord | null,
    after: IdempotencyRecord | null,
    source: ResultSource,
  ): readonly NewEvent[] {
    const publications = before?.policy.publish;
    if (publications === undefined || after?.state !== "completed" || before?.state === "completed") return [];
    // Only an encrypted record does not say its status, and an encrypted route publishes nothing.
    if (after.status === null) return [];
    return eventsOf(publications, resultFactsOf(id, after, after.status, source, this.#ports.ledger));
  }

  /** These events have been written in this turn. The runtime holds the call until that is durable. */
  published(events: readonly NewEvent[], now: EpochMs): void {
    this.#ports.alarm.moveTo(timeAfter(now, CHECK_AFTER_MS));
    logFailure("relaying an event", () => {
      for (const destination of new Set(events.map((event) => event.destination))) this.#beginIfDue(destination, now);
    });
  }

  /** Begins the calls for what is due, as many as may be made at a time, and erases what has been dead for too long. */
  relayDue(now: EpochMs): void {
    for (const destination of this.#inTurn()) {
      this.#eraseDead(destination, now);
      this.#beginIfDue(destination, now);
    }
  }

  /** When the alarm has to come next; `null` when there is no event. */
  nextAt(now: EpochMs): EpochMs | null {
    const times = this.#inTurn().flatMap((destination) => this.#nextOf(destination, now) ?? []);
    return times.length === 0 ? null : epochMs(Math.min(...times));
  }

  #nextOf(destination: string, now: EpochMs): EpochMs | null {
    const { events: outbox } = this.#ports.store;
    const lanes = outbox.lanes(destination);
    const deaths = lanes.flatMap(({ death }) => death ?? []);
    const { keepDeadMs } = this.#ports.destination(destination);
    const erasure = deaths.length === 0 ? null : timeAfter(epochMs(Math.min(...deaths)), keepDeadMs);
    const rests = outbox.rests.of(destination);
    const due = headsOf(lanes).map((head) => triedFrom(head, rests));
    if (due.length === 0) return erasure;
    // What is being relayed, or waits for its turn, continues when a call ends.
    const at = this.#isBusyWith(destination)
      ? timeAfter(now, CHECK_AFTER_MS)
      : latestTime(epochMs(Math.min(...due)), dueAt(this.#pausedUntil, PAUSE_MS, now));
    return erasure === null ? at : earliestTime(at, erasure);
  }

  #isBusyWith(destination: string): boolean {
    return this.#ports.isolate.isEnding || this.#running.size >= MAX_AT_ONCE || this.#running.has(destination);
  }

  #memoryOf(destination: string): DestinationMemory {
    const memory = this.#memories.get(destination) ?? new DestinationMemory();
    this.#memories.set(destination, memory);
    return memory;
  }

  /** The destinations after the last one, and then the others. */
  #inTurn(): readonly string[] {
    const all = this.#ports.store.events.destinations();
    return [...all.filter((name) => name > this.#last), ...all.filter((name) => name <= this.#last)];
  }

  #beginIfDue(destination: string, now: EpochMs): void {
    const { events: outbox } = this.#ports.store;
    if (this.#isBusyWith(destination)) return;
    if (isPauseOn(this.#pausedUntil, PAUSE_MS, now)) return;
    const memory = this.#memoryOf(destination);
    const state = { rests: outbox.rests.of(destination), lastLane: memory.lastLane };
    const turn = nextTurn(headsOf(outbox.lanes(destination)), state, now);
    if (turn === null) return;
    const { lane, isProbe } = turn;
    const target = this.#ports.destination(destination);
    const { events: most, bytes } = target.batch;
    const events = isProbe
      ? outbox.leastTried(destination, lane, now)
      : outbox.due(destination, lane, now, { events: memory.mostOf(lane, most), bytes });
    const [first] = events;
    if (first === undefined) return;
    this.#running.add(destination);
    this.#last = destination;
    memory.lastLane = lane;
    const relayed = this.#relay(destination, target, [first, ...events.slice(1)]);
    this.#ports.waitUntil(relayed.finally(this.#ports.isolate.begin()));
  }

  async #relay(
    destination: string,
    target: RelayTarget,
    events: readonly [StoredEvent, ...StoredEvent[]],
  ): Promise<void> {
    try {
      const sent = await target.send(events, new Date());
      if (sent.kind === "accepted") this.#accepted(destination, target, events);
      else if (events.length > 1) this.#failedTogether(destination, events, sent.reason);
      else this.#failed(destination, target, events[0], sent);
    } catch (error) {
      // Whatever was taken stays in the store, and is sent again with the same id.
      console.error({ message: "events could not be relayed", destination, reason: String(error) });
      this.#pausedUntil = timeAfter(epochMs(Date.now()), PAUSE_MS);
    } finally {
      this.#running.delete(destination);
    }
    this.continue();
  }

  #accepted(destination: string, target: RelayTarget, events: readonly [StoredEvent, ...StoredEvent[]]): void {
    const [{ lane }] = events;
    this.#ports.store.events.delete(events);
    this.#works(destination, lane);
    this.#memoryOf(destination).grow(lane, target.batch.events);
    this.#count(destination, "relayed", events.length);
  }

  /** It has taken an event of this lane, or refused this one alone. */
  #works(destination: string, lane: number): void {
    this.#ports.store.events.rests.end(destination, lane);
    this.#memoryOf(destination).works(lane);
    this.#answers(destination);
  }

  /** Whatever it has answered, it is not away. */
  #answers(destination: string): void {
    this.#ports.store.events.rests.end(destination, EVERY_LANE);
    this.#memoryOf(destination).answers();
  }

  /** One of them may be what the destination does not take: they are tried again alone, then more and more together. */
  #failedTogether(destination: string, events: readonly [StoredEvent, ...StoredEvent[]], reason: string): void {
    const [{ lane }] = events;
    this.#ports.store.events.noteTries(events, reason);
    this.#memoryOf(destination).failsTogether(lane);
    this.#count(destination, "failed", 1);
    console.warn({ message: "events were not taken together", destination, events: events.length, reason });
  }

  #failed(
    destination: string,
    target: RelayTarget,
    event: StoredEvent,
    sent: Extract<TryResult, { kind: "failed" }>,
  ): void {
    const { events: outbox } = this.#ports.store;
    const { lane } = event;
    const now = epochMs(Date.now());
    const tries = event.tries + 1;
    const next = afterFailure({ tries, createdAt: event.since }, target.giveUpAfterMs, sent, Math.random(), now);
    const rests = outbox.rests.of(destination);
    const memory = this.#memoryOf(destination);
    const isOwn = isOwnFailure(event.tries, sent, rests.has(lane) || memory.hasFailed(lane));
    if (sent.scope === "event") this.#works(destination, lane);
    else {
      const isAnswered = sent.scope === "lane";
      if (isAnswered) this.#answers(destination);
      memory.fails(lane, isAnswered);
      // The next one whose time is over is tried at once.
      const goesOn = next.kind === "dead" && sent.retryAfterMs === null && memory.over < AT_ONCE;
      memory.over = goesOn ? memory.over + 1 : 0;
      const rested: readonly number[] = isAway(memory.unanswered, rests) ? [lane, EVERY_LANE] : isOwn ? [] : [lane];
      for (const one of rested) {
        const rest = restAfter(rests.get(one) ?? null, sent, Math.random(), now);
        outbox.rests.put(destination, one, goesOn ? { ...rest, until: now } : rest);
      }
    }
    outbox.move(event, next.kind === "dead" ? DEAD + now : next.due, { at: now, tries, last: sent.reason });
    // Others of its caller that have been tried, and whose time is over too, have the same fate. What was never tried is tried first.
    const since = epochMs(now - target.giveUpAfterMs);
    const over = isOwn ? [] : outbox.triedSince(destination, lane, now, since, AT_ONCE);
    for (const one of over) outbox.move(one, DEAD + now, { at: now, last: sent.reason });
    const dead = over.length + (next.kind === "dead" ? 1 : 0);
    this.#count(destination, "failed", 1);
    if (dead > 0) {
      this.#count(destination, "dead", dead);
      this.#ports.alerts.diedEvents(event, dead, sent.reason, now);
    }
    console.warn({
      message: "an event was not taken",
      destination,
      event: event.id,
      reason: sent.reason,
      failures: outbox.rests.of(destination).get(lane)?.failures ?? 0,
      dead,
    });
  }

  #eraseDead(destination: string, now: EpochMs): void {
    const { keepDeadMs } = this.#ports.destination(destination);
    const erased = this.#ports.store.events.eraseDead(destination, epochMs(now - keepDeadMs), AT_ONCE);
    if (erased === 0) return;
    console.error({ message: "events that were dead for too long have been erased", destination, events: erased });
    this.#count(destination, "erased", erased);
  }

  #count(destination: string, what: EventFate, events: number): void {
    logFailure("counting events", () => this.#ports.count(destination, what, events));
  }

  /** A call has ended, or an operator has changed something: what is due begins, and the alarm is set for what is not. */
  continue(): void {
    takeNextTurn({
      begin: (now) => this.relayDue(now),
      nextAt: (now) => this.nextAt(now),
      pause: (until) => (this.#pausedUntil = until),
      alarm: this.#ports.alarm,
      failure: "the next events could not be relayed",
    });
  }
}

/** The first event of each lane that has any but dead ones. */
function headsOf(lanes: readonly LaneEvents[]): readonly LaneHead[] {
  return lanes.flatMap(({ lane, due }) => (due === null ? [] : [{ lane, at: due }]));
}
