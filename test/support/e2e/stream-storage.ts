// What is durable of the bodies of a gateway with one shard, read from its database beside the running gateway; and a way to
// make the commits fail that store more of them.

import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";
import { shardFile } from "./shard-database.ts";

export interface StreamStorage {
  /** Whether some chunk of a body contains this text. */
  hasStored(text: string): boolean;
  chunks(): number;
  /** The size of the largest row that holds bytes of a body. */
  largestRow(): number;
  /** The state of every record, newest last. */
  states(): readonly string[];
  lastAttempt(): { readonly lockedUntil: number; readonly attempt: number } | null;
  /** Lets every statement that stores a chunk succeed and its commit fail, until `allowChunks`. */
  failChunkCommits(): void;
  allowChunks(): void;
  close(): void;
}

export function openStreamStorage(gateway: Pick<Gateway, "stateDir">): StreamStorage {
  const database = new DatabaseSync(shardFile(gateway), { timeout: 5_000 });
  const number = (query: string, ...values: string[]): number => Number(database.prepare(query).get(...values)?.["n"]);
  return {
    hasStored: (text) => number("SELECT count(*) AS n FROM chunks WHERE instr(bytes, CAST(? AS BLOB)) > 0", text) > 0,
    chunks: () => number("SELECT count(*) AS n FROM chunks"),
    largestRow: () =>
      number(
        "SELECT max((SELECT coalesce(max(length(bytes)), 0) FROM chunks), (SELECT coalesce(max(length(body)), 0) FROM records)) AS n",
      ),
    states: () =>
      database
        .prepare("SELECT state FROM records ORDER BY started_at")
        .all()
        .map(({ state }) => String(state)),
    lastAttempt() {
      const row = database.prepare("SELECT locked_until, attempt FROM records ORDER BY started_at DESC LIMIT 1").get();
      return row === undefined ? null : { lockedUntil: Number(row["locked_until"]), attempt: Number(row["attempt"]) };
    },
    failChunkCommits: () =>
      database.exec(`
        BEGIN IMMEDIATE;
        CREATE TABLE none (id INTEGER PRIMARY KEY);
        CREATE TABLE broken (none INTEGER REFERENCES none (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER fail_chunk AFTER INSERT ON chunks BEGIN
          INSERT INTO broken VALUES (1);
        END;
        COMMIT;`),
    allowChunks: () =>
      database.exec(`
        BEGIN IMMEDIATE;
        DROP TRIGGER fail_chunk;
        DROP TABLE broken;
        DROP TABLE none;
        COMMIT;`),
    close: () => database.close(),
  };
}
