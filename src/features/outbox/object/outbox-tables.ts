// The tables of the outbox. Each is made with its first row.

import { OWN_LANE } from "../../../kernel/record/lanes.ts";
import { EVERY_LANE } from "../../../kernel/record/outbox.ts";

/** Dead events are due at this plus the time of their death, so that they lie behind the others, oldest first. No clock comes so far. */
export const DEAD = 2 ** 52;

/** Made with the first event of an object. Their times decide what is sent, so no writer can leave another value there. */
export const OUTBOX_TABLES: readonly string[] = [
  // The events that are still to be relayed, by destination and lane (kernel/record/lanes.ts), the one that is due first in front; `seq` tells
  // apart what is due at the same time. `set_at` is when `due` was set, and `since` when it was published, or sent again by an operator. Dead ones lie behind all others of
  // their lane: see DEAD. `key` is that of its record, as the record's own column has it (kernel/store/label.ts), so that a caller's events can be erased
  // when their records are gone.
  `CREATE TABLE IF NOT EXISTS outbox (
    destination TEXT NOT NULL,
    lane INTEGER NOT NULL CHECK (lane BETWEEN 0 AND ${OWN_LANE}),
    due INTEGER NOT NULL CHECK (due >= 0 AND due < 2 * ${DEAD}),
    seq INTEGER NOT NULL CHECK (seq > 0),
    id TEXT NOT NULL,
    record TEXT NOT NULL,
    key TEXT NOT NULL,
    set_at INTEGER NOT NULL CHECK (set_at >= 0),
    tries INTEGER NOT NULL CHECK (tries >= 0),
    since INTEGER NOT NULL CHECK (since >= 0),
    last TEXT,
    event TEXT NOT NULL,
    PRIMARY KEY (destination, lane, due, seq)
  ) STRICT, WITHOUT ROWID`,
  // The lanes of destinations whose last event was not taken: until when each rests, when that was set, and how often it has failed in a row. The lane
  // EVERY_LANE is the destination itself, which did not answer. A lane whose events are taken has no row.
  `CREATE TABLE IF NOT EXISTS resting (
    destination TEXT NOT NULL,
    lane INTEGER NOT NULL CHECK (lane BETWEEN 0 AND ${EVERY_LANE}),
    until INTEGER NOT NULL CHECK (until >= 0),
    set_at INTEGER NOT NULL CHECK (set_at >= 0),
    failures INTEGER NOT NULL CHECK (failures > 0),
    reason TEXT NOT NULL,
    PRIMARY KEY (destination, lane)
  ) STRICT, WITHOUT ROWID`,
];

/** The alerts that were sent. */
export const ALERTS_TABLE =
  "CREATE TABLE IF NOT EXISTS alerts (name TEXT PRIMARY KEY, at INTEGER NOT NULL, count INTEGER NOT NULL, due INTEGER) WITHOUT ROWID";
