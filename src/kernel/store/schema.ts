// The ledger's schema, as numbered steps. A released step never changes; a new step is added below it. SQLite keeps the number of
// the last step taken. Steps only add (nullable columns, tables, indexes), so that after a roll-back older code still runs on a
// database that later code has migrated.

/** The part of an object's database that the ledger uses. */
export type LedgerSql = Pick<SqlStorage, "exec">;

/** One step: all its statements run together. */
type Step = readonly string[];

const FIRST: Step = [
  // `number` begins with the record's expiry bucket (record-numbers.ts), so that records in flight and expired records lie together
  // and need no index. The bucket is 0 while an attempt is in flight, otherwise the time (s) from which every record of the bucket
  // has expired. Moving a record to another bucket writes one row, like any update (test/kernel/integration/store/ledger.test.ts).
  // What can be large comes last: SQLite reads a row from its beginning, and only as far as it must.
  // `body_number` names the chunks that may belong to the record: from the claim on, and no longer than they do.
  // `key`, `route` and `history` are only for operators. `verify_at` says when the origin is asked next whether a lost attempt
  // took effect, `verifications` how often it has been asked, and `verification` how to ask it.
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
    retry_from INTEGER,
    completed_at INTEGER,
    expires_at INTEGER,
    status INTEGER,
    kept INTEGER,
    verify_at INTEGER,
    verifications INTEGER,
    body_bytes INTEGER,
    chunks INTEGER,
    body_number INTEGER,
    key TEXT NOT NULL,
    route TEXT NOT NULL,
    status_text TEXT,
    history TEXT,
    verification TEXT,
    headers TEXT,
    body BLOB
  )`,
  // Records that wait for an operator's decision or for another attempt. They are few, and this index finds them without reading
  // the others. An attempt that ends failed or unknown writes one more row; other attempts write none.
  `CREATE INDEX records_open ON records (state) WHERE state IN ('failed', 'unknown')`,
  // Records that the origin has to be asked about, by route, longest waiting first. Claims and answers never write to it.
  `CREATE INDEX records_to_ask ON records (route, verify_at) WHERE verify_at IS NOT NULL`,
  // Bodies in chunks, and the numbers of those that are no longer needed. `head` is the response's headers, with the first chunk.
  `CREATE TABLE chunks (number INTEGER PRIMARY KEY, head TEXT, bytes BLOB NOT NULL)`,
  `CREATE TABLE discarded (body INTEGER PRIMARY KEY)`,
  // Bodies in R2. The index finds those to erase without reading the others.
  `CREATE TABLE remote (body TEXT PRIMARY KEY, upload_id TEXT, discarded INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  `CREATE INDEX remote_discarded ON remote (body) WHERE discarded = 1`,
  // Addresses to which a connection has succeeded: see origin-call.ts.
  `CREATE TABLE addresses (address TEXT PRIMARY KEY) WITHOUT ROWID`,
];

/** For callers that come late. Code that does not know these columns leaves them as they are. */
const CALLERS: Step = [
  // How long the key is remembered; NULL: no longer than the record is kept otherwise.
  `ALTER TABLE records ADD COLUMN remember_ms INTEGER`,
  // 1: an attempt without a result may have taken effect.
  `ALTER TABLE records ADD COLUMN may_have_acted INTEGER`,
];

/** For accepted requests. Code that does not know them finds a state that it cannot read, and refuses. */
const ACCEPTED: Step = [
  // What was promised, as JSON; NULL: a client waits for the answer. `start_at` is when the next attempt of a waiting record begins.
  `ALTER TABLE records ADD COLUMN accepted TEXT`,
  `ALTER TABLE records ADD COLUMN start_at INTEGER`,
  // The request that is sent, until it has its result or is given up.
  `ALTER TABLE records ADD COLUMN request TEXT`,
  `ALTER TABLE records ADD COLUMN request_body BLOB`,
];

/** For events: which ones a result will have, as JSON, until it is there. Code that does not know the column publishes none. */
const PUBLISHED: Step = [`ALTER TABLE records ADD COLUMN publish TEXT`];

/** For operators: what a record's request was, as JSON. */
const NOTED: Step = [`ALTER TABLE records ADD COLUMN note TEXT`];

/** The lane of a record (kernel/record/lanes.ts); what is indexed, so it must be written in the same way everywhere. */
export const LANE = "ifnull(lane, 0)";

/** For callers who take turns. */
const TURNS: Step = [
  `ALTER TABLE records ADD COLUMN lane INTEGER`,
  // From a version before the first release, which had one order for all.
  `DROP INDEX IF EXISTS records_due`,
  // What waits, by lane, each in its order. A request that starts at once never writes to it.
  `CREATE INDEX records_waiting ON records (${LANE}, start_at) WHERE start_at IS NOT NULL`,
];

/** How the origin got the key at the record's first attempt (kernel/request/origin-key.ts), until there is a result; NULL: there is no origin. */
const KEY_FORMS: Step = [`ALTER TABLE records ADD COLUMN key_form TEXT`];

export const STEPS: readonly Step[] = [FIRST, CALLERS, ACCEPTED, PUBLISHED, NOTED, TURNS, KEY_FORMS];

/**
 * Other names of records, for a change of the scope (aliases.ts). It is no step, because each table of a new object costs rows, and most objects never
 * take part in such a change.
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

/** What the object that adds up knows of all others (totals.ts). */
const TOTALS_TABLE = "CREATE TABLE IF NOT EXISTS totals (part INTEGER PRIMARY KEY, text TEXT NOT NULL)";

export function makeTotalsTable(sql: LedgerSql): void {
  sql.exec(TOTALS_TABLE);
}

/**
 * Brings the schema up to date; writes nothing if it already is. The caller makes it one transaction. Throws on a database of a
 * version before the first release, because a step of this version could be taken for done there.
 */
export function migrate(sql: LedgerSql, steps: readonly Step[] = STEPS): void {
  sql.exec("CREATE TABLE IF NOT EXISTS steps_taken (step INTEGER PRIMARY KEY)");
  const [row] = sql.exec<{ done: number | null }>("SELECT max(step) AS done FROM steps_taken").toArray();
  const done = row?.done ?? 0;
  if (done >= steps.length) return;
  if (done === 0) refuseUnreleased(sql);
  for (const statement of done === 0 ? forNew(steps.flat()) : steps.slice(done).flat()) sql.exec(statement);
  sql.exec("INSERT INTO steps_taken VALUES (?)", steps.length);
}

const ADDS_COLUMN = /^ALTER TABLE records ADD COLUMN (.+)$/;
const DROPS = /^DROP /;

/** The steps for a new database: each column that was added later would cost each new object a row, as an `ALTER`. */
function forNew([records = "", ...others]: Step): Step {
  const columns = others.flatMap((statement) => ADDS_COLUMN.exec(statement)?.[1] ?? []);
  const whole = [records.replace(/\)$/, ""), ...columns].join(", ");
  return [`${whole})`, ...others.filter((statement) => !ADDS_COLUMN.test(statement) && !DROPS.test(statement))];
}

/** By what versions before the first release called their tables of steps. Their numbers mean other steps than these. */
function refuseUnreleased(sql: LedgerSql): void {
  const [found] = sql
    .exec<{ name: string }>("SELECT name FROM sqlite_schema WHERE name IN ('migrations', 'schema_steps')")
    .toArray();
  if (found === undefined) return;
  throw new Error(
    `this database was written by a development version from before the first release: it has a table "${found.name}". This version cannot read it. Stop the gateway, erase its state (the folder of --state, by default .onceway/state; .wrangler/state under wrangler dev), and start it again.`,
  );
}

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
