// The places of keys in Node: what is probably a mistake where one is no longer read.

import type { Route } from "../../../kernel/config/resolved.ts";
import type { ForgettingProblem, NodeFeature, RunningRoute } from "../../../kernel/node-feature.ts";
import { keySourceNames } from "../../../kernel/config/key-source.ts";
import { keySourceEntries, keySourceTexts } from "../settings/feature.ts";

export const keySourcesNode: NodeFeature = {
  name: "key-sources",
  texts: [[keySourceEntries, keySourceTexts]],
  check: { forgetting: otherKeys },
};

/** Keys of a place that is no longer read. A warning, because its clients may have moved to another place. */
function otherKeys(route: Route, before: readonly RunningRoute[]): readonly ForgettingProblem[] {
  const read = new Set(keySourceNames(route));
  const left = new Set(before.flatMap(({ keyFrom }) => keyFrom.filter((name) => !read.has(name))));
  return [...left].map((name) => ({
    path: `${route.name}.key_from`,
    message: `no longer takes keys from ${name}, as the gateway that runs does: requests that were sent with such a key are not recognized when they come again`,
    isCertain: false,
  }));
}
