// Identities in Node: the variable `IDENTITIES`.

import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { askEntries, identityEntries, identitySchema, jwtEntries } from "../settings/entries.ts";

export const identitiesVariable: NodeVariable = {
  name: "IDENTITIES",
  form: "table",
  entries: "identities",
  protects: false,
  definition: "identity",
  description: "How callers are known.",
  schema: identitySchema,
  needed: {},
  optional: identityEntries,
  tables: { jwt: jwtEntries, ask: askEntries },
  readme: new URL("../../../kernel/config/README.md", import.meta.url),
  table: "identities",
};

export const identitiesNode: NodeFeature = { name: "identities", variable: identitiesVariable };
