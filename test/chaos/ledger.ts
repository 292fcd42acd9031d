// The gateway's state as it lies on disk, read from outside: what should be gone and is not, and what has gone by itself.
// It only looks: no object is woken, so whatever changes is the alarm's work.

import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import type { LedgerLook } from "./history.ts";

/** How late an alarm may be: the processor is shared. */
const OVERDUE_MS = 2_000;

const record = v.object({ name: v.string(), overdue: v.number() });
const count = v.object({ n: v.number() });
const remote = v.object({ name: v.string() });

const OVERDUE = `SELECT id AS name,
  CASE bucket WHEN 0 THEN locked_until ELSE bucket END < ? AS overdue FROM records`;

const ORPHANS = `SELECT count(DISTINCT body) AS n FROM chunks
  WHERE body NOT IN (SELECT attempt_id FROM records) AND body NOT IN (SELECT body FROM discarded)`;

/** Bodies in the bucket are known before they are begun, and until they are erased. */
const REMOTE = "SELECT body AS name FROM remote";

export interface LedgerState extends LedgerLook {
  /** Of each record. */
  readonly names: ReadonlySet<string>;
}

/**
 * `inBucket` are the bodies that the bucket holds.
 *
 * `seen` are the shards that are looked at; up to `most` are added, since there can be thousands. The same ones every time:
 * what is there no more has been erased.
 */
export async function lookAtLedger(
  stateDir: string,
  seen: Set<string>,
  most: number,
  inBucket: ReadonlySet<string>,
): Promise<LedgerState> {
  const at = Date.now();
  const files = await readdir(stateDir, { recursive: true });
  // Objects of this project only; the runtime keeps databases of its own beside them.
  const shards = files.filter((name) => /KeyShard\/[0-9a-f]{64}\.sqlite$/.test(name));
  for (const name of shards) if (seen.size < most) seen.add(name);
  const copies = await mkdtemp(join(tmpdir(), "onceway-look-"));
  const looks: ShardLook[] = [];
  for (const name of seen) {
    looks.push(await lookAtShard(join(stateDir, name), join(copies, basename(name)), at));
  }
  await rm(copies, { recursive: true, force: true });
  const rows = looks.flatMap((look) => look.rows);
  const known = new Set(looks.flatMap((look) => look.remote));
  return {
    type: "ledger",
    at,
    records: rows.length,
    overdue: rows.filter(({ overdue }) => overdue === 1).length,
    orphans: looks.reduce((sum, look) => sum + look.orphans, 0),
    strays: [...inBucket].filter((name) => !known.has(name)),
    unread: looks.filter((look) => !look.isRead).length,
    names: new Set(rows.map(({ name }) => name)),
  };
}

interface ShardLook {
  readonly rows: readonly v.InferOutput<typeof record>[];
  readonly orphans: number;
  /** Names of bodies. */
  readonly remote: readonly string[];
  readonly isRead: boolean;
}

const NOTHING = { rows: [], orphans: 0, remote: [] };

/** At a copy: a reader of the database itself could hold a lock that the gateway needs. */
async function lookAtShard(file: string, copy: string, at: number): Promise<ShardLook> {
  try {
    await copyFile(file, copy);
    await copyFile(`${file}-wal`, `${copy}-wal`).catch(() => undefined);
    const database = new DatabaseSync(copy);
    try {
      // An object that has only just begun has no table yet.
      const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'discarded'").all();
      if (tables.length === 0) return { ...NOTHING, isRead: true };
      const rows = v.parse(v.array(record), database.prepare(OVERDUE).all(at - OVERDUE_MS));
      const orphans = v.parse(count, database.prepare(ORPHANS).get()).n;
      const bodies = v.parse(v.array(remote), database.prepare(REMOTE).all());
      return { rows, orphans, remote: bodies.map(({ name }) => name), isRead: true };
    } finally {
      database.close();
    }
  } catch {
    // Copied in the middle of a write: the next look will tell.
    return { ...NOTHING, isRead: false };
  }
}
