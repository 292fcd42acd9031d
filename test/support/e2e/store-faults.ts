// A store that refuses statements: on the database of a gateway's only shard they fail for as long as the test wants, like on
// a full disk. The object has to have been used once.

import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";
import { shardFile } from "./shard-database.ts";

/** What cannot be written. */
const REFUSED = {
  claims: "INSERT ON records",
  /** Any change of a record: its end, and the renewal of its lock. */
  changes: "UPDATE ON records",
  /** The response that a record keeps; the record itself can be completed. */
  responses: "UPDATE ON records WHEN NEW.kept = 1",
  chunks: "INSERT ON chunks",
} as const;

export interface StoreFaults {
  /** Until `heal`. */
  refuse(what: keyof typeof REFUSED): void;
  /** How many statements have been refused since. */
  refused(): number;
  heal(): void;
  /** How many records are in each state. */
  states(): Readonly<Record<string, number>>;
  close(): void;
}

export function openStoreFaults(gateway: Pick<Gateway, "stateDir">): StoreFaults {
  const database = new DatabaseSync(shardFile(gateway), { timeout: 5_000 });
  return {
    // FAIL ends the statement without undoing its earlier changes, so the count stays.
    refuse: (what) =>
      database.exec(`
        BEGIN IMMEDIATE;
        CREATE TABLE refusals (number INTEGER PRIMARY KEY);
        CREATE TRIGGER refusing BEFORE ${REFUSED[what]} BEGIN
          INSERT INTO refusals VALUES (NULL);
          SELECT RAISE(FAIL, 'no room');
        END;
        COMMIT;`),
    refused: () => Number(database.prepare("SELECT count(*) AS n FROM refusals").get()?.["n"]),
    heal: () => database.exec("BEGIN IMMEDIATE; DROP TRIGGER refusing; DROP TABLE refusals; COMMIT;"),
    states: () =>
      Object.fromEntries(
        database
          .prepare("SELECT state, count(*) AS n FROM records GROUP BY state")
          .all()
          .map(({ state, n }) => [String(state), Number(n)]),
      ),
    close: () => database.close(),
  };
}
