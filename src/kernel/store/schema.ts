// The schema of an object's ledger: the tables that each object has from its beginning, and those that are made when they are needed. A released
// column, table or index never changes and never goes, and a new one may be null: after a roll-back, older code still runs on a database that later
// code has used.

/** The part of an object's database that the ledger uses. */
export type LedgerSql = Pick<SqlStorage, "exec">;

/** The lane of a record (kernel/record/lanes.ts); what is indexed, so it must be written in the same way everywhere. */
export const LANE = "ifnull(lane, 0)";

const TABLES: readonly string[] = [
  // `number` begins with the record's expiry bucket (record-numbers.ts), so that records in flight and expired records lie together
  // and need no index. The bucket is 0 while an attempt is in flight, otherwise the time (s) from which every record of the bucket
  // has expired. Moving a record to another bucket writes one row, like any update (test/kernel/integration/store/ledger.test.ts).
  // What can be large comes last: SQLite reads a row from its beginning, and only as far as it must.
  // `body_number` names the chunks that may belong to the record: from the claim on, and no longer than they do.
  // `key`, `route`, `note` (as JSON) and `history` are only for operators. `verify_at` says when the origin is asked next whether a lost
  // attempt took effect, `verifications` how often it has been asked, and `verification` how to ask it.
  // `remember_ms` is how long the key is remembered; NULL: no longer than the record is kept otherwise. `may_have_acted` is 1 if an attempt
  // without a result may have taken effect. `publish` says which events a result will have, as JSON, until it is there. `key_form` is how the
  // origin got the key at the record's first attempt (kernel/request/origin-key.ts), until there is a result; NULL: there is no origin.
  // `accepted` is what an accepted request was promised, as JSON; NULL: a client waits for the answer. `start_at` is when the next attempt of a
  // waiting record begins; `request` and `request_body` are what is sent, until it has its result or is given up.
  `CREATE TABLE records (
    number INTEGER PRIMARY KEY,
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
    unknown_retention_ms INTEGER NOT NULL,
    remember_ms INTEGER,
    retry_from INTEGER,
    completed_at INTEGER,
    expires_at INTEGER,
    status INTEGER,
    kept INTEGER,
    may_have_acted INTEGER,
    start_at INTEGER,
    lane INTEGER,
    verify_at INTEGER,
    verifications INTEGER,
    body_bytes INTEGER,
    chunks INTEGER,
    body_number INTEGER,
    key TEXT NOT NULL,
    route TEXT NOT NULL,
    key_form TEXT,
    status_text TEXT,
    note TEXT,
    accepted TEXT,
    publish TEXT,
    history TEXT,
    verification TEXT,
    headers TEXT,
    body BLOB,
    request TEXT,
    request_body BLOB
  )`,
  // Records that wait for an operator's decision or for another attempt. They are few, and this index finds them without reading
  // the others. An attempt that ends failed or unknown writes one more row; other attempts write none.
  `CREATE INDEX records_open ON records (state) WHERE state IN ('failed', 'unknown')`,
  // Records that the origin has to be asked about, by route, longest waiting first. Claims and answers never write to it.
  `CREATE INDEX records_to_ask ON records (route, verify_at) WHERE verify_at IS NOT NULL`,
  // What waits, by lane, each in its order. A request that starts at once never writes to it.
  `CREATE INDEX records_waiting ON records (${LANE}, start_at) WHERE start_at IS NOT NULL`,
  // Bodies in chunks, and the numbers of those that are no longer needed. `head` is the response's headers, with the first chunk.
  `CREATE TABLE chunks (number INTEGER PRIMARY KEY, head TEXT, bytes BLOB NOT NULL)`,
  `CREATE TABLE discarded (body INTEGER PRIMARY KEY)`,
  // Bodies in R2. The index finds those to erase without reading the others.
  `CREATE TABLE remote (body TEXT PRIMARY KEY, upload_id TEXT, discarded INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  `CREATE INDEX remote_discarded ON remote (body) WHERE discarded = 1`,
  // Addresses to which a connection has succeeded: see origin-call.ts.
  `CREATE TABLE addresses (address TEXT PRIMARY KEY) WITHOUT ROWID`,
];

/** To be called in one transaction, for a database without them. */
export function makeTables(sql: LedgerSql): void {
  for (const statement of TABLES) sql.exec(statement);
}

/**
 * Other names of records, for a change of the scope (aliases.ts). Like each table below, it is made when it is needed, because each table of a new
 * object costs rows, and most objects never take part in such a change.
 */
const ALIASES_TABLE =
  "CREATE TABLE IF NOT EXISTS aliases (id TEXT NOT NULL, fingerprint TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (id, fingerprint, target)) WITHOUT ROWID";

export function makeAliasesTable(sql: LedgerSql): void {
  sql.exec(ALIASES_TABLE);
}

/** How far from its preferred slot a record may lie at most (record-numbers.ts), once that is more than usual. */
const REACH_TABLE =
  "CREATE TABLE IF NOT EXISTS reach (one INTEGER PRIMARY KEY CHECK (one = 1), slots INTEGER NOT NULL)";

export function makeReachTable(sql: LedgerSql): void {
  sql.exec(REACH_TABLE);
}

/** What an object knows of others: of all that have counted (totals.ts), or of those that it asks (gathering.ts). */
export const KNOWN_TABLES = {
  totals: "CREATE TABLE IF NOT EXISTS totals (part INTEGER PRIMARY KEY, text TEXT NOT NULL)",
  gathered: "CREATE TABLE IF NOT EXISTS gathered (part INTEGER PRIMARY KEY, text TEXT NOT NULL)",
} as const;

export type KnownTable = keyof typeof KNOWN_TABLES;

// The tables that an object makes with their first row, and who reads them: most objects never need them, and each table of a new object costs
// rows. A feature keeps its own here; what it holds is its own matter.

export class LaterTables {
  readonly sql: LedgerSql;
  /** A failing statement undoes only itself; a transaction also undoes the statements before it. */
  readonly transaction: (run: () => void) => void;
  readonly #names: Set<unknown>;

  /** Reads the names of all tables once. */
  constructor(sql: LedgerSql, transaction: (run: () => void) => void) {
    this.sql = sql;
    this.transaction = transaction;
    const rows = sql.exec<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").toArray();
    this.#names = new Set(rows.map(({ name }) => name));
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** To be called after the transaction in which the table was made: one that fails takes the table with it. */
  made(name: string): void {
    this.#names.add(name);
  }
}
