// The features of the Worker: one explicit list, and what one feature alone does. What each adds is in its own worker.ts.

import type { WorkerFeatures, WorkerFunctions } from "../kernel/worker-feature.ts";
import { acceptedWorker, inertAtMonitors } from "./accepted/worker.ts"; // feature: accepted
import { auditLog, auditWorker } from "./audit/worker.ts"; // feature: audit
import { bulkWorker } from "./bulk/worker.ts"; // feature: bulk
import { callersWorker } from "./callers/worker.ts"; // feature: callers
import { claimsWorker } from "./claims/worker.ts"; // feature: claims
import { contentKeysWorker, makeContentKey } from "./content-keys/worker.ts"; // feature: content-keys
import { decisionsWorker } from "./decisions/worker.ts"; // feature: decisions
import { canonicalMultipart } from "./forms/worker.ts"; // feature: forms
import { graphqlReader } from "./graphql/worker.ts"; // feature: graphql
import { hoursWorker } from "./hours/worker.ts"; // feature: hours
import { callerProver } from "./identities/worker.ts"; // feature: identities
import { keySearch } from "./key-sources/worker.ts"; // feature: key-sources
import { observeWorker } from "./observe/worker.ts"; // feature: observe
import { lookUpWorker } from "./look-up/worker.ts"; // feature: look-up
import { outboxWorker } from "./outbox/worker.ts"; // feature: outbox
import { pagesWorker } from "./pages/worker.ts"; // feature: pages
import { enrolledObjects } from "./placement/worker.ts"; // feature: placement
import { objectFinder, previousShardsWorker } from "./previous-shards/worker.ts"; // feature: previous-shards
import { verdictsWorker } from "./verdicts/worker.ts"; // feature: verdicts
import { shapeProblem } from "./problem-shapes/worker.ts"; // feature: problem-shapes
import { callSearch, editReplay } from "./json-rpc/worker.ts"; // feature: json-rpc
import { queuesWorker } from "./queues/worker.ts"; // feature: queues

export const workerFeatures: WorkerFeatures = [
  outboxWorker, // feature: outbox
  claimsWorker, // feature: claims
  queuesWorker, // feature: queues
  bulkWorker, // feature: bulk
  decisionsWorker, // feature: decisions
  callersWorker, // feature: callers
  contentKeysWorker, // feature: content-keys
  observeWorker, // feature: observe
  verdictsWorker, // feature: verdicts
  hoursWorker, // feature: hours
  auditWorker, // feature: audit
  previousShardsWorker, // feature: previous-shards
  // An answer at a monitor's address is made inert after everything else.
  pagesWorker, // feature: pages
  lookUpWorker, // feature: look-up
  acceptedWorker, // feature: accepted
];

export const workerFunctions: WorkerFunctions = {
  objectFinder, // feature: previous-shards
  askableObjects: enrolledObjects, // feature: placement
  callerProver, // feature: identities
  keySearch, // feature: key-sources
  callSearch, // feature: json-rpc
  editReplay, // feature: json-rpc
  graphqlReader, // feature: graphql
  makeContentKey, // feature: content-keys
  canonicalMultipart, // feature: forms
  shapeProblem, // feature: problem-shapes
  auditLog, // feature: audit
  finishRefusal: inertAtMonitors, // feature: accepted
};
