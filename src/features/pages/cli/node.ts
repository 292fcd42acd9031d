// Pages of other origins in Node: the members of `cors`.

import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { corsEntries } from "../settings/entries.ts";

export const pagesNode: NodeFeature = { name: "pages", tables: { cors: corsEntries } };
