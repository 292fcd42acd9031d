// The ledger's schema, as numbered steps. A step that has shipped never changes; a new one is added below it, and SCHEMA is
// made to say the same. SQLite keeps the number of the last step taken. Steps only ever add (columns that may be null, tables, indexes): after a
// roll-back, older code runs on what a later one has migrated, and finds all that it knows where it was.

/** The database of an object, as far as the ledger uses it. */
export type Sql = Pick<SqlStorage, "exec">;

/** What all steps come to, for an object that has no table yet: fewer rows written than by the steps (a test holds both alike). */
const SCHEMA: readonly string[] = [
  // `bucket` leads the key so that what is in flight, and what has expired, lies together and needs no index of its
  // own: 0 while an attempt is in flight, otherwise the time (ms) from which on everything in the bucket has expired.
  // Moving a record to another bucket is one row written, as any update (measured: src/shard/store/README.md).
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

export const STEPS: readonly string[] = [
  // 1. `bucket` leads the key so that what is in flight, and what has expired, lies together and needs no index of its
  // own: 0 while an attempt is in flight, otherwise the time (ms) from which on everything in the bucket has expired.
  // Moving a record to another bucket is one row written, as any update (measured: src/shard/store/README.md).
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
    retry_from INTEGER,
    completed_at INTEGER,
    expires_at INTEGER,
    status INTEGER,
    kept INTEGER,
    status_text TEXT,
    headers TEXT,
    body BLOB,
    body_bytes INTEGER,
    chunks INTEGER,
    PRIMARY KEY (bucket, id)
  ) WITHOUT ROWID`,
  // 2. Bodies in chunks, and those of them that nobody needs any more.
  `CREATE TABLE chunks (
    body TEXT NOT NULL,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (body, number)
  ) WITHOUT ROWID`,
  `CREATE TABLE discarded (body TEXT PRIMARY KEY) WITHOUT ROWID`,
  // 4. Bodies in the bucket.
  `CREATE TABLE remote (body TEXT PRIMARY KEY, upload_id TEXT, discarded INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  // 5. When the origin is asked whether a lost attempt took effect, how often it has been, and how to ask it.
  `ALTER TABLE records ADD COLUMN verify_at INTEGER`,
  `ALTER TABLE records ADD COLUMN verifications INTEGER`,
  `ALTER TABLE records ADD COLUMN verification TEXT`,
  // 8. Addresses that could be connected to: see reachability.ts.
  `CREATE TABLE addresses (address TEXT PRIMARY KEY) WITHOUT ROWID`,
  // 9. What is to be erased from the bucket is found without reading what is not.
  `CREATE INDEX remote_discarded ON remote (body) WHERE discarded = 1`,
  // 10. What operators see of a record, and find it by.
  `ALTER TABLE records ADD COLUMN key TEXT NOT NULL DEFAULT ''`,
  `ALTER TABLE records ADD COLUMN route TEXT NOT NULL DEFAULT ''`,
  `ALTER TABLE records ADD COLUMN history TEXT`,
  `CREATE INDEX records_open ON records (state) WHERE state IN ('failed', 'unknown')`,
  // 14. What the origin is to be asked about is found without reading what is in flight.
  `CREATE INDEX records_to_ask ON records (route, verify_at) WHERE verify_at IS NOT NULL`,
];

/** Brings the schema up to date; free when it is (reading a version writes nothing). The caller makes it one transaction. */
export function migrate(sql: Sql): void {
  sql.exec("CREATE TABLE IF NOT EXISTS migrations (step INTEGER PRIMARY KEY)");
  const [row] = sql.exec<{ done: number | null }>("SELECT max(step) AS done FROM migrations").toArray();
  const done = row?.done ?? 0;
  if (done >= STEPS.length) return;
  for (const statement of done === 0 ? SCHEMA : STEPS.slice(done)) sql.exec(statement);
  sql.exec("INSERT INTO migrations VALUES (?)", STEPS.length);
}
