// The settings of queues: those whose messages are processed (`QUEUES`).

import type { FeatureDraft, FeatureSettings, SettingsInput } from "../../../kernel/feature-settings.ts";
import { queueProblems } from "./checks.ts";
import { readQueues, resolveQueue } from "./read.ts";

export const queuesSettings: FeatureSettings = { name: "queues", read };

function read({ env, hasBinding, defaults, routeSettings }: SettingsInput): FeatureDraft {
  const { drafts, problems } = readQueues(env, routeSettings);
  return {
    problems,
    drafts,
    check: (rules) =>
      // Without known defaults, no relation that involves one is checked.
      defaults.faulty.size > 0
        ? []
        : drafts.flatMap((draft) =>
            rules
              .filter(({ place }) => place === draft.name)
              .flatMap(({ inForce }) => queueProblems(draft, inForce.all, hasBinding)),
          ),
    resolve: (resolveRules) => ({ queues: drafts.map((draft) => resolveQueue(draft, resolveRules)) }),
  };
}
