// Checks the relations between the settings that say whose request it is: scopes, sealed responses and limits of
// new keys. As in cross-checks.ts, a relation with an invalid setting is skipped.

import type { HasBinding, InForce } from "./in-force.ts";
import { previousScopeProblem } from "../previous-shards/layout-checks.ts";
import type { ConfigProblem } from "./resolved.ts";

export function callerProblems(inForce: InForce, hasBinding: HasBinding): readonly ConfigProblem[] {
  return [...scopeProblems(inForce), ...sealedProblems(inForce), ...newKeysProblems(inForce, hasBinding)];
}

function scopeProblems({ all, isKnown, place }: InForce): readonly ConfigProblem[] {
  if (!isKnown("scope", "previous_scope")) return [];
  const message = previousScopeProblem(all.scope, all.previous_scope);
  return message === null ? [] : [{ path: `${place("scope", "previous_scope")}.previous_scope`, message }];
}

/** What a sealed record would have to keep in the open, or could not open. */
function sealedProblems({ all, isKnown, place }: InForce): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (isKnown("sealed", "unknown") && all.sealed === true && all.unknown === "verify") {
    const message =
      'must not be "verify" with sealed = true, because the origin is asked without the caller, so the caller\'s ' +
      'headers would be stored in the open: write unknown = "hold"';
    problems.push({ path: `${place("sealed", "unknown")}.unknown`, code: "settings-contradict", message });
  }
  if (isKnown("sealed", "previous_scope") && all.sealed !== false && all.previous_scope.length > 0) {
    const message =
      "must be empty with sealed, because a response opens only with the scope values with which it was sealed: change " +
      'the scope after sealed = "past" has been in force for a retention, and write sealed = true after that';
    const path = `${place("sealed", "previous_scope")}.previous_scope`;
    problems.push({ path, code: "settings-contradict", message });
  }
  for (const setting of ["label", "excerpt"] as const) {
    if (!isKnown("sealed", setting) || all.sealed !== true || all[setting] === undefined) continue;
    const message =
      "would keep a part of the request in the open with sealed = true: remove it, or write sealed = false";
    problems.push({ path: `${place("sealed", setting)}.${setting}`, message });
  }
  return problems;
}

/** A limit of new keys needs a binding that counts. */
function newKeysProblems({ all, isKnown, place }: InForce, hasBinding: HasBinding): readonly ConfigProblem[] {
  if (!isKnown("new_keys") || Object.keys(all.new_keys).length === 0) return [];
  const path = `${place("new_keys")}.new_keys.binding`;
  const { binding } = all.new_keys;
  if (binding === undefined)
    return [{ path, code: "setting-missing", message: 'is missing: write { binding = "NEW_KEYS" }' }];
  if (hasBinding(binding, "limiter")) return [];
  const write = `write [[ratelimits]] with name = "${binding}", namespace_id = "1001" and simple = { limit = 100, period = 60 }`;
  const message = `there is no rate limit binding "${binding}": ${write}, or the name of one that exists`;
  return [{ path, code: "binding-missing", message }];
}
