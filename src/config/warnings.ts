// What a configuration may say and mostly does not mean. It is in force all the same: a warning is told by the check, and
// refuses nothing.

import { type Config, type ConfigProblem, type Route, type ScopePart, scopePartName } from "./resolved.ts";

/** Each with its path, as of a problem. */
export function configWarnings({ routes }: Config): readonly ConfigProblem[] {
  return routes.flatMap(sharedVerification);
}

/**
 * The origin is asked with the credential that the lost attempt was claimed with. Where the scope does not name it, others with
 * other credentials share the record: they get its answer, and wait for what that one credential can find out.
 */
function sharedVerification({ name, unknown, scope }: Route): readonly ConfigProblem[] {
  if (unknown !== "verify" || scope.some(isCredential)) return [];
  const named = scope.length === 0 ? "none" : scope.map(scopePartName).join(", ");
  const message =
    `(${named}) names no credential, so callers with different ones share a record, and the origin is asked about a lost ` +
    'attempt with the credential of its own client alone: add "header:authorization", unless every caller may see every operation';
  return [{ path: `${name}.scope`, message }];
}

/** Words that stand in the names of headers that carry a credential. */
const CREDENTIAL = /(?:^|-)(?:auth[a-z]*|key|token|secret|session|credentials?|signature|jwt|assertion)(?:-|$)/;

function isCredential(part: ScopePart): boolean {
  switch (part.kind) {
    case "cookie":
      return true;
    case "header":
      return CREDENTIAL.test(part.name);
    case "ip":
    case "host":
      return false;
  }
}
