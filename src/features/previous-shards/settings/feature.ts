// The settings of previous layouts: what they add to a route, and their relations.

import type { FeatureSettings } from "../../../kernel/feature-settings.ts";
import { layoutProblems } from "./checks.ts";
import { layoutsOf, previousShardsEntries, type PreviousShardsSettings } from "./entries.ts";

export const previousShardsSettings: FeatureSettings<PreviousShardsSettings> = {
  name: "previous-shards",
  routes: { after: "jurisdiction", entries: previousShardsEntries, tables: {} },
  read: () => ({
    check: layoutProblems,
    resolveRoute: (route, settings) => ({ ...route, layouts: layoutsOf(settings) }),
  }),
};
