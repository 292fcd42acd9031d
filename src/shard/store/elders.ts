// What this object knows of its elders: the objects of older layouts that may hold records of its keys. What it has heard once
// stays true (seal.ts), so it need not ask again after a restart. One or two rows are written for each elder, none for each key.

import { makeTransitionTables, type Sql } from "./schema.ts";

/** One elder. Layouts are JSON. */
export interface KnownElder {
  readonly layout: string;
  /** The layout for which it is sealed; `null`: another elder has named its layout, and it has not been asked. */
  readonly next: string | null;
  /** The hashes of all keys that it held when it was asked, or a few more than it holds now; `null`: they are many. */
  readonly held: ReadonlySet<string> | null;
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

  /** `mayExist`: whether the tables for transitions exist. */
  constructor(sql: Sql, mayExist: boolean) {
    this.#sql = sql;
    const rows = mayExist ? sql.exec<ElderRow>("SELECT name, layout, next, held FROM elders").toArray() : [];
    this.#elders = new Map(rows.map(({ name, held, ...row }) => [name, { ...row, held: readHeld(held) }]));
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

  /**
   * Notes what an elder has said. Of its lists of keys the first is stored, and later ones, which are shorter, are only
   * remembered: after a restart the elder is asked about a few keys more.
   */
  note(name: string, elder: KnownElder): void {
    const before = this.#elders.get(name);
    const next = elder.next ?? before?.next ?? null;
    const held = elder.held ?? before?.held ?? null;
    if (before === undefined || before.next !== next || (before.held === null && held !== null)) {
      makeTransitionTables(this.#sql);
      const stored = held === null ? null : JSON.stringify([...held]);
      this.#sql.exec(
        "INSERT INTO elders (name, layout, next, held) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET next = excluded.next, held = excluded.held",
        name,
        elder.layout,
        next,
        stored,
      );
    }
    this.#elders.set(name, { layout: elder.layout, next, held });
    this.#layouts.add(elder.layout);
  }
}

function readHeld(text: string | null): ReadonlySet<string> | null {
  if (text === null) return null;
  const held: readonly string[] = JSON.parse(text);
  return new Set(held);
}
