// Reads the gateway's state on disk from outside: what should have been erased and was not, and what alarms have erased.
// It is read-only and wakes no object, so every change is the work of an alarm.

import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import * as v from "valibot";
import type { LedgerLook } from "../history.ts";

/** How late an alarm may be, because the processor is shared. */
const OVERDUE_MS = 2_000;

const record = v.object({ name: v.string(), overdue: v.number() });
const count = v.object({ n: v.number() });
const event = v.object({ id: v.string() });
const remote = v.object({ name: v.string() });
const parkedRecord = v.object({ id: v.string(), key: v.string(), state: v.string() });
export type ParkedRecord = v.InferOutput<typeof parkedRecord>;

const OVERDUE = `SELECT id AS name,
  CASE number >> 31 WHEN 0 THEN locked_until ELSE (number >> 31) * 1000 END < ? AS overdue FROM records`;

/** A chunk's key begins with its body's number. */
const ORPHANS = `SELECT count(DISTINCT number >> 26) AS n FROM chunks
  WHERE number >> 26 NOT IN (SELECT body_number FROM records WHERE body_number IS NOT NULL)
    AND number >> 26 NOT IN (SELECT body FROM discarded)`;

/** The shard notes a body before it starts the upload, and keeps the note until the body is erased. */
const REMOTE = "SELECT body AS name FROM remote";

export interface LedgerState extends LedgerLook {
  /** The id of each record. */
  readonly names: ReadonlySet<string>;
}

/**
 * `inBucket`: the bodies that the bucket holds.
 *
 * `seen`: the shards to read. Shards are added up to `most`, because there can be thousands. Every call reads the same
 * shards, so a record that has disappeared since the last call was erased.
 */
export async function lookAtLedger(
  stateDir: string,
  seen: Set<string>,
  most: number,
  inBucket: ReadonlySet<string>,
): Promise<LedgerState> {
  const at = Date.now();
  for (const name of await shardFiles(stateDir)) if (seen.size < most) seen.add(name);
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

/** How long the alarms may take at the end to erase what is due. */
export const ALARMS_MS = 10_000;
const SHARDS_AT_THE_END = 1_000;
export const NO_BUCKET: ReadonlySet<string> = new Set();

/** No request comes any more, so only alarms can erase what is due. */
export async function awaitAlarms(
  stateDir: string,
  inBucket: () => ReadonlySet<string> = () => NO_BUCKET,
): Promise<LedgerLook> {
  const giveUpAt = Date.now() + ALARMS_MS;
  for (;;) {
    const { names: _, ...look } = await lookAtLedger(stateDir, new Set(), SHARDS_AT_THE_END, inBucket());
    const isClean = look.overdue + look.orphans + look.strays.length + look.unread === 0;
    if (isClean || Date.now() > giveUpAt) return look;
    await pause(500);
  }
}

interface ShardLook {
  readonly rows: readonly v.InferOutput<typeof record>[];
  readonly orphans: number;
  /** Names of bodies in the bucket. */
  readonly remote: readonly string[];
  readonly isRead: boolean;
}

const NOTHING = { rows: [], orphans: 0, remote: [] };

async function lookAtShard(file: string, copy: string, at: number): Promise<ShardLook> {
  const look = await readCopy(file, copy, (database) => {
    // An object that has just started has no table yet.
    if (!hasTable(database, "discarded")) return { ...NOTHING, isRead: true };
    const rows = v.parse(v.array(record), database.prepare(OVERDUE).all(at - OVERDUE_MS));
    const orphans = v.parse(count, database.prepare(ORPHANS).get()).n;
    const bodies = v.parse(v.array(remote), database.prepare(REMOTE).all());
    return { rows, orphans, remote: bodies.map(({ name }) => name), isRead: true };
  });
  return look ?? { ...NOTHING, isRead: false };
}

/** The ids of all events that no destination has taken, dead letters among them; `null`: not every shard could be read. */
export async function eventsLeft(stateDir: string): Promise<readonly string[] | null> {
  const rows = await readAll(stateDir, (database) =>
    hasTable(database, "outbox") ? v.parse(v.array(event), database.prepare("SELECT id FROM outbox").all()) : [],
  );
  return rows?.map(({ id }) => id) ?? null;
}

/** The records that keep a message; `null`: not every shard could be read. */
export function parkedRecords(stateDir: string): Promise<readonly ParkedRecord[] | null> {
  return readAll(stateDir, (database) =>
    hasTable(database, "records") ? v.parse(v.array(parkedRecord), database.prepare(PARKED).all()) : [],
  );
}

const PARKED = "SELECT id, key, state FROM records WHERE accepted ->> 'message' IS NOT NULL";

/** What `read` finds in all shards; `null`: not every shard could be read. */
async function readAll<T>(
  stateDir: string,
  read: (database: DatabaseSync) => readonly T[],
): Promise<readonly T[] | null> {
  const copies = await mkdtemp(join(tmpdir(), "onceway-look-"));
  try {
    const found: T[] = [];
    for (const name of await shardFiles(stateDir)) {
      const rows = await readCopy(join(stateDir, name), join(copies, basename(name)), read);
      if (rows === null) return null;
      found.push(...rows);
    }
    return found;
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

/** The runtime keeps databases of its own beside those of the shards. */
async function shardFiles(stateDir: string): Promise<readonly string[]> {
  const files = await readdir(stateDir, { recursive: true });
  return files.filter((name) => /KeyShard\/[0-9a-f]{64}\.sqlite$/.test(name));
}

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").all(name).length > 0;
}

/** Reads a copy, because a reader of the original could hold a lock that the gateway needs. `null`: it was copied in the middle of a write. */
async function readCopy<T>(file: string, copy: string, read: (database: DatabaseSync) => T): Promise<T | null> {
  try {
    await copyFile(file, copy);
    await copyFile(`${file}-wal`, `${copy}-wal`).catch(() => undefined);
    const database = new DatabaseSync(copy);
    try {
      return read(database);
    } finally {
      database.close();
    }
  } catch {
    return null;
  }
}
