// Claims in Node: the command `positions`, and the variable `CONSUMERS`.

import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { consumerEntries, CONSUMER_INHERITS, consumerSchema } from "../settings/entries.ts";
import { definePositions } from "./positions.ts";

const { name, token } = consumerSchema.entries;

export const consumersVariable: NodeVariable = {
  name: "CONSUMERS",
  form: "list",
  entries: "groups",
  protects: true,
  definition: "consumer",
  description: "A group of consumers, which claims records and makes the attempts itself.",
  schema: consumerSchema,
  needed: { name, token },
  optional: consumerEntries,
  inherits: CONSUMER_INHERITS,
  readme: new URL("../README.md", import.meta.url),
};

export const claimsNode: NodeFeature = {
  name: "claims",
  commands: [{ name: "positions", after: "forget", define: definePositions }],
  variable: consumersVariable,
  check: { secrets: ({ consumers }) => consumers.flatMap(({ tokens }) => tokens) },
};
