// Time that passes while a gateway is stopped: the databases of its objects and their alarms are moved into the past.

import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Gateway } from "../gateway.ts";
import { rowsIn, shardFiles } from "./shard-database.ts";

/** The gateway must not run. */
export function passTime(gateway: Pick<Gateway, "stateDir">, ms: number): void {
  const files = shardFiles(gateway);
  for (const file of files) {
    moveBack(file, "records", ["started_at", "locked_until"], ms);
    moveBack(file, "alerts", ["at", "due"], ms);
  }
  // Beside the objects workerd keeps the times of their alarms, in nanoseconds.
  const [file = ""] = files;
  change(join(dirname(file), "metadata.sqlite"), `UPDATE _cf_ALARM SET scheduled_time = scheduled_time - ${ms}000000`);
}

function moveBack(file: string, table: string, columns: readonly string[], ms: number): void {
  if (rowsIn(file, "1", table, "true LIMIT 1").length === 0) return;
  change(file, `UPDATE ${table} SET ${columns.map((column) => `${column} = ${column} - ${ms}`).join(", ")}`);
}

function change(file: string, statement: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(statement);
  } finally {
    database.close();
  }
}
