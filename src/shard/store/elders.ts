// What this object knows of its elders: the objects of older layouts that may hold records of its keys. What it has heard once
// stays true (seal.ts), so it need not ask again after a restart, except for lists of a part of the keys. One or two rows are written
// for each elder, none for each key.

import { type HeldKeys, ListedKeys, MAX_REMEMBERED, type Room } from "../../core/held-keys.ts";
import { makeTransitionTables, type Sql } from "./schema.ts";

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
  readonly held: string | null;
}

export class KnownElders {
  readonly #sql: Sql;
  readonly #elders: Map<string, KnownElder>;
  readonly #layouts: Set<string>;
  readonly #room: Room = { keys: MAX_REMEMBERED };

  /** `mayExist`: whether the tables for transitions exist. */
  constructor(sql: Sql, mayExist: boolean) {
    this.#sql = sql;
    const rows = mayExist ? sql.exec<ElderRow>("SELECT name, layout, next, held FROM elders").toArray() : [];
    this.#elders = new Map(rows.map(({ name, held, ...row }) => [name, { ...row, held: readHeld(held, this.#room) }]));
    this.#layouts = new Set(rows.map(({ layout }) => layout));
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

  /** Notes what an elder has said. Of its lists only the first one of all keys is stored. */
  note(name: string, { layout, next: said, held: list }: ElderWord): void {
    const before = this.#elders.get(name);
    const next = said ?? before?.next ?? null;
    const held = before?.held ?? new ListedKeys(this.#room);
    const isFirstOfAll = list !== null && list.begin === "" && !held.areAll;
    if (before === undefined || before.next !== next || isFirstOfAll) {
      makeTransitionTables(this.#sql);
      this.#sql.exec(
        "INSERT INTO elders (name, layout, next, held) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET next = excluded.next, held = ifnull(excluded.held, held)",
        name,
        layout,
        next,
        isFirstOfAll ? JSON.stringify(list) : null,
      );
    }
    if (list !== null) held.add(list);
    this.#elders.set(name, { layout, next, held });
    this.#layouts.add(layout);
  }
}

function readHeld(text: string | null, room: Room): ListedKeys {
  const listed = new ListedKeys(room);
  if (text === null) return listed;
  const held: HeldKeys = JSON.parse(text);
  // Development versions stored whole hashes. Without a list the elder is asked.
  if (!Array.isArray(held)) listed.add(held);
  return listed;
}
