// Reads from the disk what is durable, right after a commit.

import type { Acceptance } from "../../src/kernel/record/record.ts";
import { readAcceptance } from "../../src/kernel/store/stored-request.ts";
import type { Disk } from "./disk.ts";

/** A durable row of the records. */
export interface DurableRow {
  readonly id: string;
  /** When the alarm has work to do for it. */
  readonly deadlineMs: number;
  readonly state: string;
  readonly attemptId: string;
  readonly lockedUntilMs: number;
  readonly status: number;
  readonly isKept: boolean;
  /** The body, if it is stored in one piece. */
  readonly text: string | null;
  readonly fingerprint: string;
  /** The number of its attempt; 0: none has been made. */
  readonly number: number;
  /** Until when the record is kept; `null` as long as it does not expire. */
  readonly expiresAtMs: number | null;
  /** What the shard has promised; `null` for a request whose client waits. */
  readonly accepted: Acceptance | null;
  /** When the next attempt of a waiting record begins. */
  readonly startAtMs: number | null;
  /** When its result was settled; `null` if it has none. */
  readonly completedAtMs: number | null;
  /** When the origin is asked about it next. */
  readonly verifyAtMs: number | null;
  /** Whether it lies where waiting records lie. */
  readonly isAmongWaiting: boolean;
  /** Its request, as it is stored: the head, and the body if it is in the row. */
  readonly request: string | null;
}

/** The body: in the row, or its only chunk. */
const TEXT = `CAST(CASE WHEN chunks = 1 THEN (SELECT bytes FROM chunks AS one WHERE one.number = body_number << 26) ELSE body END AS TEXT)`;
const REQUEST = `CASE WHEN request IS NULL AND request_body IS NULL THEN NULL ELSE coalesce(request, '') || CAST(coalesce(request_body, '') AS TEXT) END`;
const WAITING_FROM = "(4294967294 << 31)";
const ROWS = `SELECT id, (number >> 31) * 1000 AS bucket_end, state, attempt_id, locked_until, verify_at, expires_at, completed_at, status, kept, ${TEXT} AS text, fingerprint, attempt, accepted, start_at, ${REQUEST} AS request, number >= ${WAITING_FROM} AS is_among_waiting FROM records`;
/** By the attempt whose claim names the body: a chunk's key begins with its body's number. */
const BODY_BYTES =
  "SELECT attempt_id, sum(length(bytes)) AS size FROM chunks JOIN records ON body_number = chunks.number >> 26 GROUP BY attempt_id";
const TABLES = ["records", "chunks", "discarded", "remote"];

const NONE: ReadonlySet<string> = new Set();

/** What a mistaken change of the schema might do to such a row. */
export function corruptions({ state }: DurableRow): readonly string[] {
  const always = ["state = 'lost'", "retention_ms = 0"];
  switch (state) {
    case "started":
      return [...always, "locked_until = 0"];
    case "waiting":
      return [...always, "start_at = NULL", "accepted = NULL"];
    case "failed":
      return [...always, "expires_at = NULL", "retry_from = NULL"];
    default:
      return [...always, "expires_at = NULL"];
  }
}

/** Those that can be read. */
export function durableRows(disk: Disk, unreadable: ReadonlySet<string> = NONE): ReadonlyMap<string, DurableRow> {
  const rows = new Map<string, DurableRow>();
  for (const row of disk.statement(ROWS).all()) {
    if (unreadable.has(String(row["id"]))) continue;
    const { bucket_end, state, attempt_id, locked_until, verify_at, expires_at, status, kept, text } = row;
    const { fingerprint, attempt, accepted, start_at, request, is_among_waiting, completed_at } = row;
    const startAtMs = start_at === null ? null : Number(start_at);
    const expiry = verify_at === null ? Number(bucket_end) : Math.min(Number(verify_at), Number(expires_at));
    const id = String(row["id"]);
    rows.set(id, {
      id,
      deadlineMs: state === "started" ? Number(locked_until) : (startAtMs ?? expiry),
      state: String(state),
      attemptId: String(attempt_id),
      lockedUntilMs: Number(locked_until),
      status: Number(status),
      isKept: kept === 1,
      text: typeof text === "string" ? text : null,
      fingerprint: String(fingerprint),
      number: Number(attempt),
      expiresAtMs: expires_at === null ? null : Number(expires_at),
      accepted: readAcceptance(typeof accepted === "string" ? accepted : null),
      startAtMs,
      completedAtMs: completed_at === null ? null : Number(completed_at),
      verifyAtMs: verify_at === null ? null : Number(verify_at),
      isAmongWaiting: is_among_waiting === 1,
      request: typeof request === "string" ? request : null,
    });
  }
  return rows;
}

/** A record as it stands now, durably or not. */
export type CurrentRow = Pick<DurableRow, "state" | "attemptId" | "number" | "accepted">;

export function currentRow(disk: Disk, record: string): CurrentRow | null {
  const [row] = disk.statement("SELECT state, attempt_id, attempt, accepted FROM records WHERE id = ?").all(record);
  if (row === undefined) return null;
  const { state, attempt_id, attempt, accepted } = row;
  return {
    state: String(state),
    attemptId: String(attempt_id),
    number: Number(attempt),
    accepted: readAcceptance(typeof accepted === "string" ? accepted : null),
  };
}

/** The attempt that holds a record of this key now: its record's name begins with the key. */
export function claimedIn(disk: Disk, key: string): string | null {
  const query =
    "SELECT attempt_id FROM records WHERE number >> 31 = 0 AND substr(id, 1, length(?1)) = ?1 AND state = 'started'";
  const [row] = disk.statement(query).all(key);
  return row === undefined ? null : String(row["attempt_id"]);
}

/** The uploads to the bucket that the gateway has noted. */
export function notedUploads(disk: Disk): readonly string[] {
  const rows = disk.statement("SELECT upload_id FROM remote WHERE upload_id IS NOT NULL").all();
  return rows.map((row) => String(row["upload_id"]));
}

/** How many bytes of each body are durable as chunks. */
export function durableBytes(disk: Disk): readonly (readonly [string, number])[] {
  const rows = disk.statement(BODY_BYTES).all();
  return rows.map(({ attempt_id, size }) => [String(attempt_id), Number(size)]);
}

/** The kernel's tables that are not empty. What cannot be read stays, with its body. */
export function leftovers(disk: Disk, unreadable: ReadonlySet<string> = NONE): readonly string[] {
  const isLeft = (table: string): boolean => disk.statement(`SELECT 1 FROM ${table} LIMIT 1`).all().length > 0;
  if (unreadable.size === 0) return TABLES.filter(isLeft);
  return [...recordsIn(disk)].filter((id) => !unreadable.has(id));
}

/** The ids of all records, readable or not. */
export function recordsIn(disk: Disk): ReadonlySet<string> {
  return new Set(
    disk
      .statement("SELECT id FROM records")
      .all()
      .map(({ id }) => String(id)),
  );
}
