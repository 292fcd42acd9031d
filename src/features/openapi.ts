// The features in the OpenAPI document of the operator API: one explicit list, in the order of the document. For the build alone: only
// src/cli/write-openapi.ts imports it, and no Worker.

import type { OpenApiFeature } from "../operator/openapi-components.ts";
import { auditOpenApi } from "./audit/operator/openapi.ts"; // feature: audit
import { bulkOpenApi } from "./bulk/operator/openapi.ts"; // feature: bulk
import { callersOpenApi } from "./callers/operator/openapi.ts"; // feature: callers
import { claimsOpenApi } from "./claims/operator/openapi.ts"; // feature: claims
import { decisionsOpenApi } from "./decisions/operator/openapi.ts"; // feature: decisions
import { hoursOpenApi } from "./hours/operator/openapi.ts"; // feature: hours
import { observeOpenApi } from "./observe/operator/openapi.ts"; // feature: observe
import { outboxOpenApi } from "./outbox/operator/openapi.ts"; // feature: outbox
import { previousShardsOpenApi } from "./previous-shards/operator/openapi.ts"; // feature: previous-shards
import { queuesOpenApi } from "./queues/operator/openapi.ts"; // feature: queues

export const OPENAPI_FEATURES: readonly OpenApiFeature[] = [
  hoursOpenApi, // feature: hours
  observeOpenApi, // feature: observe
  bulkOpenApi, // feature: bulk
  decisionsOpenApi, // feature: decisions
  callersOpenApi, // feature: callers
  auditOpenApi, // feature: audit
  outboxOpenApi, // feature: outbox
  claimsOpenApi, // feature: claims
  queuesOpenApi, // feature: queues
  previousShardsOpenApi, // feature: previous-shards
];
