// What the setting `verdicts` adds to a route's rules.

import type { Route } from "../../../kernel/config/resolved.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";
import type { BodyRule } from "../../../kernel/record/verdict.ts";
import { ruleEntries, verdictEntries, type VerdictSettings } from "./verdict-entries.ts";

export const verdictsSettings: FeatureSettings<VerdictSettings> = {
  name: "verdicts",
  routes: { after: "ambiguous", entries: verdictEntries, tables: { verdicts: ruleEntries } },
  read: () => ({ resolveRoute }),
};

function resolveRoute(route: Route, { verdicts: written }: FullSettings & VerdictSettings): Route {
  if (written.length === 0) return route;
  const verdicts = written.map(({ at, equals = null, is, status = ["2xx"] }): BodyRule => ({
    at,
    equals,
    is,
    statuses: status,
  }));
  return { ...route, rules: { ...route.rules, verdicts, uncompressed: true } };
}
