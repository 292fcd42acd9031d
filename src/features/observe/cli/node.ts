// Routes on trial in Node: the texts of their settings, and what `check` says of them.

import type { Config } from "../../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { shareText } from "../operator/report-texts.ts";
import { observeEntries, observeMemberTexts, trialEntries, trialTexts } from "../settings/entries.ts";
import { breakingRequests } from "./breaking.ts";
import { defineReport } from "./report.ts";

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
