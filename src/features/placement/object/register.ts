// The register of objects that clients have used, in the operators' object.

import type { LaterTables } from "../../../kernel/store/schema.ts";
import type { EnrolledObjects, EnrolmentNotice } from "../enrolment.ts";

/** A row for each object; with the number -1: there may be others that do not enrol by themselves. */
export const ENROLLED_TABLE =
  "CREATE TABLE IF NOT EXISTS enrolled (layout TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (layout, number)) WITHOUT ROWID";

const PARTIAL = -1;

export class EnrolledRows {
  readonly #tables: LaterTables;

  constructor(tables: LaterTables) {
    this.#tables = tables;
  }

  add({ layout, numbers, knows }: EnrolmentNotice): true {
    const { sql, transaction } = this.#tables;
    transaction(() => {
      sql.exec(ENROLLED_TABLE);
      for (const number of knows === "older" ? [PARTIAL, ...numbers] : numbers)
        sql.exec("INSERT OR IGNORE INTO enrolled (layout, number) VALUES (?, ?)", layout, number);
      if (knows === "all") sql.exec("DELETE FROM enrolled WHERE layout = ? AND number = ?", layout, PARTIAL);
    });
    this.#tables.made("enrolled");
    return true;
  }

  of(layout: string): EnrolledObjects {
    if (!this.#tables.has("enrolled")) return { numbers: [], isPartial: false };
    const rows = this.#tables.sql
      .exec<{ number: number }>("SELECT number FROM enrolled WHERE layout = ?", layout)
      .toArray()
      .map(({ number }) => number);
    return { numbers: rows.filter((number) => number !== PARTIAL), isPartial: rows.includes(PARTIAL) };
  }
}
