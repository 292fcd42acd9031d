// The settings of claims: groups of consumers (`CONSUMERS`), and the path of the claims API.

import type { FeatureDraft, FeatureSettings, SettingsInput } from "../../../kernel/feature-settings.ts";
import { consumerProblems, readConsumerTokens } from "./checks.ts";
import { readConsumers, resolveConsumer } from "./read.ts";

export const claimsSettings: FeatureSettings = {
  name: "claims",
  read,
  secretProblems: ({ consumers }, env, taken) => readConsumerTokens(env, consumers, taken).problems,
};

function read({ env, hasBinding, gateway, operators, routeSettings }: SettingsInput): FeatureDraft {
  const { drafts, problems } = readConsumers(env, routeSettings);
  const path = gateway.consumer_path;
  return {
    problems,
    drafts,
    // Without groups it is a path as any other.
    ...(drafts.length === 0
      ? {}
      : { ownPath: { setting: "consumer_path", path, whom: "consumers", example: "/_claims" } }),
    check: () => consumerProblems(drafts, hasBinding, operators),
    resolve: (resolveRules) => ({
      consumers: drafts.map((draft) => resolveConsumer(draft, resolveRules)),
      consumerPath: drafts.length === 0 ? null : path,
    }),
  };
}
