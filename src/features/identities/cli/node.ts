// Identities in Node: the variable `IDENTITIES`, and what `check` finds about it.

import { describeIdentity, type IdentityRoots, identityRoots } from "../../../kernel/config/identity.ts";
import type { Route, Config, ConfigProblem } from "../../../kernel/config/resolved.ts";
import { identityNames } from "../../../kernel/config/scope-part.ts";
import type { NodeFeature, NodeVariable, ForgettingProblem, RunningRoute } from "../../../kernel/node-feature.ts";
import { issuersWithoutKeys } from "./key-set-look.ts";
import { tokenFaults } from "./token-faults.ts";
import {
  askEntries,
  askTexts,
  identityEntries,
  identitySchema,
  identityTexts,
  jwtEntries,
  jwtTexts,
} from "../settings/identity-entries.ts";
import { signatureEntries, signatureTexts } from "../settings/signature-entries.ts";

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
  tables: { jwt: jwtEntries, ask: askEntries, signature: signatureEntries },
  readme: new URL("../README.md", import.meta.url),
};

export const identitiesNode: NodeFeature = {
  name: "identities",
  variable: identitiesVariable,
  texts: [
    [identityEntries, identityTexts],
    [jwtEntries, jwtTexts],
    [askEntries, askTexts],
    [signatureEntries, signatureTexts],
  ],
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

// What `onceway check` finds about identities: those that nothing names, credentials that are compared although they change, and callers who
// get other names than the running gateway gives them. Pure.

export function unusedIdentities({ identities, routes }: Config): readonly ConfigProblem[] {
  return identities
    .filter((identity) => !routes.some((route) => route.identities.includes(identity)))
    .map(({ name }) => ({
      path: `IDENTITIES.${name}`,
      code: "setting-unused",
      message: `is named by no scope, so it has no effect: write scope = ["identity:${name}"], or leave it out`,
    }));
}

/** An identity is for callers whose credential changes, and a fingerprint with the credential would take their retry for another request. */
export function comparedCredential({ name, fingerprint, identities }: Route): readonly ConfigProblem[] {
  const headers = identities.flatMap(({ credential }) => credential.filter(({ kind }) => kind === "header"));
  return headers
    .filter((header) => fingerprint.headers.includes(header.name))
    .map((header) => ({
      path: `${name}.fingerprint.headers`,
      message: `names ${header.name}, so a retry with a refreshed credential gets 422: leave it out, because the identity tells callers apart`,
    }));
}

/** An identity that takes callers' names from elsewhere makes other records, although the scope reads the same. */
export function otherCallers(route: Route, before: readonly RunningRoute[]): readonly ForgettingProblem[] {
  return route.identities
    .filter((identity) =>
      before.some(({ identities }) => isRenaming(identities[identity.name] ?? {}, identityRoots(identity))),
    )
    .map(({ name }) => ({
      path: `IDENTITIES.${name}`,
      message: `gives callers other names than the identity "${name}" that is in force, so their keys are forgotten: leave it as it is, write the new one under another name, and previous_scope = [["identity:${name}"]] in ${route.name}`,
      isCertain: true,
    }));
}

/** A caller of an issuer that is no longer trusted is refused, which forgets nothing by itself. */
function isRenaming(before: IdentityRoots, after: IdentityRoots): boolean {
  const isOtherKind = Object.keys(before).length > 0 && Object.hasOwn(before, "") !== Object.hasOwn(after, "");
  return (
    isOtherKind || Object.entries(before).some(([root, text]) => Object.hasOwn(after, root) && after[root] !== text)
  );
}
