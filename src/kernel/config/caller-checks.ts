// Checks the relations between the settings that say whose request it is: scopes, encrypted responses and limits of
// new keys. As in cross-checks.ts, a relation with an invalid setting is skipped.

import type { HasBinding, InForce } from "./in-force.ts";
import type { ConfigProblem } from "./resolved.ts";
import { type ScopePart, scopePartName } from "./scope-part.ts";

export function callerProblems(inForce: InForce, hasBinding: HasBinding): readonly ConfigProblem[] {
  return [...scopeProblems(inForce), ...encryptionProblems(inForce), ...newKeysProblems(inForce, hasBinding)];
}

function scopeProblems({ all, isKnown, place }: InForce): readonly ConfigProblem[] {
  if (!isKnown("scope", "previous_scope")) return [];
  const message = previousScopeProblem(all.scope, all.previous_scope);
  return message === null ? [] : [{ path: `${place("scope", "previous_scope")}.previous_scope`, message }];
}

/** What is wrong with a route's own `previous_scope`. */
function previousScopeProblem(scope: readonly ScopePart[], previous: readonly (readonly ScopePart[])[]): string | null {
  const names = [...previous, scope].map((parts) => parts.map(scopePartName).join(", "));
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice === -1) return null;
  const text = `[${(names[twice] ?? "") === "" ? '"none"' : names[twice]}]`;
  return twice === previous.length
    ? `lists ${text}, which is in force: leave it out`
    : `lists ${text} twice: write it once`;
}

/** What an encrypted record would have to keep in the open, or could not open. */
function encryptionProblems({ all, isKnown, place }: InForce): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (isKnown("encrypt_responses", "unknown") && all.encrypt_responses === true && all.unknown === "verify") {
    const message =
      'must not be "verify" with encrypt_responses = true, because the origin is asked without the caller, so the caller\'s ' +
      'headers would be stored in the open: write unknown = "hold"';
    problems.push({ path: `${place("encrypt_responses", "unknown")}.unknown`, code: "settings-contradict", message });
  }
  if (
    isKnown("encrypt_responses", "previous_scope") &&
    all.encrypt_responses !== false &&
    all.previous_scope.length > 0
  ) {
    const message =
      "must be empty with encrypt_responses, because a response opens only with the scope values with which it was encrypted: change " +
      'the scope after encrypt_responses = "past" has been in force for a retention, and write encrypt_responses = true after that';
    const path = `${place("encrypt_responses", "previous_scope")}.previous_scope`;
    problems.push({ path, code: "settings-contradict", message });
  }
  for (const member of ["label", "excerpt"] as const) {
    if (!isKnown("encrypt_responses", "note") || all.encrypt_responses !== true || all.note[member] === undefined)
      continue;
    const message =
      "would keep a part of the request in the open with encrypt_responses = true: remove it, or write encrypt_responses = false";
    problems.push({ path: `${place("encrypt_responses", "note")}.note.${member}`, message });
  }
  return problems;
}

/** A limit of new keys needs a binding that counts. */
function newKeysProblems({ all, isKnown, place }: InForce, hasBinding: HasBinding): readonly ConfigProblem[] {
  const { new_keys: binding } = all;
  if (!isKnown("new_keys") || binding === null || hasBinding(binding, "limiter")) return [];
  const path = `${place("new_keys")}.new_keys`;
  const write = `write [[ratelimits]] with name = "${binding}", namespace_id = "1001" and simple = { limit = 100, period = 60 }`;
  const message = `there is no rate limit binding "${binding}": ${write}, or the name of one that exists`;
  return [{ path, code: "binding-missing", message }];
}
