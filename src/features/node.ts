// The features in Node, in the order in which schema and checks name them: commands, variables, the tables of settings. One line each,
// written by hand; only src/cli imports it.

import type { BulkChanges } from "../cli/change-record.ts";
import type { TryQueueCommand } from "../cli/try.ts";
import type { NodeFeature } from "../kernel/node-feature.ts";
import { acceptedNode } from "./accepted/cli/node.ts"; // feature: accepted
import { auditNode } from "./audit/cli/audit.ts"; // feature: audit
import { bulkChanges } from "./bulk/cli/change-all.ts"; // feature: bulk
import { callersNode } from "./callers/cli/callers.ts"; // feature: callers
import { claimsNode } from "./claims/cli/node.ts"; // feature: claims
import { contentKeysNode } from "./content-keys/cli/node.ts"; // feature: content-keys
import { decisionsNode } from "./decisions/cli/decide-records.ts"; // feature: decisions
import { graphqlNode } from "./graphql/cli/node.ts"; // feature: graphql
import { identitiesNode } from "./identities/cli/node.ts"; // feature: identities
import { keySourcesNode } from "./key-sources/cli/node.ts"; // feature: key-sources
import { observeNode } from "./observe/cli/node.ts"; // feature: observe
import { lookUpNode } from "./look-up/cli/node.ts"; // feature: look-up
import { outboxNode } from "./outbox/cli/node.ts"; // feature: outbox
import { pagesNode } from "./pages/cli/node.ts"; // feature: pages
import { placementNode } from "./placement/cli/node.ts"; // feature: placement
import { presetsNode } from "./presets/cli/node.ts"; // feature: presets
import { problemShapesNode } from "./problem-shapes/cli/node.ts"; // feature: problem-shapes
import { previousShardsNode } from "./previous-shards/cli/layouts.ts"; // feature: previous-shards
import { verdictsNode } from "./verdicts/cli/node.ts"; // feature: verdicts
import { jsonRpcNode } from "./json-rpc/cli/node.ts"; // feature: json-rpc
import { queuesNode } from "./queues/cli/node.ts"; // feature: queues
import { tryQueue } from "./queues/cli/try-queue.ts"; // feature: queues

export const NODE_FEATURES: readonly NodeFeature[] = [
  identitiesNode, // feature: identities
  problemShapesNode, // feature: problem-shapes
  presetsNode, // feature: presets
  queuesNode, // feature: queues
  outboxNode, // feature: outbox
  claimsNode, // feature: claims
  keySourcesNode, // feature: key-sources
  contentKeysNode, // feature: content-keys
  graphqlNode, // feature: graphql
  jsonRpcNode, // feature: json-rpc
  acceptedNode, // feature: accepted
  verdictsNode, // feature: verdicts
  lookUpNode, // feature: look-up
  pagesNode, // feature: pages
  observeNode, // feature: observe
  placementNode, // feature: placement
  decisionsNode, // feature: decisions
  callersNode, // feature: callers
  previousShardsNode, // feature: previous-shards
  auditNode, // feature: audit
];

/** What one feature alone does for a command of src/cli. */
export const NODE_FUNCTIONS: {
  readonly tryQueue?: TryQueueCommand;
  readonly bulkChanges?: BulkChanges;
} = {
  bulkChanges, // feature: bulk
  tryQueue, // feature: queues
};
