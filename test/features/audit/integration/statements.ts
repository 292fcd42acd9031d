// Every statement of the audit log, for the test of query plans.

import { AuditLogStore } from "../../../../src/features/audit/object/audit-log-store.ts";
import { NOW } from "../../../support/integration/records.ts";
import type { Ledger, LedgerStorage } from "../../../../src/kernel/store/ledger.ts";

export function useAudit(_ledger: Ledger, storage: LedgerStorage): void {
  const audit = new AuditLogStore(storage.sql, (run) => storage.transactionSync(run));
  const entry = {
    by: "ann",
    role: "admin",
    via: "token",
    action: "forget",
    target: null,
    reason: null,
    key: null,
    label: null,
  } as const;
  audit.end(audit.begin({ ...entry, address: "local" }, NOW) ?? 0, "done");
  audit.begin({ ...entry, action: "sign-in", address: "local" }, NOW);
  audit.page({ by: null, action: null, since: null, before: 9, limit: 1 });
}
