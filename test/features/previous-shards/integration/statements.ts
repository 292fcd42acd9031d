// All statements of closed objects, for the test of plans.

import { ClosedBefore } from "../../../../src/features/previous-shards/object/closed-before.ts";
import { ClosedObject } from "../../../../src/features/previous-shards/object/closed-object.ts";
import type { Ledger, LedgerStorage } from "../../../../src/kernel/store/ledger.ts";
import { LaterTables } from "../../../../src/kernel/store/schema.ts";
import { freshId, NOW } from "../../../support/integration/records.ts";

/** Afterwards the object takes no record. */
export function usePreviousShards(_ledger: Ledger, storage: LedgerStorage): void {
  const tables = (): LaterTables => new LaterTables(storage.sql, (run) => storage.transactionSync(run));
  const layout = { shards: 64, jurisdiction: null, locationHint: null };
  const record = { id: freshId(), route: "/" };
  for (const isEmpty of [false, true]) {
    new ClosedBefore(tables()).noting({ record, previous: { closed: [{ layout, isEmpty }] } })?.write?.();
  }
  const object = new ClosedObject(tables());
  object.close(layout, NOW);
  void new ClosedObject(tables()).isEmpty;
}
