// Every statement of sightings and their examples, for the test of query plans.

import type { KnownKey } from "../../../../src/features/observe/classify.ts";
import { ExampleRows } from "../../../../src/features/observe/object/example-rows.ts";
import { KEPT_DAYS } from "../../../../src/features/observe/object/sighting-days.ts";
import { SightingRows } from "../../../../src/features/observe/object/sighting-rows.ts";
import { DAY_MS, HOUR_MS } from "../../../../src/kernel/config/units.ts";
import { KEY_HASH_DIGITS } from "../../../../src/kernel/record/units.ts";
import type { Ledger, LedgerStorage } from "../../../../src/kernel/store/ledger.ts";
import { LaterTables } from "../../../../src/kernel/store/schema.ts";
import { NOW } from "../../../support/integration/records.ts";

/** More callers with one key than are compared. */
const CALLERS = 21;

export function useObserve(_ledger: Ledger, storage: LedgerStorage): void {
  const tables = new LaterTables(storage.sql, (run) => storage.transactionSync(run));
  useSightings(tables);
  const examples = new ExampleRows(tables);
  const example = { route: "/", kind: "doubled", at: NOW, earlierAt: null, method: "POST", status: 201 } as const;
  for (const keyHash of ["a", "b"]) examples.add({ ...example, keyHash, key: null }, NOW);
  examples.since(NOW - DAY_MS);
}

function useSightings(tables: LaterTables): void {
  const day = Math.floor(NOW / DAY_MS);
  const end = { endedAt: NOW, end: "result", body: null, hasSuccess: true, effects: [] } as const;
  const known: KnownKey = { fingerprint: "f", beganAt: NOW, ...end };
  const idOf = (caller: number): string => "a".repeat(KEY_HASH_DIGITS) + caller.toString(16).padStart(32, "0");
  const first = { route: "/", day, names: ["first"], until: NOW + HOUR_MS, known };
  const rows = new SightingRows(tables);
  tables.transaction(() => {
    for (let caller = 0; caller < CALLERS; caller += 1) rows.insert({ ...first, id: idOf(caller) }, null, NOW);
  });
  rows.find(idOf(0), NOW);
  rows.find(idOf(CALLERS - 1), NOW);
  rows.update(idOf(0), known);
  rows.add({ day, route: "/", name: "first", count: 1 }, NOW);
  // After a transaction that was undone, and in another instance.
  rows.forget();
  rows.days(day);
  new SightingRows(tables).nextAt(NOW);
  rows.erase(NOW);
  rows.erase(NOW + 2 * HOUR_MS);
  rows.erase(NOW + (KEPT_DAYS + 2) * DAY_MS);
}
