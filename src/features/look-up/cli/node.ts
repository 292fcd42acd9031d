// Look-ups in Node: the text of their setting.

import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { lookUpEntries, lookUpTexts } from "../settings/feature.ts";

export const lookUpNode: NodeFeature = { name: "look-up", texts: [[lookUpEntries, lookUpTexts]] };
