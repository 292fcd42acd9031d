// What this object knows of its elders: the objects of older layouts that may hold records of its keys. What it has heard once
// stays true (seal.ts), so it need not ask again after a restart. A row is written for each elder and for each list of its keys, none
// for each key.

import { type HeldKeys, ListedKeys, MAX_REMEMBERED, type Room } from "../record/held-keys.ts";
import { type EpochMs, epochMs } from "../record/units.ts";
import type { LaterTables } from "../store/later-tables.ts";
import { makeListedTable, makeTransitionTables, type Sql } from "../store/schema.ts";

/**
 * A list of a part of the keys is forgotten by an instance that begins so long after it came. The elder has fewer keys then, and lists
 * more of them at once.
 */
const PART_KEPT_MS = 24 * 3_600_000;

/** One elder. Layouts are JSON. */
export interface KnownElder {
  readonly layout: string;
  /** The layout for which it is sealed; `null`: another elder has named its layout, and it has not been asked. */
  readonly next: string | null;
  readonly held: ListedKeys;
}

/** What an elder has said now. */
export interface ElderWord {
  readonly layout: string;
  readonly next: string | null;
  readonly held: HeldKeys | null;
}

interface ElderRow extends Record<string, SqlStorageValue> {
  readonly name: string;
  readonly layout: string;
  readonly next: string | null;
}

interface ListRow extends Record<string, SqlStorageValue> {
  readonly elder: string;
  readonly begin: string;
  readonly hashes: ArrayBuffer;
}

export class KnownElders {
  readonly #sql: Sql;
  readonly #elders: Map<string, KnownElder>;
  readonly #layouts: Set<string>;
  readonly #room: Room = { keys: MAX_REMEMBERED };

  /** `now`: the present time by default. */
  constructor(tables: LaterTables, now?: EpochMs) {
    const { sql } = tables;
    this.#sql = sql;
    const rows = tables.has("elders") ? sql.exec<ElderRow>("SELECT name, layout, next FROM elders").toArray() : [];
    this.#elders = new Map(rows.map(({ name, ...row }) => [name, { ...row, held: new ListedKeys(this.#room) }]));
    this.#layouts = new Set(rows.map(({ layout }) => layout));
    if (tables.has("listed")) this.#restoreLists(now ?? epochMs(Date.now()));
  }

  get isEmpty(): boolean {
    return this.#elders.size === 0;
  }

  /** The elder with this object name and jurisdiction. */
  get(name: string): KnownElder | undefined {
    return this.#elders.get(name);
  }

  /** The layouts of all elders, each once. */
  get layouts(): ReadonlySet<string> {
    return this.#layouts;
  }

  /** Notes what an elder has said. */
  note(name: string, { layout, next: said, held: list }: ElderWord, now: EpochMs): void {
    const before = this.#elders.get(name);
    const next = said ?? before?.next ?? null;
    const held = before?.held ?? new ListedKeys(this.#room);
    if (before === undefined || before.next !== next) {
      makeTransitionTables(this.#sql);
      this.#sql.exec(
        "INSERT INTO elders (name, layout, next) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET next = excluded.next",
        name,
        layout,
        next,
      );
    }
    const hashes = list === null ? null : held.add(list);
    if (list !== null && hashes !== null) this.#store(name, list.begin, hashes, now);
    this.#elders.set(name, { layout, next, held });
    this.#layouts.add(layout);
  }

  /** In place of those for parts of its range, and of one that an earlier instance has forgotten. */
  #store(name: string, begin: string, hashes: Uint32Array<ArrayBuffer>, now: EpochMs): void {
    makeListedTable(this.#sql);
    this.#sql.exec(
      "DELETE FROM listed WHERE elder = ?1 AND begin >= ?2 AND substr(begin, 1, ?3) = ?2",
      name,
      begin,
      begin.length,
    );
    this.#sql.exec(
      "INSERT INTO listed (elder, begin, at, hashes) VALUES (?, ?, ?, ?)",
      name,
      begin,
      now,
      hashes.buffer,
    );
  }

  #restoreLists(now: EpochMs): void {
    // Nothing is deleted here: an object that cannot write must start all the same.
    const rows = this.#sql
      .exec<ListRow>("SELECT elder, begin, hashes FROM listed WHERE begin = '' OR at >= ?", now - PART_KEPT_MS)
      .toArray();
    for (const { elder, begin, hashes } of rows) {
      // A list that cannot be read is asked for again.
      if (hashes.byteLength % Uint32Array.BYTES_PER_ELEMENT !== 0) continue;
      this.#elders.get(elder)?.held.restore(begin, new Uint32Array(hashes));
    }
  }
}
