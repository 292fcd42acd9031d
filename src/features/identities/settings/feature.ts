// The settings of identities (`IDENTITIES`), and their relations to the scopes that name them.

import type { Identity } from "../../../kernel/config/identity.ts";
import type { InForce } from "../../../kernel/config/in-force.ts";
import { nearestName } from "../../../kernel/config/nearest-name.ts";
import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import { identityNames } from "../../../kernel/config/scope-part.ts";
import { describeOrigin, originOrZone } from "../../../kernel/config/settings-origin.ts";
import { readJsonVariable } from "../../../kernel/config/table.ts";
import type { FeatureDraft, FeatureSettings, PlacedRules, SettingsInput } from "../../../kernel/feature-settings.ts";
import { readIdentities } from "./read-identities.ts";

export const identitiesSettings: FeatureSettings = { name: "identities", read };

function read({ env }: SettingsInput): FeatureDraft {
  const { identities, names, problems } = readIdentities(readJsonVariable(env["IDENTITIES"] ?? {}));
  return {
    problems,
    check: (rules) => [
      ...rules.flatMap(({ inForce }) => identityProblems(inForce, names)),
      ...rules.flatMap(({ inForce }) => unsignedQuestions(inForce, identities)),
      ...sharedIdentityProblems(rules, identities),
    ],
    resolveRoute: (route, { scope, previous_scope: previous }) => {
      const used = identityNames([scope, ...previous]);
      return { ...route, identities: identities.filter(({ name }) => used.includes(name)) };
    },
    resolve: () => ({ identities }),
  };
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
        const message = `names an identity that is not described, "${name}": write ${meant}[vars.IDENTITIES.${name}] with jwt, ask or signature`;
        return { path: `${place(setting)}.${setting}`, message };
      }),
  );
}

/** A signature is of one request: the question about an attempt would reach the origin without a credential of its caller. */
function unsignedQuestions(
  { all, isKnown, place }: InForce,
  identities: readonly Identity[],
): readonly ConfigProblem[] {
  if (!isKnown("scope", "unknown", "verify") || all.unknown !== "verify") return [];
  const names = identityNames([all.scope]);
  return identities
    .filter(({ name, proof }) => proof.kind === "signature" && names.includes(name))
    .map(({ name }) => {
      const message =
        `must not be "verify" where the scope has the identity "${name}": a caller's signature covers its own request, and not the question ` +
        'whether that took effect, which would reach the origin without a credential: write unknown = "hold"';
      return { path: `${place("unknown", "scope")}.unknown`, code: "settings-contradict", message };
    });
}

/** The identities that ask the origin, in routes with different origins: what is an id at one of them is another caller's at the other. */
function sharedIdentityProblems(
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
  return [{ place, path: `${place}.${setting}`, origin: describeOrigin(originOrZone(all)) }];
}
