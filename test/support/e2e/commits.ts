// How many commits a shard has made: SQLite's write-ahead log marks each with the size of the database after it (SQLite file
// format, section 4.1). Read beside the running gateway, from a log that is too young to have been restarted.

import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** Without the commits that write nothing but this table. */
export function countCommits(databaseFile: string, but: string): number {
  const file = `${databaseFile}-wal`;
  if (!existsSync(file)) return 0;
  const log = readFileSync(file);
  const own = pagesOf(databaseFile, but);
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let commits = 0;
  let isOther = false;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    // A frame with another salt is left over from an earlier log.
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    isOther ||= !own.has(log.readUInt32BE(at));
    if (log.readUInt32BE(at + 4) === 0) continue;
    if (isOther) commits += 1;
    isOther = false;
  }
  return commits;
}

/** The numbers of its pages: a table keeps those that it has. */
function pagesOf(databaseFile: string, table: string): ReadonlySet<unknown> {
  const database = new DatabaseSync(databaseFile, { readOnly: true, timeout: 5_000 });
  try {
    const rows = database.prepare("SELECT pageno FROM dbstat WHERE name = ?").all(table);
    return new Set(rows.map(({ pageno }) => pageno));
  } finally {
    database.close();
  }
}
