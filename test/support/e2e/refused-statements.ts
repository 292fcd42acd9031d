// Makes the storage of a gateway with one shard really refuse statements, with a trigger that is added to the shard's file
// beside the running gateway. The object has to have been used once.

import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";
import { shardFile } from "./shard-database.ts";

export interface RefusedStatements {
  /** Runs `act` while no record can be inserted (a claim), or changed (an end, or another attempt). */
  while<T>(statement: "INSERT" | "UPDATE", act: () => Promise<T>): Promise<T>;
  close(): void;
}

export function openRefusedStatements(gateway: Pick<Gateway, "stateDir">): RefusedStatements {
  const database = new DatabaseSync(shardFile(gateway), { timeout: 5_000 });
  return {
    async while(statement, act) {
      database.exec(
        `CREATE TRIGGER refuse BEFORE ${statement} ON records BEGIN SELECT RAISE(FAIL, 'refused by the test'); END`,
      );
      try {
        return await act();
      } finally {
        database.exec("DROP TRIGGER refuse");
      }
    },
    close: () => database.close(),
  };
}
