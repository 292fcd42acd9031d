// Accepted requests in Node: the members of `give_up`.

import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { driveEntries } from "../settings/entries.ts";

export const acceptedNode: NodeFeature = { name: "accepted", tables: { give_up: driveEntries } };
