// `verdicts` in Node: the texts of the setting, and what `check` says of rules that let a second attempt start.

import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import { allRoutes } from "../../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import type { BodyRule } from "../../../kernel/record/verdict.ts";
import { ruleEntries, ruleTexts, verdictEntries, verdictTexts } from "../settings/verdict-entries.ts";

export const verdictsNode: NodeFeature = {
  name: "verdicts",
  texts: [
    [verdictEntries, verdictTexts],
    [ruleEntries, ruleTexts],
  ],
  check: { routeWarnings },
  promises,
};

/** What each rule that calls an answer refused relies on. */
function promises(config: Config): readonly string[] {
  return allRoutes(config).flatMap(({ path, rules }) =>
    (rules.verdicts ?? [])
      .filter(({ is }) => is === "refused")
      .map(
        (rule) =>
          `${path}: an answer with ${ruleText(rule)} is refused, so the next try acts again: it must never come when a part is done (GraphQL: "data" beside "errors")`,
      ),
  );
}

function ruleText({ at, equals }: BodyRule): string {
  return equals === null ? `anything at ${at}` : `${equals.map((one) => JSON.stringify(one)).join(" or ")} at ${at}`;
}

/** `/errors` alone says that something has failed, and not that nothing was done. */
function routeWarnings({ name, rules }: Route): readonly ConfigProblem[] {
  return (rules.verdicts ?? []).flatMap(({ at, equals, is }, index) => {
    if (is !== "refused" || equals !== null || !/^\/errors(?:\/|$)/.test(at)) return [];
    return [
      {
        path: `${name}.verdicts[${index}]`,
        code: "protection-weakened",
        message: `calls every answer with ${at} refused, also one that did a part: name the errors that come before anything is done, { at = "/errors/0/extensions/code", equals = ["RATE_LIMITED"], is = "refused" }`,
      },
    ];
  });
}
