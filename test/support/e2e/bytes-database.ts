// What a shard stores of bodies, read beside the running gateway (or after it was killed) without disturbing it.

import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";
import { shardFile } from "./shard-database.ts";

export interface BodiesDatabase {
  /** Rows of bodies, or those whose bodies no record owns and no alarm will erase. */
  chunks(): number;
  orphans(): number;
  /** Rows of bodies that no record keeps. */
  notKept(): number;
  /** Bodies left to the alarm. */
  discarded(): number;
  /** The greatest piece of a body in one row, also of those within a record. */
  largestRow(): number;
  /** The state of the record that was started last. */
  lastRecord(): string;
  close(): void;
}

/** Of a gateway with `shards = 1` whose object has been used. */
export function openBodies(gateway: Pick<Gateway, "stateDir">): BodiesDatabase {
  const database = new DatabaseSync(shardFile(gateway), { readOnly: true, timeout: 5_000 });
  const number = (query: string): number => Number(database.prepare(query).get()?.["n"] ?? 0);
  return {
    chunks: () => number("SELECT count(*) AS n FROM chunks"),
    orphans: () =>
      // A chunk's key begins with its body's number.
      number(`SELECT count(*) AS n FROM chunks WHERE number >> 26 NOT IN (SELECT body FROM discarded)
        AND number >> 26 NOT IN (SELECT body_number FROM records WHERE body_number IS NOT NULL)`),
    notKept: () => number("SELECT count(*) AS n FROM chunks WHERE number >> 26 IN (SELECT body FROM discarded)"),
    discarded: () => number("SELECT count(*) AS n FROM discarded"),
    largestRow: () =>
      Math.max(
        number("SELECT max(length(bytes)) AS n FROM chunks"),
        number("SELECT max(length(body)) AS n FROM records"),
      ),
    lastRecord: () =>
      String(database.prepare("SELECT state FROM records ORDER BY started_at DESC LIMIT 1").get()?.["state"]),
    close: () => database.close(),
  };
}
