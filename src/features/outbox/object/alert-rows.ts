// The alerts that an object has sent, and when. One row for each kind and destination; an object that has sent none has no table.

import {
  alertsBroughtBack,
  type AlertState,
  type UnknownOutcomes,
  STILL_UNKNOWN_MS,
} from "../../../kernel/record/alerts.ts";
import { type NewEvent, NO_RECORD } from "../../../kernel/record/outbox.ts";
import { epochMs, type EpochMs, type RecordId } from "../../../kernel/record/units.ts";
import { ALERTS_TABLE } from "./outbox-tables.ts";
import type { OutboxRows } from "./rows.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";
import { readOrReport, readTime, readWhole } from "../../../kernel/store/unreadable.ts";

type Row = Record<"name" | "at" | "count" | "due", SqlStorageValue> & {
  readonly name: string;
  readonly at: number;
  readonly count: number;
  readonly due: number | null;
};

/** Alerts, and what the object remembers of them. */
export interface AlertEvents {
  readonly events: readonly NewEvent[];
  readonly states: readonly AlertState[];
  readonly at: EpochMs;
}

/** The most unknown outcomes that one look reads. */
const MAX_COUNTED = 10_000;

export class AlertRows {
  readonly #tables: LaterTables;
  readonly #outbox: OutboxRows;

  constructor(tables: LaterTables, outbox: OutboxRows) {
    this.#tables = tables;
    this.#outbox = outbox;
  }

  get #exists(): boolean {
    return this.#tables.has("alerts");
  }

  get(name: string): AlertState | null {
    if (!this.#exists) return null;
    const [row] = this.#tables.sql.exec<Row>("SELECT name, at, count, due FROM alerts WHERE name = ?", name).toArray();
    return row === undefined ? null : stateOf(row);
  }

  /** Those whose names begin so. */
  below(prefix: string): readonly AlertState[] {
    if (!this.#exists) return [];
    const rows = this.#tables.sql.exec<Row>("SELECT name, at, count, due FROM alerts").toArray();
    return statesOf(rows.filter(({ name }) => name.startsWith(prefix)));
  }

  due(now: EpochMs): readonly AlertState[] {
    if (!this.#exists) return [];
    return statesOf(
      this.#tables.sql.exec<Row>("SELECT name, at, count, due FROM alerts WHERE due <= ?", now).toArray(),
    );
  }

  next(): EpochMs | null {
    if (!this.#exists) return null;
    const { due } = this.#tables.sql.exec<{ due: number | null }>("SELECT min(due) AS due FROM alerts").one();
    return due === null ? null : epochMs(due);
  }

  /** Those that a clock has put too far away that was ahead are due now. Returns how many. */
  bringBack(now: EpochMs): number {
    const states = alertsBroughtBack(this.below(""), now);
    this.#put(states);
    return states.length;
  }

  /** Stores an alert of anything but a step; `subject`: of which record, if any. */
  tell(subject: RecordId | null, alert: AlertEvents): void {
    this.#tables.transaction(() => this.insert(subject ?? NO_RECORD, alert));
    this.added(alert);
  }

  /** To be called in the transaction that writes the alert; after it, `added`. */
  insert(subject: RecordId, { events, states, at }: AlertEvents): void {
    this.#outbox.insert(subject, events, at);
    this.#put(states);
  }

  #put(states: readonly AlertState[]): void {
    if (!this.#exists && states.length > 0) this.#tables.sql.exec(ALERTS_TABLE);
    for (const { name, at, count, due } of states) {
      this.#tables.sql.exec("INSERT OR REPLACE INTO alerts VALUES (?, ?, ?, ?)", name, at, count, due);
    }
  }

  /** The transaction of `insert` has succeeded. */
  added({ events, states }: AlertEvents): void {
    if (events.length > 0) this.#outbox.added();
    if (states.length > 0) this.#tables.made("alerts");
  }

  erase(name: string): void {
    if (this.#exists) this.#tables.sql.exec("DELETE FROM alerts WHERE name = ?", name);
  }

  /** Reads at most MAX_COUNTED rows, found by the index of open records. */
  unknownOutcomes(now: EpochMs): UnknownOutcomes {
    const isOldFrom = now - STILL_UNKNOWN_MS;
    const { old, oldest, next } = this.#tables.sql
      .exec<{ old: number; oldest: number | null; next: number | null }>(
        "SELECT total(started_at <= ?1) AS old, min(started_at) AS oldest, min(CASE WHEN started_at > ?1 THEN started_at END) AS next FROM (SELECT started_at FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown') AND state = 'unknown' AND expires_at > ?2 LIMIT +?3)",
        isOldFrom,
        now,
        MAX_COUNTED,
      )
      .one();
    return {
      old,
      oldestSince: oldest === null ? null : epochMs(oldest),
      nextSince: next === null ? null : epochMs(next),
    };
  }
}

/** `null` if it cannot be read: the alert is sent anew, and no step of a record fails for it. */
function stateOf({ name, at, count, due }: Row): AlertState | null {
  return readOrReport(
    () => ({
      name,
      at: readTime(at, "an alert"),
      count: readWhole(count, "an alert"),
      due: due === null ? null : readTime(due, "an alert"),
    }),
    { alert: name },
  );
}

function statesOf(rows: readonly Row[]): readonly AlertState[] {
  return rows.map(stateOf).filter((state) => state !== null);
}
