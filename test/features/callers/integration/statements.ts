// Every statement of the look at all records of a caller, for the test of query plans.

import { FIRST_ROW_LOCATION, RecordScan } from "../../../../src/features/callers/object/eraser.ts";
import type { Ledger, LedgerStorage } from "../../../../src/kernel/store/ledger.ts";

export function useRecordScan(_ledger: Ledger, { sql }: LedgerStorage): void {
  new RecordScan(sql).slice(FIRST_ROW_LOCATION, 10);
}
