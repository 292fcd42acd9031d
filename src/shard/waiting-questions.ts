// The records whose outcome the origin is to be asked about, and when: by an index that holds them alone, first by their
// route, so that many of one route hide none of another.

import { type EpochMs, epochMs, type RecordId, recordId } from "../core/units.ts";
import type { Sql } from "./migrations.ts";

export interface WaitingQuestion {
  readonly id: RecordId;
  readonly at: EpochMs;
}

export class WaitingQuestions {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The routes that have any, in their order: as many seeks as there are. */
  routes(): readonly string[] {
    return this.#sql
      .exec<{ route: string }>(
        `WITH RECURSIVE found(route) AS (
           SELECT min(route) FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL
           UNION ALL SELECT (SELECT min(route) FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL AND route > found.route) FROM found WHERE found.route IS NOT NULL
         ) SELECT route FROM found WHERE route IS NOT NULL`,
      )
      .toArray()
      .map(({ route }) => route);
  }

  /** The first of a route, the one that has waited longest before all others. */
  first(route: string, limit: number): readonly WaitingQuestion[] {
    return this.#sql
      .exec<{ id: string; verify_at: number }>(
        "SELECT id, verify_at FROM records INDEXED BY records_to_ask WHERE verify_at IS NOT NULL AND route = ? ORDER BY verify_at LIMIT ?",
        route,
        limit,
      )
      .toArray()
      .map((row) => ({ id: recordId(row.id), at: epochMs(row.verify_at) }));
  }
}
