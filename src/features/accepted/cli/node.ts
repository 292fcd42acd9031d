// Accepted requests in Node: monitors that nobody could read any more.

import type { Route } from "../../../kernel/config/resolved.ts";
import type { ForgettingProblem, NodeFeature, RunningRoute } from "../../../kernel/node-feature.ts";
import { asyncSettings, asyncTexts, scheduleEntries, scheduleTexts } from "../settings/accepted-entries.ts";

export const acceptedNode: NodeFeature = {
  name: "accepted",
  texts: [
    [asyncSettings, asyncTexts],
    [scheduleEntries, scheduleTexts],
  ],
  check: { forgetting: unmonitored },
};

/** What was accepted is still tried, and acts once; its client has no way to its outcome but a retry. */
function unmonitored(route: Route, running: readonly RunningRoute[]): readonly ForgettingProblem[] {
  const before = running.find(({ async: accepts }) => accepts !== "never");
  if (route.async !== "never" || before === undefined) return [];
  return [
    {
      path: `${route.name}.async`,
      message: `is "never", while async = "${before.async}" is in force: requests that were accepted are still tried, but nobody can read their monitors or cancel them. Leave it until none of them waits`,
      isCertain: false,
    },
  ];
}
