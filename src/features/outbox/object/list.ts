// The events of one shard for operators: listed page by page, counted by destination, sent again and dropped. Every statement goes by
// the key of the outbox, within one destination, and reads or changes a bounded number of rows.

import {
  EVENT_STATES,
  type EventState,
  restBroughtBack,
  type RestingEvents,
  restingAt,
} from "../../../kernel/record/outbox.ts";
import { type EpochMs, epochMs } from "../../../kernel/record/units.ts";
import { type EventRowLocation, MOST_COMPARED, type OutboxRows } from "./rows.ts";
import { DEAD } from "./outbox-tables.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";

/** Only ids, enums and numbers, because it travels as JSON in a header (see itty.ts). */
export interface EventQuery {
  /** `null`: all. */
  readonly destination: string | null;
  readonly state: EventState | null;
  /** The `at` of the event before; `null`: from the beginning. */
  readonly after: string | null;
  readonly limit: number;
}

/** An event without its data. */
export interface SeenEvent {
  readonly id: string;
  /** The record whose result it tells. */
  readonly record: string;
  readonly destination: string;
  readonly state: EventState;
  readonly tries: number;
  /** When it was published, or sent again by an operator. */
  readonly since: EpochMs;
  /** When it is tried next, or when it died. */
  readonly due: EpochMs;
  /** Why the last try failed. */
  readonly last: string | null;
  /** Where it lies; another place after each try. */
  readonly at: string;
}

export interface DestinationCounts {
  readonly destination: string;
  readonly pending: number;
  readonly dead: number;
  /** Which of the two may be larger. */
  readonly atLeast: readonly EventState[];
  /** Of those counted: since when the oldest waits; `null` without any. */
  readonly oldestPending: EpochMs | null;
  readonly oldestDeath: EpochMs | null;
  /** `null`: nothing rests. */
  readonly resting: RestingEvents | null;
}

/** What an operator does to events of a destination. */
export interface EventChange {
  readonly action: "resend" | "drop";
  readonly destination: string;
  readonly state: EventState | null;
  /** Only this one; `null`: all. */
  readonly event: { readonly id: string; readonly at: string } | null;
}

/** Rows that one call counts of one state, and changes: requests wait meanwhile. */
export const MAX_EVENTS_COUNTED = 10_000;
export const EVENTS_AT_ONCE = 100;

/** A destination of dead letters has a colon in its name. */
const AT = /^([A-Za-z0-9_:-]{1,80})\.(\d{1,2})\.(\d{1,16})\.(\d{1,16})$/;

export class OutboxList {
  readonly #tables: LaterTables;
  readonly #outbox: OutboxRows;

  constructor(tables: LaterTables, outbox: OutboxRows) {
    this.#tables = tables;
    this.#outbox = outbox;
  }

  /**
   * Events, and rests, whose time was set in the future were put off by a clock that was ahead, and are due now: at most so many events of
   * a lane, of those that are furthest away. Returns how many.
   */
  bringBack(now: EpochMs, most: number): number {
    let broughtBack = 0;
    for (const destination of this.#outbox.rests.destinations) {
      for (const [lane, rest] of this.#outbox.rests.of(destination)) {
        const brought = restBroughtBack(rest, now);
        if (brought === rest) continue;
        this.#outbox.rests.put(destination, lane, brought);
        broughtBack += 1;
      }
    }
    for (const destination of this.#outbox.destinations()) {
      for (const { lane } of this.#outbox.lanes(destination)) {
        const rows = this.#tables.sql
          .exec<EventRowLocation & Record<string, SqlStorageValue>>(
            `SELECT destination, lane, due, seq, id FROM (SELECT destination, lane, due, seq, id, set_at FROM outbox WHERE destination = ?1 AND lane = ?2 AND due > ?3 AND due < ?4 ORDER BY due DESC, seq DESC LIMIT ${MOST_COMPARED}) WHERE set_at > ?3 ORDER BY due, seq LIMIT +?5`,
            destination,
            lane,
            now,
            DEAD,
            most,
          )
          .toArray();
        for (const row of rows) this.#outbox.move(row, now, { at: now });
        broughtBack += rows.length;
      }
    }
    return broughtBack;
  }

  /** By destination and lane; first the pending ones, the one that is due first in front, and then the dead ones, oldest first. */
  page({ destination, state, after, limit }: EventQuery): readonly SeenEvent[] {
    const begin = after === null ? null : eventRowLocationOf(after);
    const events: SeenEvent[] = [];
    for (const name of this.#outbox.destinations()) {
      if (events.length >= limit) break;
      if (destination !== null && name !== destination) continue;
      if (begin !== null && name < begin.destination) continue;
      const { from, to } = rangeOf(state, 0);
      for (const { lane } of this.#outbox.lanes(name)) {
        if (events.length >= limit) break;
        const isHere = begin?.destination === name;
        if (isHere && lane < begin.lane) continue;
        const place = isHere && lane === begin.lane && begin.due >= from ? begin : { due: from, seq: 0 };
        events.push(...this.#read(name, lane, place, to, limit - events.length));
      }
    }
    return events;
  }

  #read(
    name: string,
    lane: number,
    after: Pick<EventRowLocation, "due" | "seq">,
    to: number,
    limit: number,
  ): readonly SeenEvent[] {
    return this.#tables.sql
      .exec<Row>(
        "SELECT id, record, due, seq, tries, since, last FROM outbox WHERE destination = ?1 AND lane = ?2 AND (due, seq) > (?3, ?4) AND due < ?5 ORDER BY due, seq LIMIT +?6",
        name,
        lane,
        after.due,
        after.seq,
        to,
        limit,
      )
      .toArray()
      .map(({ id, record, due, seq, tries, since, last }) => {
        const isDead = due >= DEAD;
        return {
          id,
          record,
          destination: name,
          state: isDead ? "dead" : "pending",
          tries,
          since: epochMs(since),
          due: epochMs(isDead ? due - DEAD : due),
          last,
          at: `${name}.${lane}.${due}.${seq}`,
        };
      });
  }

  /** Of each destination that has events. */
  counts(now: EpochMs): readonly DestinationCounts[] {
    return this.#outbox.destinations().map((destination) => {
      const deaths = this.#outbox.lanes(destination).flatMap(({ death }) => death ?? []);
      const pending = this.#count(destination, "pending");
      const dead = this.#count(destination, "dead");
      return {
        destination,
        pending: pending.n,
        dead: dead.n,
        atLeast: EVENT_STATES.filter((state) => (state === "dead" ? dead : pending).n === MAX_EVENTS_COUNTED),
        oldestPending: pending.oldest === null ? null : epochMs(pending.oldest),
        oldestDeath: deaths.length === 0 ? null : epochMs(Math.min(...deaths)),
        resting: restingAt(this.#outbox.rests.of(destination), now),
      };
    });
  }

  #count(destination: string, state: EventState): { readonly n: number; readonly oldest: number | null } {
    const { from, to } = rangeOf(state, 0);
    let n = 0;
    let oldest: number | null = null;
    for (const { lane } of this.#outbox.lanes(destination)) {
      const one = this.#tables.sql
        .exec<{ n: number; oldest: number | null }>(
          "SELECT count(*) AS n, min(since) AS oldest FROM (SELECT since FROM outbox WHERE destination = ? AND lane = ? AND due >= ? AND due < ? LIMIT +?)",
          destination,
          lane,
          from,
          to,
          MAX_EVENTS_COUNTED - n,
        )
        .one();
      n += one.n;
      if (one.oldest !== null) oldest = Math.min(oldest ?? one.oldest, one.oldest);
    }
    return { n, oldest };
  }

  /** Changes some events; returns how many. As many as EVENTS_AT_ONCE: there may be more. */
  change({ action, destination, state, event }: EventChange, now: EpochMs): number {
    if (!this.#outbox.exists) return 0;
    const places = event === null ? this.#places(action, destination, state, now) : this.#one(event);
    if (action === "drop") this.#outbox.delete(places);
    else this.#resend(places, now);
    return places.length;
  }

  /** Pending events that are due already need not be moved to be sent now. */
  #places(
    action: EventChange["action"],
    destination: string,
    state: EventState | null,
    now: EpochMs,
  ): readonly EventRowLocation[] {
    const { from, to } = rangeOf(state, action === "resend" ? now + 1 : 0);
    const places: EventRowLocation[] = [];
    for (const { lane } of this.#outbox.lanes(destination)) {
      const rows = this.#tables.sql.exec<{ destination: string; lane: number; due: number; seq: number; id: string }>(
        "SELECT destination, lane, due, seq, id FROM outbox WHERE destination = ? AND lane = ? AND due >= ? AND due < ? ORDER BY due, seq LIMIT +?",
        destination,
        lane,
        from,
        to,
        EVENTS_AT_ONCE - places.length,
      );
      places.push(...rows);
    }
    return places;
  }

  #one({ id, at }: NonNullable<EventChange["event"]>): readonly EventRowLocation[] {
    const place = eventRowLocationOf(at);
    if (place === null) return [];
    const found = this.#tables.sql
      .exec(
        "SELECT 1 FROM outbox WHERE destination = ? AND lane = ? AND due = ? AND seq = ? AND id = ?",
        place.destination,
        place.lane,
        place.due,
        place.seq,
        id,
      )
      .toArray();
    return found.length === 0 ? [] : [{ ...place, id }];
  }

  /** The events are due now, as if they had just been published. */
  #resend(places: readonly EventRowLocation[], now: EpochMs): void {
    this.#tables.transaction(() => {
      for (const place of places) this.#outbox.move(place, now, { at: now, since: now, tries: 0 });
    });
  }
}

interface Row extends Record<string, SqlStorageValue> {
  readonly id: string;
  readonly record: string;
  readonly due: number;
  readonly seq: number;
  readonly tries: number;
  readonly since: number;
  readonly last: string | null;
}

function eventRowLocationOf(at: string): Omit<EventRowLocation, "id"> | null {
  const [, destination, lane, due, seq] = AT.exec(at) ?? [];
  return destination === undefined ? null : { destination, lane: Number(lane), due: Number(due), seq: Number(seq) };
}

/** The times at which events of a state are due, pending ones from `first` on. */
function rangeOf(state: EventState | null, first: number): { readonly from: number; readonly to: number } {
  return { from: state === "dead" ? DEAD : first, to: state === "pending" ? DEAD : 2 * DEAD };
}
