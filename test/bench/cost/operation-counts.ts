// What each kind of exchange costs, in exact operations. Tests compare the gateway with this table; the cost page
// multiply it by prices. A number that grows fails a test; so does one that shrinks, which is then updated here.

export interface OperationCounts {
  /** SQL statements of the object. */
  readonly statements: number;
  /** Rows as SQLite counts them for billing: Cloudflare's `rowsRead` and `rowsWritten`. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** How often the alarm is set. Each costs one row written, in addition to `rowsWritten`. */
  readonly alarmsSet: number;
  /** How often the object waits for its writes to be durable. Each may be a commit. */
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
  first:              [3,         6,         2,       0,      0,     1,      1],
  firstOfInstance:    [16,       27,        2,       1,      0,     1,      1],
  firstAmongBuckets:  [3,         14,        2,       0,      0,     1,      1],
  replay:             [1,         2,         0,       0,      0,     1,      0],
  replayAmongBuckets: [1,         2,        0,       0,      0,     1,      0],
  conflict:           [0,         0,         0,       0,      0,     1,      0],
  mismatch:           [1,         2,         0,       0,      0,     1,      0],
  refused:            [5,         7,         3,       0,      0,     1,      1],
  afterRefusal:       [4,         8,         2,       0,      0,     1,      1],
  unprotected:        [0,         0,         0,       0,      0,     0,      1],
  accepted:           [4,         7,         2,       0,      0,     1,      1],
  lookAtRunning:      [0,         0,         0,       0,      0,     1,      0],
  lookAtWaiting:      [1,         2,         0,       0,      0,     1,      0],
  published:          [9,         18,        4,       0,      0,     1,      1],
  publishedInVain:    [16,        42,        5,       1,      0,     1,      1],
  publishedToResting: [5,         14,         3,       0,      0,     1,      1],
  sentInVain:         [24,        66,        2,       1,      0,     0,      0],
  sentAfterRest:      [18,        43,        2,       1,      0,     0,      0],
  claimed:            [2,         3,         1,       0,      0,     1,      0],
  extended:           [1,         2,         1,       0,      0,     1,      0],
  settled:            [1,         3,         1,       0,      0,     1,      0],
  settledAtPosition:  [3,         4,         2,       0,      0,     1,      0],
  claimedInVain:      [1,         2,         0,       0,      0,     1,      0],
  firstLarge:         [4,         7,         3,       0,      0,     1,      1],
  replayLarge:        [2,         4,         0,       0,      0,     1,      0],
  erasedLarge:        [0,         0,         2,       0,      0,     0,      0],
  firstMebibyte:      [8,         11,         6,       0,      5,     1,      1],
  replayMebibyte:     [5,         7,         0,       0,      0,     1,      0],
  tables:             [11,        17,        14,      0,      0,     0,      0],
  erased:             [7,         210,       100,     1,      0,     0,      0],
  erasedMebibyte:     [0,         0,         5,       0,      0,     0,      0],
} satisfies Readonly<Record<string, Row>>;

function counts([statements, rowsRead, rowsWritten, alarmsSet, syncs, objectCalls, originCalls]: Row): OperationCounts {
  return { statements, rowsRead, rowsWritten, alarmsSet, syncs, objectCalls, originCalls };
}

export type Operation = keyof typeof TABLE;

export const COUNTS: Readonly<Record<Operation, OperationCounts>> = {
  /** A new key with a small response, in an object that has served others before. */
  first: counts(TABLE.first),
  /** The same as the first request of an instance, which sets the alarm again. */
  firstOfInstance: counts(TABLE.firstOfInstance),
  /** The same with the records of a whole retention in the largest possible number of expiry buckets. */
  firstAmongBuckets: counts(TABLE.firstAmongBuckets),
  replay: counts(TABLE.replay),
  replayAmongBuckets: counts(TABLE.replayAmongBuckets),
  conflict: counts(TABLE.conflict),
  mismatch: counts(TABLE.mismatch),
  refused: counts(TABLE.refused),
  afterRefusal: counts(TABLE.afterRefusal),
  unprotected: counts(TABLE.unprotected),
  /** A request with a small body that is answered before its result is there, and begun at once; with its result. */
  accepted: counts(TABLE.accepted),
  /** A look at its monitor. With its result, it is a replay. */
  lookAtRunning: counts(TABLE.lookAtRunning),
  lookAtWaiting: counts(TABLE.lookAtWaiting),
  /** A first request with one event, which its destination, a queue or a webhook, takes at once. */
  published: counts(TABLE.published),
  /** The same when the first try fails, so that the destination rests. */
  publishedInVain: counts(TABLE.publishedInVain),
  /** The same while the destination rests. */
  publishedToResting: counts(TABLE.publishedToResting),
  /** An alarm that tries the only event again: in vain, and with success. */
  sentInVain: counts(TABLE.sentInVain),
  sentAfterRest: counts(TABLE.sentAfterRest),
  /** A claim of a new key, an extension of its lock, and its completion; with a position, from the second of its partition on. */
  claimed: counts(TABLE.claimed),
  extended: counts(TABLE.extended),
  settled: counts(TABLE.settled),
  settledAtPosition: counts(TABLE.settledAtPosition),
  /** A claim of a key that is completed. */
  claimedInVain: counts(TABLE.claimedInVain),
  /** A first request with a body that comes whole and is too large for its record's row. */
  firstLarge: counts(TABLE.firstLarge),
  replayLarge: counts(TABLE.replayLarge),
  erasedLarge: counts(TABLE.erasedLarge),
  /** The same with a body in four chunks. */
  firstMebibyte: counts(TABLE.firstMebibyte),
  replayMebibyte: counts(TABLE.replayMebibyte),
  /** The one-time cost of a new object. */
  tables: counts(TABLE.tables),
  /** One alarm that erases `ERASED_AT_ONCE` records. */
  erased: counts(TABLE.erased),
  erasedMebibyte: counts(TABLE.erasedMebibyte),
};

/** Commits of the shard's storage. The gateway waits for each. */
export const COMMITS = { first: 2, replay: 0, conflict: 0, mismatch: 0 } as const;
