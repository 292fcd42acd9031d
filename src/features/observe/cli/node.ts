// Routes on trial in Node: the texts of their settings, and what `check` says of them.

import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import type { AskGateway, NodeFeature } from "../../../kernel/node-feature.ts";
import { shareText } from "../operator/report-lines.ts";
import { reportSchema } from "../operator/report-schema.ts";
import { observeEntries, observeMemberTexts, trialEntries, trialTexts } from "../settings/entries.ts";
import { defineReport, type ShownReport } from "./report.ts";

export const observeNode: NodeFeature = {
  name: "observe",
  texts: [
    [trialEntries, trialTexts],
    [observeEntries, observeMemberTexts],
  ],
  commands: [{ name: "report", after: "tail", define: defineReport }],
  check: { against: breakingRequests },
  promises,
};

function promises({ routes }: Config): readonly string[] {
  return routes.flatMap(({ path, trial }) => {
    if (trial === null) return [];
    const share = shareText(trial.protectedShare);
    return trial.protectedShare === 0
      ? [`${path}: is only observed and protects nothing: npx onceway report says what it would do`]
      : [`${path}: protects ${share} of the keys, and observes the others: npx onceway report says what it would do`];
  });
}

/**
 * For `check --against`: a configuration that protects more keys of a route than the running gateway, which has observed it, and says what it would have
 * refused.
 */
export async function breakingRequests({ routes }: Config, ask: AskGateway): Promise<readonly ConfigProblem[]> {
  // An older gateway has no report.
  const report = await ask(reportSchema, "/report").catch(() => null);
  return report === null ? [] : routes.flatMap((route) => breakingOf(route, report));
}

/** The sentences are the running gateway's: by its settings, not by those that are checked. */
export function breakingOf({ name, path, trial }: Route, { routes }: ShownReport): readonly ConfigProblem[] {
  const running = routes.find(({ route }) => route === path);
  const share = trial?.protectedShare ?? 1;
  if (running === undefined || running.protectedShare === null || running.protectedShare >= share) return [];
  return running.lines
    .filter(({ kind }) => kind === "break")
    .map(({ count, text, setting }) => ({
      path: `${name}.mode`,
      code: "requests-refused",
      message: `protects more keys, and of the requests that were observed ${count ?? ""} ${text}${setting === null ? "" : ` (${setting})`}: npx onceway report shows them`,
    }));
}
