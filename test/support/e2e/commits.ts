// How many commits a shard has made: SQLite's write-ahead log marks each with the size of the database after it (SQLite file
// format, section 4.1). Read beside the running gateway, from a log that is too young to have been restarted.

import { existsSync, readFileSync } from "node:fs";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

export function countCommits(databaseFile: string): number {
  const file = `${databaseFile}-wal`;
  if (!existsSync(file)) return 0;
  const log = readFileSync(file);
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let commits = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    // A frame with another salt is left over from an earlier log.
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    if (log.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}
