// The closed objects after which this one has begun keys. As long as one of them may have records, a request that does not say what it has answered is sent
// there first: a Worker whose configuration lists another order, or lacks a layout, then begins no key that has a record there. A row is written for
// each such object, none for each key.

import { type Layout, layoutName } from "../../../kernel/config/layout.ts";
import type { PlacedRecord } from "../../../kernel/elsewhere.ts";
import { shardAddressOf, shardTitle } from "../../../kernel/object/shard-address.ts";
import { placingOf } from "../../../kernel/request/message.ts";
import type { StepParticipation } from "../../../kernel/step-hook.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";

/** `name`: the object's title. `layout`: as JSON. */
export const CLOSED_BEFORE_TABLE =
  "CREATE TABLE IF NOT EXISTS closed_before (name TEXT PRIMARY KEY, layout TEXT NOT NULL) WITHOUT ROWID";

interface Row extends Record<string, SqlStorageValue> {
  readonly name: string;
  readonly layout: string;
}

export class ClosedBefore {
  readonly #tables: LaterTables;
  readonly #names: Set<string>;
  /** By their names. A layout stays when its last object has gone from the rows: it costs a look-up in memory. */
  readonly #layouts = new Map<string, Layout>();

  constructor(tables: LaterTables) {
    this.#tables = tables;
    const rows = tables.has("closed_before")
      ? tables.sql.exec<Row>("SELECT name, layout FROM closed_before").toArray()
      : [];
    this.#names = new Set(rows.map(({ name }) => name));
    for (const { layout } of rows) this.#know(JSON.parse(layout));
  }

  get layouts(): readonly Layout[] {
    return [...this.#layouts.values()];
  }

  /** A layout whose object of the key has to be asked before a key without a record begins here; `null`: none. */
  lackedBy({ record, previous }: PlacedRecord): Layout | null {
    if (this.#names.size === 0) return null;
    const said = new Set(previous?.closed.map(({ layout }) => layoutName(layout)));
    for (const [name, layout] of this.#layouts) {
      if (!said.has(name) && this.#names.has(titleOf(placingOf(record), layout))) return layout;
    }
    return null;
  }

  /** Notes what a request has said that begins a key here. `null`: all of it is known. */
  noting({ record, previous }: PlacedRecord): StepParticipation | null {
    const closed = (previous?.closed ?? []).map(({ layout, isEmpty }) => {
      return { layout, isEmpty, name: titleOf(placingOf(record), layout) };
    });
    // An object for each key has no other key to ask about later.
    const added = closed.filter(
      ({ name, layout, isEmpty }) => !isEmpty && layout.shards !== "per-key" && !this.#names.has(name),
    );
    const erased = closed.filter(({ name, isEmpty }) => isEmpty && this.#names.has(name));
    if (added.length + erased.length === 0) return null;
    const { sql } = this.#tables;
    return {
      write: () => {
        if (added.length > 0) sql.exec(CLOSED_BEFORE_TABLE);
        for (const { name, layout } of added)
          sql.exec("INSERT OR IGNORE INTO closed_before (name, layout) VALUES (?, ?)", name, JSON.stringify(layout));
        for (const { name } of erased) sql.exec("DELETE FROM closed_before WHERE name = ?", name);
      },
      written: () => {
        this.#tables.made("closed_before");
        for (const { name, layout } of added) {
          this.#names.add(name);
          this.#know(layout);
        }
        for (const { name } of erased) this.#names.delete(name);
      },
    };
  }

  #know(layout: Layout): void {
    this.#layouts.set(layoutName(layout), layout);
  }
}

function titleOf(placing: string, layout: Layout): string {
  return shardTitle(shardAddressOf(placing, layout));
}
