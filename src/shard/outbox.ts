// Relays events: at once after the commit that has published them, and by the alarm whatever is left. Destinations take turns, one
// call at a time each and a few in all, so that none delays another, and connections are left to the exchanges. core/outbox.ts
// decides what follows a failure.

import { afterFailure, type EventFate, type NewEvent, restMs, type Sent } from "../core/outbox.ts";
import type { Completed, IdempotencyRecord } from "../core/record.ts";
import {
  type BodyNumber,
  type DurationMs,
  durationMs,
  earliest,
  epochMs,
  type EpochMs,
  later,
  latest,
  type RecordId,
} from "../core/units.ts";
import type { Alarm } from "./alarm.ts";
import type { Alerts } from "./alerts.ts";
import { joinBytes } from "../http/body.ts";
import { PAUSE_MS, takeNextTurn } from "./next-turn.ts";
import { bookkeep } from "../traffic/bookkeep.ts";
import { eventsOf, type Omission, type ResultFacts } from "../outbox/cloud-event.ts";
import type { Bodies } from "./store/bodies.ts";
import type { Label } from "./store/label.ts";
import { DEAD, type OutboxRows, type StoredEvent } from "./store/outbox.ts";
import { isEncrypted, type KeptResponse } from "./store/response-rows.ts";

/** How many destinations are called at a time: fewer than the six connections that a shard has. */
const MAX_AT_ONCE = 2;

/** An instance may be lost with its calls. The alarm checks after the time by which they must have ended. */
const CHECK_AFTER_MS = durationMs(30_000);

/** How many events of a destination are given up, or erased, in one turn: each may have 120 kB. */
const AT_ONCE = 20;

/** Larger bodies are not part of an event. */
const MAX_BODY_BYTES = 96 * 1024;

/** Where events go. */
export interface Target {
  /** How old an event may become before it is dead. */
  readonly giveUpAfterMs: DurationMs;
  /** How long a dead event is kept. */
  readonly keepDeadMs: DurationMs;
  /** The most that one call takes. */
  readonly batch: { readonly events: number; readonly bytes: number };
  /** Never rejects. */
  readonly send: (events: readonly StoredEvent[], now: Date) => Promise<Sent>;
}

export interface OutboxPorts {
  readonly ledger: { readonly outbox: OutboxRows; readonly bodies: Pick<Bodies, "read"> };
  readonly alarm: Pick<Alarm, "moveTo">;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  /** What the configuration says about a destination. */
  readonly destination: (name: string) => Target;
  readonly count: (destination: string, what: EventFate, events: number) => void;
  readonly alerts: Pick<Alerts, "diedEvents">;
}

/** What an event can tell besides its record. */
export interface Told {
  readonly label: () => Label;
  readonly response: KeptResponse | null;
  /** What the origin's response says in `Onceway-Event`. */
  readonly originEvents: string | null;
}

export class Outbox {
  readonly #ports: OutboxPorts;
  /** The destinations that are being called. */
  readonly #running = new Set<string>();
  /** The destination that had its turn last. */
  #last = "";
  #pausedUntil = epochMs(0);

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  /** The events of a step: those that a result has for which they were promised. */
  eventsOf(
    id: RecordId,
    before: IdempotencyRecord | null,
    after: IdempotencyRecord | null,
    told: Told,
  ): readonly NewEvent[] {
    const publications = before?.policy.publish;
    if (publications === undefined || after?.state !== "completed" || before?.state === "completed") return [];
    // Only a sealed record does not say its status, and a sealed route publishes nothing.
    if (after.status === null) return [];
    return eventsOf(publications, this.#factsOf(id, after, after.status, told));
  }

  #factsOf(
    id: RecordId,
    { attempt, completedAt }: Completed,
    status: number,
    { label, response, originEvents }: Told,
  ): ResultFacts {
    const open = response === null || isEncrypted(response) ? null : response;
    const { key, route } = label();
    return {
      recordId: id,
      route,
      key,
      attempt,
      status,
      completedAt,
      headers: open?.headers ?? [],
      body: open === null ? "not-kept" : this.#bodyOf(open.body),
      originEvents,
    };
  }

  #bodyOf(body: Exclude<KeptResponse, { envelope: Uint8Array }>["body"]): Uint8Array | Omission {
    switch (body.kind) {
      case "inline":
        return body.bytes.byteLength > MAX_BODY_BYTES ? "too-large" : body.bytes;
      case "chunks": {
        if (body.size > MAX_BODY_BYTES) return "too-large";
        return joinBytes(Array.from({ length: body.count }, (_, at) => this.#chunk(body.body, at)));
      }
      case "remote":
        return "too-large";
    }
  }

  /** Half a body must never pass for a whole one. */
  #chunk(body: BodyNumber, at: number): Uint8Array {
    const chunk = this.#ports.ledger.bodies.read(body, at);
    if (chunk === null) throw new Error("a chunk of a response is missing");
    return chunk;
  }

  /** These events have been written in this turn. The runtime holds the call until that is durable. */
  published(events: readonly NewEvent[], now: EpochMs): void {
    this.#ports.alarm.moveTo(later(now, CHECK_AFTER_MS));
    bookkeep("relaying an event", () => {
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
    let next: EpochMs | null = null;
    for (const destination of this.#inTurn()) {
      const at = this.#nextOf(destination, now);
      if (at !== null) next = next === null ? at : earliest(next, at);
    }
    return next;
  }

  #nextOf(destination: string, now: EpochMs): EpochMs | null {
    const { outbox } = this.#ports.ledger;
    const death = outbox.firstDeath(destination);
    const erasure = death === null ? null : later(death, this.#ports.destination(destination).keepDeadMs);
    const due = outbox.firstDue(destination);
    if (due === null) return erasure;
    // What is being relayed, or waits for its turn, continues when a call ends.
    const isBusy = this.#running.has(destination) || this.#running.size >= MAX_AT_ONCE;
    const resting = outbox.resting.get(destination)?.until ?? due;
    const at = isBusy ? later(now, CHECK_AFTER_MS) : latest(latest(due, resting), this.#pausedUntil);
    return erasure === null ? at : earliest(at, erasure);
  }

  /** The destinations after the last one, and then the others. */
  #inTurn(): readonly string[] {
    const all = this.#ports.ledger.outbox.destinations();
    return [...all.filter((name) => name > this.#last), ...all.filter((name) => name <= this.#last)];
  }

  #beginIfDue(destination: string, now: EpochMs): void {
    const { outbox } = this.#ports.ledger;
    if (this.#running.size >= MAX_AT_ONCE || this.#running.has(destination) || now < this.#pausedUntil) return;
    const rest = outbox.resting.get(destination);
    if (rest !== undefined && now < rest.until) return;
    const target = this.#ports.destination(destination);
    // A destination that has failed gets one event first.
    const events = outbox.due(destination, now, rest === undefined ? target.batch : { events: 1, bytes: 0 });
    const [first] = events;
    if (first === undefined) return;
    this.#running.add(destination);
    this.#last = destination;
    this.#ports.waitUntil(this.#relay(destination, target, [first, ...events.slice(1)]));
  }

  async #relay(destination: string, target: Target, events: readonly [StoredEvent, ...StoredEvent[]]): Promise<void> {
    try {
      const sent = await target.send(events, new Date());
      if (sent.kind === "accepted") this.#accepted(destination, events);
      else this.#failed(destination, target, events[0], sent);
    } catch (error) {
      // Whatever was taken stays in the store, and is sent again with the same id.
      console.error({ message: "events could not be relayed", destination, reason: String(error) });
      this.#pausedUntil = later(epochMs(Date.now()), PAUSE_MS);
    } finally {
      this.#running.delete(destination);
    }
    this.continue();
  }

  #accepted(destination: string, events: readonly StoredEvent[]): void {
    const { outbox } = this.#ports.ledger;
    outbox.delete(events);
    outbox.endRest(destination);
    this.#count(destination, "relayed", events.length);
  }

  /** Of several events, one is charged with the failure, and the next try is made with one. */
  #failed(destination: string, target: Target, event: StoredEvent, sent: Extract<Sent, { kind: "failed" }>): void {
    const { outbox } = this.#ports.ledger;
    const now = epochMs(Date.now());
    const failures = (outbox.resting.get(destination)?.failures ?? 0) + 1;
    const until = later(now, restMs(failures, sent, Math.random()));
    const tries = event.tries + 1;
    const next = afterFailure({ tries, createdAt: event.since }, target.giveUpAfterMs, sent, Math.random(), now);
    if (sent.scope === "event") outbox.endRest(destination);
    else outbox.rest(destination, { until, failures, reason: sent.reason });
    const changed = { tries, last: sent.reason };
    outbox.move(event, next.kind === "dead" ? DEAD + now : next.due, changed);
    // Those behind it that nobody has tried for as long have the same fate: the destination has been away for all of it.
    const over = outbox.dueSince(destination, now, epochMs(now - target.giveUpAfterMs), AT_ONCE);
    for (const one of over) outbox.move(one, DEAD + now, { last: sent.reason });
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
      failures,
      dead,
    });
  }

  #eraseDead(destination: string, now: EpochMs): void {
    const { keepDeadMs } = this.#ports.destination(destination);
    const erased = this.#ports.ledger.outbox.eraseDead(destination, epochMs(now - keepDeadMs), AT_ONCE);
    if (erased === 0) return;
    console.error({ message: "events that were dead for too long have been erased", destination, events: erased });
    this.#count(destination, "erased", erased);
  }

  #count(destination: string, what: EventFate, events: number): void {
    bookkeep("counting events", () => this.#ports.count(destination, what, events));
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
