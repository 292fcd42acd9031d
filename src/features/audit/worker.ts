// The audit log in the Worker, as operators read it: operations of the operator API, and a page of the console.

import type { AskOperators, AuditLog, WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { addAudit } from "./operator/audit-api.ts";
import { OperatorsAudit } from "./operator/operators-audit.ts";
import { auditRoutes } from "./operator/audit-page.tsx";

/** The log to which whatever operators change is written. */
export function auditLog(ask: AskOperators): AuditLog {
  return new OperatorsAudit(ask);
}

export function auditWorker({ askOperators }: WorkerKernel): WorkerFeature {
  const audit = new OperatorsAudit(askOperators);
  return {
    name: "audit",
    operator: {
      addApi: (app) => addAudit(app, audit),
      console: {
        link: { path: "audit", title: "Audit", after: "shards" },
        addPages: (app, paths) => auditRoutes(app, paths, audit),
      },
    },
  };
}
