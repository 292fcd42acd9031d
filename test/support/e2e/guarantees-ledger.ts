// The shards' ledgers on disk, read from outside while a gateway runs on them or after it was killed. Read-only: what it shows
// is durable, and reading wakes no object.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";

const row = v.object({ id: v.string(), state: v.string(), attempt: v.number(), locked_until: v.number() });

export type LedgerRow = v.InferOutput<typeof row>;

/** Every record of every shard under a gateway's state folder. */
export async function readLedgers(stateDir: string): Promise<readonly LedgerRow[]> {
  const names = await readdir(stateDir, { recursive: true });
  // The runtime keeps databases of its own beside those of the shards.
  const ledgers = names.filter((name) => /KeyShard\/[0-9a-f]{64}\.sqlite$/.test(name));
  return ledgers.flatMap((name) => readLedger(join(stateDir, name)));
}

function readLedger(path: string): readonly LedgerRow[] {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    // An object that has just started has no table yet.
    const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'records'").all();
    if (tables.length === 0) return [];
    return v.parse(v.array(row), database.prepare("SELECT id, state, attempt, locked_until FROM records").all());
  } finally {
    database.close();
  }
}

/** The records that are there now and were not there before, by id. */
export async function newRows(stateDir: string, before: readonly LedgerRow[]): Promise<readonly LedgerRow[]> {
  const known = new Set(before.map(({ id }) => id));
  return (await readLedgers(stateDir)).filter(({ id }) => !known.has(id));
}
