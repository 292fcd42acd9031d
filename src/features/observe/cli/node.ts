// Routes on trial in Node: the texts of their settings, and what `check` says of them.

import { formatDuration } from "../../../kernel/config/units.ts";
import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { observeEntries, observeMemberTexts, trialEntries, trialTexts } from "../settings/entries.ts";

export const observeNode: NodeFeature = {
  name: "observe",
  texts: [
    [trialEntries, trialTexts],
    [observeEntries, observeMemberTexts],
  ],
  check: { routeWarnings },
  promises,
};

function promises({ routes }: Config): readonly string[] {
  return routes.flatMap(({ path, trial }) => {
    if (trial === null) return [];
    const share = percent(trial.protectedShare);
    return trial.protectedShare === 0
      ? [`${path}: is only observed and protects nothing: npx onceway report says what it would do`]
      : [`${path}: protects ${share} of the keys, and observes the others: npx onceway report says what it would do`];
  });
}

export function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}

/** Observations are kept for as long as a key, at most two days. */
const MOST_OBSERVED_MS = 47 * 3_600_000;

function routeWarnings({ name, rules, trial }: Route): readonly ConfigProblem[] {
  if (trial === null) return [];
  const { retentionMs } = rules.policy;
  return trial.keylessMs <= retentionMs && trial.keylessMs <= MOST_OBSERVED_MS
    ? []
    : [
        {
          path: `${name}.observe.keyless`,
          message: `is longer than observations are kept: write keyless = "${formatDuration(Math.min(retentionMs, trial.keylessMs))}" or less`,
          code: "setting-unused",
        },
      ];
}
