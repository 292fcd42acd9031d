// What each kind of exchange may cost, in exact operations and without a clock: the one table that the tests of the counts
// hold the gateway to, and that the cost page multiplies by prices. A number that grows fails a test; one that shrinks does
// too, and is then written down here.

export interface OperationCounts {
  /** SQL statements of the object. */
  readonly statements: number;
  /** As SQLite counts them for the bill: Cloudflare's `rowsRead` and `rowsWritten`. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Times that the alarm is set: a row written each, beyond `rowsWritten`. */
  readonly alarmsSet: number;
  /** Times that the object asks for what it has written to be durable; each may be a commit of its own. */
  readonly syncs: number;
  /** Calls from the Worker to an object. */
  readonly objectCalls: number;
  readonly originCalls: number;
}

/** How many records the measured alarm erases. */
export const ERASED_AT_ONCE = 100;

type Row = readonly [number, number, number, number, number, number, number];

// oxfmt-ignore
const TABLE = {
  //                  statements, rows read, written, alarms, syncs, object, origin
  first:              [3,         3,         2,       0,      0,     1,      1],
  firstOfInstance:    [11,       13,        2,       1,      0,     1,      1],
  firstAmongBuckets:  [3,         11,        2,       0,      0,     1,      1],
  replay:             [1,         3,         0,       0,      0,     1,      0],
  replayAmongBuckets: [1,         11,        0,       0,      0,     1,      0],
  conflict:           [0,         0,         0,       0,      0,     1,      0],
  mismatch:           [1,         3,         0,       0,      0,     1,      0],
  refused:            [5,         3,         3,       0,      0,     1,      1],
  afterRefusal:       [5,         5,         2,       0,      0,     1,      1],
  unprotected:        [0,         0,         0,       0,      0,     0,      1],
  firstMebibyte:      [9,         5,         6,       0,      5,     1,      1],
  replayMebibyte:     [6,         8,         0,       0,      0,     1,      0],
  tables:             [12,        17,        16,      0,      0,     0,      0],
  erased:             [10,        214,       100,     1,      0,     0,      0],
  erasedMebibyte:     [0,         0,         7,       0,      0,     0,      0],
} satisfies Readonly<Record<string, Row>>;

function counts([statements, rowsRead, rowsWritten, alarmsSet, syncs, objectCalls, originCalls]: Row): OperationCounts {
  return { statements, rowsRead, rowsWritten, alarmsSet, syncs, objectCalls, originCalls };
}

export type Operation = keyof typeof TABLE;

export const COUNTS: Readonly<Record<Operation, OperationCounts>> = {
  /** A new key, its response small, in an object that has served others before. */
  first: counts(TABLE.first),
  /** The same as the first request of an object's instance, which sets the alarm anew. */
  firstOfInstance: counts(TABLE.firstOfInstance),
  /** The same where records of a whole retention lie in as many buckets as there can be. */
  firstAmongBuckets: counts(TABLE.firstAmongBuckets),
  replay: counts(TABLE.replay),
  replayAmongBuckets: counts(TABLE.replayAmongBuckets),
  conflict: counts(TABLE.conflict),
  mismatch: counts(TABLE.mismatch),
  refused: counts(TABLE.refused),
  afterRefusal: counts(TABLE.afterRefusal),
  unprotected: counts(TABLE.unprotected),
  firstMebibyte: counts(TABLE.firstMebibyte),
  replayMebibyte: counts(TABLE.replayMebibyte),
  /** What a new object does once. */
  tables: counts(TABLE.tables),
  /** One alarm that erases `ERASED_AT_ONCE` records. */
  erased: counts(TABLE.erased),
  erasedMebibyte: counts(TABLE.erasedMebibyte),
};

/** Commits of the shard's storage: each is waited for. */
export const COMMITS = { first: 2, replay: 0, conflict: 0, mismatch: 0 } as const;
