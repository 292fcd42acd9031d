// Time that passes while a gateway with one shard is stopped: its database and its alarm are moved into the past.

import { join, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";
import { shardFile } from "./shard-database.ts";

/** The gateway must not run. */
export function passTime(gateway: Pick<Gateway, "stateDir">, ms: number): void {
  const file = shardFile(gateway);
  change(
    file,
    `UPDATE records SET started_at = started_at - ${ms}, locked_until = locked_until - ${ms};
     UPDATE alerts SET at = at - ${ms}, due = due - ${ms};`,
  );
  // Beside the objects workerd keeps the times of their alarms, in nanoseconds.
  change(join(dirname(file), "metadata.sqlite"), `UPDATE _cf_ALARM SET scheduled_time = scheduled_time - ${ms}000000;`);
}

function change(file: string, statements: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(`BEGIN IMMEDIATE; ${statements} COMMIT;`);
  } finally {
    database.close();
  }
}
