// The ledger's schema, as numbered steps. A step that has been released never changes; a new one is added below it. SQLite keeps
// the number of the last step taken. Steps only ever add (columns that may be null, tables, indexes): after a roll-back, older
// code runs on what later code has migrated, and finds everything it knows where it was.

/** The database of an object, as far as the ledger uses it. */
export type Sql = Pick<SqlStorage, "exec">;

/** One step: its statements are taken together. */
type Step = readonly string[];

const FIRST: Step = [
  // `bucket` leads the key so that what is in flight, and what has expired, lies together and needs no index of its
  // own: 0 while an attempt is in flight, otherwise the time (ms) from which on everything in the bucket has expired.
  // Moving a record to another bucket is one row written, as any update (measured: README, design notes).
  // `key`, `route` and `history` are for operators alone; `verify_at`, `verifications` and `verification` say when the origin
  // is asked whether a lost attempt took effect, how often it has been, and how to ask it.
  `CREATE TABLE records (
    bucket INTEGER NOT NULL,
    id TEXT NOT NULL,
    state TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    attempt_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    locked_until INTEGER NOT NULL,
    unknown TEXT NOT NULL,
    lock_ms INTEGER NOT NULL,
    retention_ms INTEGER NOT NULL,
    key TEXT NOT NULL,
    route TEXT NOT NULL,
    retry_from INTEGER,
    completed_at INTEGER,
    expires_at INTEGER,
    status INTEGER,
    kept INTEGER,
    verify_at INTEGER,
    verifications INTEGER,
    verification TEXT,
    history TEXT,
    status_text TEXT,
    headers TEXT,
    body_bytes INTEGER,
    chunks INTEGER,
    body BLOB,
    PRIMARY KEY (bucket, id)
  ) WITHOUT ROWID`,
  // What waits for somebody's decision, or for another attempt: few, and found without reading what does not. A row more
  // for each attempt that ends so, and none for any other.
  `CREATE INDEX records_open ON records (state) WHERE state IN ('failed', 'unknown')`,
  // What the origin is to be asked about: each route's own, the one that has waited longest first. No claim and no answer
  // touches it.
  `CREATE INDEX records_to_ask ON records (route, verify_at) WHERE verify_at IS NOT NULL`,
  // Bodies in chunks, and those of them that nobody needs any more.
  `CREATE TABLE chunks (
    body TEXT NOT NULL,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (body, number)
  ) WITHOUT ROWID`,
  `CREATE TABLE discarded (body TEXT PRIMARY KEY) WITHOUT ROWID`,
  // Bodies in the bucket. What is to be erased from it is found without reading what is not.
  `CREATE TABLE remote (body TEXT PRIMARY KEY, upload_id TEXT, discarded INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  `CREATE INDEX remote_discarded ON remote (body) WHERE discarded = 1`,
  // Addresses that could be connected to: see reachability.ts.
  `CREATE TABLE addresses (address TEXT PRIMARY KEY) WITHOUT ROWID`,
];

export const STEPS: readonly Step[] = [FIRST];

/** Brings the schema up to date; free when it is (reading a version writes nothing). The caller makes it one transaction. */
export function migrate(sql: Sql, steps: readonly Step[] = STEPS): void {
  sql.exec("CREATE TABLE IF NOT EXISTS migrations (step INTEGER PRIMARY KEY)");
  const [row] = sql.exec<{ done: number | null }>("SELECT max(step) AS done FROM migrations").toArray();
  const done = row?.done ?? 0;
  if (done >= steps.length) return;
  for (const statement of steps.slice(done).flat()) sql.exec(statement);
  sql.exec("INSERT INTO migrations VALUES (?)", steps.length);
}
