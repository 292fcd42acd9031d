// The features of an object: one explicit list, in the order of their work. What each adds is in its own object/feature.ts.

import type { ObjectFeatures } from "../kernel/object-feature.ts";
import { auditObject } from "./audit/object/feature.ts"; // feature: audit
import { bulkObject } from "./bulk/object/feature.ts"; // feature: bulk
import { callersObject } from "./callers/object/feature.ts"; // feature: callers
import { claimsObject } from "./claims/object/feature.ts"; // feature: claims
import { outboxObject } from "./outbox/object/feature.ts"; // feature: outbox
import { queuesObject } from "./queues/object/feature.ts"; // feature: queues

export const objectFeatures: ObjectFeatures = (kernel) => [
  outboxObject(kernel), // feature: outbox
  claimsObject(kernel), // feature: claims
  queuesObject(kernel), // feature: queues
  bulkObject(kernel), // feature: bulk
  callersObject(kernel), // feature: callers
  auditObject(kernel), // feature: audit
];
