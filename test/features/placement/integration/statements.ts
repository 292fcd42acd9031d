// Every statement of enrolment, for the test of query plans.

import { ObjectEnrolment } from "../../../../src/features/placement/object/enrolling.ts";
import { EnrolledRows } from "../../../../src/features/placement/object/register.ts";
import type { StepChange } from "../../../../src/kernel/step-hook.ts";
import type { Ledger, LedgerStorage } from "../../../../src/kernel/store/ledger.ts";
import { LaterTables } from "../../../../src/kernel/store/schema.ts";
import { NOW } from "../../../support/integration/records.ts";

export function useEnrolment(_ledger: Ledger, storage: LedgerStorage): void {
  const tables = new LaterTables(storage.sql, (run) => storage.transactionSync(run));
  const rows = new EnrolledRows(tables);
  rows.add({ layout: "64", numbers: [3], knows: "older" });
  rows.add({ layout: "64", numbers: [3], knows: "all" });
  rows.of("64");
  const instance = (): ObjectEnrolment =>
    new ObjectEnrolment({
      tables,
      enrols: () => true,
      register: () => Promise.resolve(),
      waitUntil: () => undefined,
      alarmAt: () => undefined,
    });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it reads no more of a step
  const joined = instance().hook.join?.({ after: {}, now: NOW } as StepChange) ?? null;
  joined?.write?.();
  joined?.written();
  instance().due.nextAt(NOW);
}
