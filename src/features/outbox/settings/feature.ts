// The settings of the outbox: where events go (`DESTINATIONS`), and which events a route's results have (`publish`).

import type { Route } from "../../../kernel/config/resolved.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import type { FeatureDraft, FeatureSettings, SettingsInput } from "../../../kernel/feature-settings.ts";
import { publishProblems } from "./outbox-checks.ts";
import { PUBLICATION_DEFAULTS, publicationEntries, type PublishSettings, publishSettings } from "./outbox-entries.ts";
import { readDestinations } from "./read-destinations.ts";

export const outboxSettings: FeatureSettings<PublishSettings> = {
  name: "outbox",
  routes: {
    after: "server_timing",
    entries: publishSettings,
    tables: { publish: publicationEntries },
    steps: ({ publish }) => publish.flatMap(({ step }) => step ?? []),
  },
  read,
};

function read({ env, hasBinding, routeSettings }: SettingsInput): FeatureDraft<PublishSettings> {
  const { destinations, names, problems } = readDestinations(env, hasBinding, routeSettings);
  return {
    problems,
    check: (rules) => rules.flatMap((one) => publishProblems(one, names)),
    resolveRoute,
    resolve: () => ({ destinations }),
  };
}

function resolveRoute(route: Route, { publish }: FullSettings & PublishSettings): Route {
  if (publish.length === 0) return route;
  const publications = publish.map((one) => ({ ...PUBLICATION_DEFAULTS, ...one }));
  return { ...route, rules: { ...route.rules, policy: { ...route.rules.policy, publish: publications } } };
}
