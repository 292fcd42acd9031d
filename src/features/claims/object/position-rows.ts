// How far groups of consumers have read, partition by partition, and what is needed to know it: one row for each partition, and the
// offsets of claims that are not completed, which lie in the histories of their records.

import type { Position } from "../../../kernel/record/events.ts";
import type { StoredPosition, OffsetRange } from "../../../kernel/record/position.ts";
import { isWhole } from "../../../kernel/record/record-fault.ts";
import type { TimelineEvent } from "../../../kernel/record/timeline.ts";
import { type RecordId, recordId } from "../../../kernel/record/units.ts";
import { IS_IN_FLIGHT } from "../../../kernel/store/record-numbers.ts";
import { readHistory } from "../../../kernel/store/record-row.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";
import { readStoredJson, readWhole } from "../../../kernel/store/unreadable.ts";

/** A partition of a stream, as a group reads it; `route` is the group's name among routes. */
export interface GroupPartition extends Pick<Position, "stream" | "partition"> {
  readonly route: string;
}

/** A claim that was made for a message in a partition. */
export interface ClaimedOffset extends GroupPartition {
  readonly id: RecordId;
  readonly offset: number;
  readonly previous?: number | null | undefined;
}

interface PositionRow extends Record<string, SqlStorageValue> {
  readonly next: number;
  readonly done: number;
  /** `null`: no message from `next` on has been claimed. */
  readonly claimed: string | null;
}

/** How far groups of consumers have read. */
export const POSITIONS_TABLE =
  "CREATE TABLE IF NOT EXISTS positions (route TEXT NOT NULL, stream TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, done INTEGER NOT NULL, claimed TEXT, PRIMARY KEY (route, stream, partition)) WITHOUT ROWID";

export class PositionRows {
  readonly #tables: LaterTables;

  /** An object whose claims have no positions never makes the table. */
  constructor(tables: LaterTables) {
    this.#tables = tables;
  }

  get #exists(): boolean {
    return this.#tables.has("positions");
  }

  get({ route, stream, partition }: GroupPartition): StoredPosition | null {
    if (!this.#exists) return null;
    const [row] = this.#tables.sql
      .exec<PositionRow>(
        "SELECT next, done, claimed FROM positions WHERE route = ? AND stream = ? AND partition = ?",
        route,
        stream,
        partition,
      )
      .toArray();
    return row === undefined ? null : readPosition(row);
  }

  put({ route, stream, partition }: GroupPartition, { next, done, claimed }: StoredPosition): void {
    // Each time, until it has been read: a transaction may have undone what is remembered here.
    if (!this.#exists) this.#tables.sql.exec(POSITIONS_TABLE);
    this.#tables.sql.exec(
      "INSERT INTO positions (route, stream, partition, next, done, claimed) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (route, stream, partition) DO UPDATE SET next = excluded.next, done = excluded.done, claimed = excluded.claimed",
      route,
      stream,
      partition,
      next,
      done,
      textOf(claimed),
    );
  }

  /** Those after a partition, in the order of group, stream and partition. `route`: only this group's. */
  page(
    route: string | null,
    after: GroupPartition | null,
    limit: number,
  ): readonly (GroupPartition & StoredPosition)[] {
    if (!this.#exists) return [];
    const { route: from, stream, partition } = after ?? { route: route ?? "", stream: "", partition: -1 };
    return this.#tables.sql
      .exec<PositionRow & { route: string; stream: string; partition: number }>(
        `SELECT route, stream, partition, next, done, claimed FROM positions WHERE (route, stream, partition) > (?1, ?2, ?3)${route === null ? "" : " AND route = ?5"} ORDER BY route, stream, partition LIMIT +?4`,
        from,
        stream,
        partition,
        limit,
        ...(route === null ? [] : [route]),
      )
      .toArray()
      .map((row) => {
        const { next, done, claimed } = readPosition(row);
        return { route: row.route, stream: row.stream, partition: row.partition, next, done, claimed };
      });
  }

  /** The transaction that has made the table is over. */
  made(): void {
    this.#tables.made("positions");
  }

  /** The claims that may be open: read once by each instance that needs them. */
  claimed(): readonly ClaimedOffset[] {
    const queries = [
      `SELECT id, route, history FROM records WHERE ${IS_IN_FLIGHT} AND history IS NOT NULL`,
      "SELECT id, route, history FROM records INDEXED BY records_open WHERE state IN ('failed', 'unknown')",
    ];
    return queries.flatMap((query) =>
      this.#tables.sql
        .exec<{ id: string; route: string; history: string | null }>(query)
        .toArray()
        .flatMap(({ id, route, history }) => {
          const position = claimedPosition(readHistory(history));
          return position === null ? [] : [{ id: recordId(id), route, ...position }];
        }),
    );
  }
}

/** Fails closed: a position that reads as too low repeats work, and one that is too high loses it. */
function readPosition({
  next,
  done,
  claimed,
}: Readonly<Record<keyof StoredPosition, SqlStorageValue>>): StoredPosition {
  return { next: readWhole(next, "a position"), done: readWhole(done, "a position"), claimed: readClaimed(claimed) };
}

function readClaimed(text: SqlStorageValue): readonly OffsetRange[] {
  if (text === null) return [];
  const list = readStoredJson(
    typeof text === "string" ? text : "",
    "the claimed messages of a position",
    isStretchList,
  );
  return list.map(([first, to, after]) => ({ first, to, after }));
}

type StoredStretch = readonly [first: number, to: number, after: number | null];

function isStretchList(value: unknown): value is readonly StoredStretch[] {
  return Array.isArray(value) && value.every(isStretch);
}

function isStretch(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const [first, to, after]: readonly unknown[] = value;
  return isWhole(first, 0) && isWhole(to, first) && (after === null || isWhole(after, 0));
}

/** Whether two rows of one partition would be the same. */
export function isSamePosition(one: StoredPosition | null, other: StoredPosition): boolean {
  return one?.next === other.next && one.done === other.done && textOf(one.claimed) === textOf(other.claimed);
}

function textOf(claimed: readonly OffsetRange[]): string | null {
  return claimed.length === 0 ? null : JSON.stringify(claimed.map(({ first, to, after }) => [first, to, after]));
}

/** The position of the record's last claim; `null`: it has none. */
export function claimedPosition(history: readonly TimelineEvent[]): Position | null {
  const last = history.findLast(({ type }) => type === "claim");
  return last?.type === "claim" ? last.position : null;
}
