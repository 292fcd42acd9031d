// Every statement of claims and positions, for the test of query plans.

import { ClaimList } from "../../../../src/features/claims/object/claim-list.ts";
import { PositionRows } from "../../../../src/features/claims/object/position-rows.ts";
import { NOW } from "../../../support/integration/records.ts";
import type { Ledger, LedgerStorage } from "../../../../src/kernel/store/ledger.ts";

export function useClaims(ledger: Ledger, { sql }: LedgerStorage): void {
  const partition = { route: "claims:billing", stream: "orders", partition: 0 };
  const positions = new PositionRows(ledger.tables);
  positions.put(partition, { next: 1, done: 1, claimed: [] });
  positions.made();
  positions.get(partition);
  positions.claimed();
  const claims = new ClaimList(sql, positions);
  claims.counts(NOW);
  for (const route of [null, "claims:billing"]) {
    for (const after of [null, { route: "claims:billing", stream: "orders", partition: 0 }]) {
      claims.page({ route, after, limit: 10 }, NOW);
    }
  }
}
