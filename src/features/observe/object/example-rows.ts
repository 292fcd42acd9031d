// Examples of what was observed, in the operators' object alone: a few of each route and day, so that keys are in no more than these.

import { DAY_MS } from "../../../kernel/config/units.ts";
import type { LaterTables } from "../../../kernel/store/schema.ts";
import { EXAMPLE_KINDS } from "../../../kernel/record/sighting.ts";
import { EXAMPLE_DAYS, type ObservedExample, MOST_EXAMPLES, MOST_OF_A_KIND } from "../example.ts";

export const EXAMPLES_TABLE =
  "CREATE TABLE IF NOT EXISTS sighting_examples (number INTEGER PRIMARY KEY, day INTEGER NOT NULL, route TEXT NOT NULL, kind TEXT NOT NULL, example TEXT NOT NULL)";

/** Of all days and routes: what a page can show. */
const MOST_SHOWN = 500;

export class ExampleRows {
  readonly #tables: LaterTables;

  constructor(tables: LaterTables) {
    this.#tables = tables;
  }

  /** Whether it is kept: a doubled effect as long as there is room, another kind only a few times. */
  add(example: ObservedExample, now: number): boolean {
    const { sql } = this.#tables;
    // The clock of this object, because that of an isolate may be wrong.
    const day = Math.floor(now / DAY_MS);
    if (!EXAMPLE_KINDS.includes(example.kind)) return false;
    if (this.#exists) sql.exec("DELETE FROM sighting_examples WHERE day <= ? OR day > ?", day - EXAMPLE_DAYS, day + 1);
    else sql.exec(EXAMPLES_TABLE);
    this.#tables.made("sighting_examples");
    const kept = sql
      .exec<{ kind: string; count: number }>(
        "SELECT kind, count(*) AS count FROM sighting_examples WHERE day = ? AND route = ? GROUP BY kind",
        day,
        example.route,
      )
      .toArray();
    const all = kept.reduce((sum, { count }) => sum + count, 0);
    const ofKind = kept.find(({ kind }) => kind === example.kind)?.count ?? 0;
    if (all >= MOST_EXAMPLES || (example.kind !== "doubled" && ofKind >= MOST_OF_A_KIND)) return false;
    const text = JSON.stringify(example);
    sql.exec(
      "INSERT INTO sighting_examples (day, route, kind, example) VALUES (?, ?, ?, ?)",
      day,
      example.route,
      example.kind,
      text,
    );
    return true;
  }

  /** Those kept since then, newest first. */
  since(at: number): readonly ObservedExample[] {
    if (!this.#exists) return [];
    return this.#tables.sql
      .exec<{ example: string }>(
        "SELECT example FROM sighting_examples WHERE day >= ? ORDER BY number DESC LIMIT +?",
        Math.floor(at / DAY_MS),
        MOST_SHOWN,
      )
      .toArray()
      .map(({ example }) => readExample(example))
      .filter((example) => example.at >= at);
  }

  get #exists(): boolean {
    return this.#tables.has("sighting_examples");
  }
}

function readExample(text: string): ObservedExample {
  return JSON.parse(text);
}
