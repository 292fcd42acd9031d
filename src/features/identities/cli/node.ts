// Identities in Node: the variable `IDENTITIES`, and what `check` finds about it.

import { describeIdentity } from "../../../kernel/config/identity.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import { identityNames } from "../../../kernel/config/scope-part.ts";
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
  promises: ({ routes }) => routes.flatMap((route) => identitiesOf(route).map((text) => `${route.path}: ${text}`)),
  credentialFaults: (headers, { identities }, nowMs) => tokenFaults(headers, identities, nowMs),
};

/** What tells the route's callers apart, where that is not the credential of the day. */
function identitiesOf({ scope, identities }: Route): readonly string[] {
  const used = identityNames([scope]);
  return identities
    .filter(({ name }) => used.includes(name))
    .map((identity) => {
      const others = identity.anonymous === "allow" ? "; callers without a credential share one scope" : "";
      return `a refreshed credential finds its records: ${describeIdentity(identity)}${others}`;
    });
}
