import type { ObjectFeature, ObjectKernel } from "../../../kernel/object-feature.ts";
import { auditCalls, AuditLog } from "./audit.ts";

export function auditObject({ storage }: ObjectKernel): ObjectFeature {
  const log = new AuditLog(storage.sql, (run) => storage.transactionSync(run));
  return { name: "audit", calls: auditCalls(log) };
}
