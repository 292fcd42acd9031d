// The features of an object: one explicit list, in the order of their work, and what one feature alone does. What each adds is in its own folder
// object.

import type { ObjectFeatures, ObjectFunctions } from "../kernel/object-feature.ts";
import { acceptedObject } from "./accepted/object/feature.ts"; // feature: accepted
import { auditObject } from "./audit/object/audit-log-store.ts"; // feature: audit
import { bulkObject } from "./bulk/object/listed-changes.ts"; // feature: bulk
import { callersObject } from "./callers/object/eraser.ts"; // feature: callers
import { claimsObject } from "./claims/object/consumer-calls.ts"; // feature: claims
import { decisionsObject } from "./decisions/object/decided-records.ts"; // feature: decisions
import { digestMultipart } from "./forms/object/digested-multipart.ts"; // feature: forms
import { observeObject } from "./observe/object/feature.ts"; // feature: observe
import { lookUpObject } from "./look-up/object/feature.ts"; // feature: look-up
import { outboxObject } from "./outbox/object/feature.ts"; // feature: outbox
import { placementObject } from "./placement/object/feature.ts"; // feature: placement
import { tracedPlace } from "./placement/object/traced-place.ts"; // feature: placement
import { previousShardsObject } from "./previous-shards/object/feature.ts"; // feature: previous-shards
import { judgeBody } from "./verdicts/object/judge-body.ts"; // feature: verdicts
import { watchMessages } from "./json-rpc/object/message-watch.ts"; // feature: json-rpc
import { queuesObject } from "./queues/object/deliveries.ts"; // feature: queues

export const objectFeatures: ObjectFeatures = [
  acceptedObject, // feature: accepted
  lookUpObject, // feature: look-up
  outboxObject, // feature: outbox
  claimsObject, // feature: claims
  queuesObject, // feature: queues
  bulkObject, // feature: bulk
  decisionsObject, // feature: decisions
  callersObject, // feature: callers
  observeObject, // feature: observe
  auditObject, // feature: audit
  placementObject, // feature: placement
  previousShardsObject, // feature: previous-shards
];

export const objectFunctions: ObjectFunctions = {
  watchMessages, // feature: json-rpc
  judgeBody, // feature: verdicts
  digestMultipart, // feature: forms
  placeOf: tracedPlace, // feature: placement
};
