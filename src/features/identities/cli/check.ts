// What `onceway check` finds about identities: those that nothing names, and credentials that are compared although they change. Pure.

import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";

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
