// The setting of GraphQL endpoints, and what it adds to a route.

import { DIRECTIVE } from "../../../kernel/config/key-source.ts";
import { settingOf, type TextsOf, yesOrNo } from "../../../kernel/config/setting-kinds.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";

interface GraphqlSettings {
  readonly graphql: boolean;
}

export const graphqlEntries = {
  graphql: settingOf(yesOrNo(), false),
};

export const graphqlTexts: TextsOf<typeof graphqlEntries> = {
  graphql: {
    description:
      "Whether the route is a GraphQL endpoint: only mutations are protected, queries and subscriptions pass. The key of a mutation " +
      "may also be in its directive `@idempotent(key: …)`.",
    onChange: "applies at once",
  },
};

export const graphqlSettings: FeatureSettings<GraphqlSettings> = {
  name: "graphql",
  routes: { after: "key", entries: graphqlEntries, tables: {} },
  read: () => ({
    resolveRoute: (route, { graphql }) =>
      graphql ? { ...route, graphql, keyFrom: [...route.keyFrom, DIRECTIVE] } : route,
  }),
};
