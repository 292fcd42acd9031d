// GraphQL in Node: the text of its setting.

import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { graphqlEntries, graphqlTexts } from "../settings/feature.ts";

export const graphqlNode: NodeFeature = { name: "graphql", texts: [[graphqlEntries, graphqlTexts]] };
