// All rows of all objects of a gateway, as text: two texts are the same if no row was written in between. An object without rows, such as
// the one that adds up counts, is no part of it.

import { DatabaseSync } from "node:sqlite";
import { shardFiles } from "../../../support/e2e/shard-database.ts";

const TABLES = ["records", "chunks", "discarded", "positions"];

export async function recordsIn(stateDir: string): Promise<string> {
  return shardFiles({ stateDir })
    .toSorted()
    .map((file) => {
      const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
      const own = TABLES.filter((table) => tables.some(({ name }) => name === table));
      const rows = own.map((table) => {
        const statement = database.prepare(`SELECT * FROM ${table}`);
        statement.setReadBigInts(true);
        return JSON.stringify(statement.all(), (_name, value: unknown) =>
          typeof value === "bigint" ? String(value) : value,
        );
      });
      database.close();
      return rows.join("\n");
    })
    .filter((text) => /[^[\]\n]/.test(text))
    .join("\n");
}
