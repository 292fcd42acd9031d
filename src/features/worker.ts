// The features of the Worker: one explicit list. What each adds is in its own worker.ts.

import type { WorkerFeatures } from "../kernel/worker-feature.ts";
import { auditWorker } from "./audit/worker.ts"; // feature: audit
import { bulkWorker } from "./bulk/worker.ts"; // feature: bulk
import { callersWorker } from "./callers/worker.ts"; // feature: callers
import { claimsWorker } from "./claims/worker.ts"; // feature: claims
import { hoursWorker } from "./hours/worker.ts"; // feature: hours
import { outboxWorker } from "./outbox/worker.ts"; // feature: outbox
import { queuesWorker } from "./queues/worker.ts"; // feature: queues

export const workerFeatures: WorkerFeatures = (kernel) => [
  outboxWorker(kernel), // feature: outbox
  claimsWorker(kernel), // feature: claims
  queuesWorker(kernel), // feature: queues
  bulkWorker(kernel), // feature: bulk
  callersWorker(kernel), // feature: callers
  hoursWorker(kernel), // feature: hours
  auditWorker(kernel), // feature: audit
];
