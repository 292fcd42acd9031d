// What an object holds, by its tables: a layout may go only when nothing is left. Every table of the code is classed in one place, and
// each row of those that count is counted.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { heldRows, TABLES } from "../../src/kernel/store/tables.ts";
import * as schema from "../../src/kernel/store/schema.ts";
import { EXCERPTS_TABLE } from "../../src/kernel/notes/excerpts.ts";
import { COUNTS_TABLE } from "../../src/kernel/store/counts.ts";
import { AuditLogStore } from "../../src/features/audit/object/audit-log-store.ts"; // feature: audit
import { CLOSED_BEFORE_TABLE } from "../../src/features/previous-shards/object/closed-before.ts"; // feature: previous-shards
import { CLOSED_TABLE } from "../../src/features/previous-shards/object/closed-object.ts"; // feature: previous-shards
import { POSITIONS_TABLE } from "../../src/features/claims/object/position-rows.ts"; // feature: claims
import { ALERTS_TABLE, OUTBOX_TABLES } from "../../src/features/outbox/object/outbox-tables.ts"; // feature: outbox
import { EXAMPLES_TABLE } from "../../src/features/observe/object/example-rows.ts"; // feature: observe
import { SIGHTING_DAYS_TABLE } from "../../src/features/observe/object/sighting-days.ts"; // feature: observe
import { ENROLMENT_TABLE } from "../../src/features/placement/object/enrolling.ts"; // feature: placement
import { ENROLLED_TABLE } from "../../src/features/placement/object/register.ts"; // feature: placement
import { SIGHTINGS_TABLE } from "../../src/features/observe/object/sighting-rows.ts"; // feature: observe
import { Disk } from "./disk.ts";
import { storageOn } from "./stand-ins.ts";

const SRC = fileURLToPath(new URL("../../src/", import.meta.url).href);

const LATER_TABLES: readonly string[] = [
  EXCERPTS_TABLE,
  COUNTS_TABLE,
  ...OUTBOX_TABLES, // feature: outbox
  ALERTS_TABLE, // feature: outbox
  POSITIONS_TABLE, // feature: claims
  SIGHTINGS_TABLE, // feature: observe
  SIGHTING_DAYS_TABLE, // feature: observe
  EXAMPLES_TABLE, // feature: observe
  ENROLMENT_TABLE, // feature: placement
  ENROLLED_TABLE, // feature: placement
  CLOSED_TABLE, // feature: previous-shards
  CLOSED_BEFORE_TABLE, // feature: previous-shards
];

function tablesOfTheCode(): readonly string[] {
  const texts = ["kernel", "features"]
    .flatMap((folder) =>
      readdirSync(join(SRC, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    )
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(SRC, name), "utf8"));
  return texts.flatMap((text) =>
    [...text.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+) ?\(/g)].map(([, name = ""]) => name),
  );
}

/** An object with all tables. */
function wholeObject(): { readonly sql: SqlStorage; readonly disk: Disk } {
  const disk = new Disk();
  const storage = storageOn(
    disk,
    () => true,
    () => undefined,
  );
  const { sql } = storage;
  schema.makeTables(sql);
  for (const [name, make] of Object.entries(schema)) {
    if (/^make\w+Table$/.test(name) && typeof make === "function") Reflect.apply(make, null, [sql]);
  }
  new AuditLogStore(sql, (run) => storage.transactionSync(run)).end(1, "changes nothing"); // feature: audit
  for (const table of [...LATER_TABLES, ...Object.values(schema.KNOWN_TABLES)]) sql.exec(table);
  return { sql, disk };
}

/** A row of a table, whatever its columns are. */
function insertRow(disk: Disk, table: string): void {
  const columns = disk.statement(`SELECT name, type FROM pragma_table_info('${table}')`).all();
  // An entry of the audit log has no outcome at first.
  const isNull = (name: unknown): boolean => name === "outcome";
  const values = columns.map(({ name, type }) =>
    isNull(name) ? null : type === "BLOB" ? new Uint8Array(1) : type === "TEXT" ? "{}" : 1,
  );
  disk
    .statement(
      `INSERT INTO ${table} (${columns.map(({ name }) => String(name)).join(", ")}) VALUES (${values.map(() => "?").join(", ")})`,
    )
    .run(...values);
}

it("every table of the code is classed", () => {
  expect([...new Set(tablesOfTheCode())].toSorted()).toEqual(Object.keys(TABLES).toSorted());
});

describe("what an object holds", () => {
  it("is nothing when all its tables are empty, and when there are none", () => {
    expect(heldRows(wholeObject().sql)).toEqual([]);
    const disk = new Disk();
    const { sql } = storageOn(
      disk,
      () => true,
      () => undefined,
    );
    expect(heldRows(sql)).toEqual([]);
  });

  it.each(Object.entries(TABLES))("by a row in %s: %j", (table, use) => {
    const { sql, disk } = wholeObject();
    insertRow(disk, table);
    expect(heldRows(sql)).toEqual("holds" in use ? [{ what: use.holds, count: 1 }] : []);
  });
});
