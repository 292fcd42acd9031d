// Checks the relations between the settings that say whose request it is: scopes, identities, sealed responses and limits of
// new keys. As in cross-checks.ts, a relation with an invalid setting is skipped.

import type { PlacedRules } from "../feature-settings.ts";
import type { Identity } from "./identity.ts";
import type { HasBinding, InForce } from "./in-force.ts";
import { previousScopeProblem } from "../previous-shards/layout-checks.ts";
import { nearestName } from "./nearest-name.ts";
import type { ConfigProblem } from "./resolved.ts";
import { describeOrigin, originOf } from "./settings-origin.ts";
import { identityNames } from "./scope-part.ts";

export function callerProblems(
  inForce: InForce,
  identities: readonly string[],
  hasBinding: HasBinding,
): readonly ConfigProblem[] {
  return [
    ...scopeProblems(inForce),
    ...identityProblems(inForce, identities),
    ...sealedProblems(inForce),
    ...newKeysProblems(inForce, hasBinding),
  ];
}

function scopeProblems({ all, isKnown, place }: InForce): readonly ConfigProblem[] {
  if (!isKnown("scope", "previous_scope")) return [];
  const message = previousScopeProblem(all.scope, all.previous_scope);
  return message === null ? [] : [{ path: `${place("scope", "previous_scope")}.previous_scope`, message }];
}

/** Every identity that a scope names has to be described. */
function identityProblems({ all, isKnown, place }: InForce, known: readonly string[]): readonly ConfigProblem[] {
  const scopes = [
    ["scope", isKnown("scope") ? [all.scope] : []],
    ["previous_scope", isKnown("previous_scope") ? all.previous_scope : []],
  ] as const;
  return scopes.flatMap(([setting, parts]) =>
    identityNames(parts)
      .filter((name) => !known.includes(name))
      .map((name) => {
        const nearest = nearestName(name, known);
        const meant = nearest === null ? "" : `"identity:${nearest}", or `;
        const message = `names an identity that is not described, "${name}": write ${meant}[vars.IDENTITIES.${name}] with jwt or ask`;
        return { path: `${place(setting)}.${setting}`, message };
      }),
  );
}

/** The identities that ask the origin, in routes with different origins: what is an id at one of them is another caller's at the other. */
export function sharedIdentityProblems(
  routes: readonly PlacedRules[],
  identities: readonly Identity[],
): readonly ConfigProblem[] {
  const asking = identities.filter(({ proof }) => proof.kind === "ask");
  return asking.flatMap(({ name }) => {
    const [first, ...others] = routes.flatMap((route) => askedBy(route, name));
    return others.flatMap(({ path, origin }) => {
      if (first === undefined || origin === first.origin) return [];
      const message =
        `names the identity "${name}", which asks ${origin} here and ${first.origin} in ${first.place}, so that equal ids of both ` +
        `would be one caller: describe an identity for each, [vars.IDENTITIES.${name}_2], and write "identity:${name}_2" here`;
      return [{ path, code: "settings-contradict", message }];
    });
  });
}

/** Which origin a route asks by this identity. */
function askedBy(
  { place, inForce: { all, isKnown } }: PlacedRules,
  name: string,
): readonly { readonly place: string; readonly path: string; readonly origin: string }[] {
  if (!isKnown("scope", "previous_scope", "origin")) return [];
  const isCurrent = identityNames([all.scope]).includes(name);
  if (!isCurrent && !identityNames(all.previous_scope).includes(name)) return [];
  const setting = isCurrent ? "scope" : "previous_scope";
  return [{ place, path: `${place}.${setting}`, origin: describeOrigin(originOf(all)) }];
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
