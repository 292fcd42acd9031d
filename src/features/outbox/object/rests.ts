// The lanes of destinations whose last event was not taken, also those whose rest is over. A lane whose events are taken has no row.

import type { LaneRest, LaneRests } from "../../../kernel/record/outbox.ts";
import type { LedgerSql } from "../../../kernel/store/schema.ts";
import { readOrReport, readTime, readWhole } from "../../../kernel/store/unreadable.ts";

const NONE: LaneRests = new Map();

export class RestRows {
  readonly #sql: LedgerSql;
  readonly #exists: () => boolean;
  /** `null` until the first read. */
  #known: Map<string, Map<number, LaneRest>> | null = null;

  /** `exists`: whether the object has the table. */
  constructor(sql: LedgerSql, exists: () => boolean) {
    this.#sql = sql;
    this.#exists = exists;
  }

  /** By lane; that of EVERY_LANE is the destination's own, which did not answer. */
  of(destination: string): LaneRests {
    return this.#read().get(destination) ?? NONE;
  }

  get destinations(): readonly string[] {
    return [...this.#read().keys()];
  }

  put(destination: string, lane: number, rest: LaneRest): void {
    const { until, setAt, failures, reason } = rest;
    this.#sql.exec(
      "INSERT OR REPLACE INTO resting (destination, lane, until, set_at, failures, reason) VALUES (?, ?, ?, ?, ?, ?)",
      destination,
      lane,
      until,
      setAt,
      failures,
      reason,
    );
    add(this.#read(), destination, lane, rest);
  }

  /** Costs nothing if the lane does not rest. */
  end(destination: string, lane: number): void {
    const known = this.#read().get(destination);
    if (known?.has(lane) !== true) return;
    this.#sql.exec("DELETE FROM resting WHERE destination = ? AND lane = ?", destination, lane);
    known.delete(lane);
  }

  /** All rests of a destination: an operator wants it to be tried now. */
  endAll(destination: string): void {
    if (this.of(destination).size === 0) return;
    this.#sql.exec("DELETE FROM resting WHERE destination = ?", destination);
    this.#read().delete(destination);
  }

  #read(): Map<string, Map<number, LaneRest>> {
    if (this.#known !== null) return this.#known;
    const known = new Map<string, Map<number, LaneRest>>();
    const rows = this.#exists() ? this.#rows() : [];
    for (const { destination, lane, until, set_at, failures, reason } of rows) {
      // A rest that cannot be read is over: one call finds out whether events are taken.
      const rest = readOrReport(
        () => ({
          until: readTime(until, "a rest"),
          setAt: readTime(set_at, "a rest"),
          failures: readWhole(failures, "a rest"),
          reason,
        }),
        { destination },
      );
      if (rest !== null) add(known, destination, lane, rest);
    }
    this.#known = known;
    return known;
  }

  #rows(): readonly Row[] {
    return this.#sql.exec<Row>("SELECT destination, lane, until, set_at, failures, reason FROM resting").toArray();
  }
}

interface Row extends Record<string, SqlStorageValue> {
  readonly destination: string;
  readonly lane: number;
  readonly until: number;
  readonly set_at: number;
  readonly failures: number;
  readonly reason: string;
}

function add(known: Map<string, Map<number, LaneRest>>, destination: string, lane: number, rest: LaneRest): void {
  const lanes = known.get(destination) ?? new Map<number, LaneRest>();
  known.set(destination, lanes.set(lane, rest));
}
