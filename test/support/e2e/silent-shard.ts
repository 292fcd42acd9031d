// One shard among others that cannot read its records: the test removes their table from its database for a time, so each
// statement on it fails.

import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";
import { shardFiles } from "./shard-database.ts";

export interface SilentShard {
  readonly heal: () => void;
}

/** The shard that holds the record of `key`. */
export function silenceShard(gateway: Pick<Gateway, "stateDir">, key: string): SilentShard {
  for (const file of shardFiles(gateway)) {
    const database = new DatabaseSync(file, { timeout: 5_000 });
    const isHere = database.prepare("SELECT 1 FROM records WHERE key = ?").get(key) !== undefined;
    if (!isHere) {
      database.close();
      continue;
    }
    database.exec("ALTER TABLE records RENAME TO hidden");
    return {
      heal: () => {
        database.exec("ALTER TABLE hidden RENAME TO records");
        database.close();
      },
    };
  }
  throw new Error(`no shard holds ${key}`);
}
