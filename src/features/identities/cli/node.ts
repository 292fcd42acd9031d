// Identities in Node: the variable `IDENTITIES`, and what `check` finds about it.

import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { comparedCredential, otherCallers, unusedIdentities } from "./check.ts";
import { issuersWithoutKeys } from "./key-set-look.ts";
import { tokenFaults } from "./token-faults.ts";
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
  readme: new URL("../README.md", import.meta.url),
};

export const identitiesNode: NodeFeature = {
  name: "identities",
  variable: identitiesVariable,
  check: {
    warnings: unusedIdentities,
    routeWarnings: comparedCredential,
    forgetting: otherCallers,
    look: issuersWithoutKeys,
  },
  credentialFaults: (headers, { identities }, nowMs) => tokenFaults(headers, identities, nowMs),
};
