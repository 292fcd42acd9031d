// `verdicts` in Node: the texts of the setting, and what `check` says of rules that let a second attempt start.

import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import { allRoutes } from "../../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { matchesStatus } from "../../../kernel/record/outbox.ts";
import { type BodyRule, judgeAttempt } from "../../../kernel/record/verdict.ts";
import { ruleEntries, ruleTexts, verdictEntries, verdictTexts } from "../settings/feature.ts";

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

function routeWarnings(route: Route): readonly ConfigProblem[] {
  return [...partialSuccesses(route), ...undecidingRules(route)];
}

/** Rules that no answer reaches: a refusal before them has already let the next try act, or their status has decided. */
function undecidingRules({ name, rules: { verdicts = [], lists } }: Route): readonly ConfigProblem[] {
  return verdicts.flatMap((rule, index) => {
    const path = `${name}.verdicts[${index}]`;
    const isReached = rule.statuses.some((status) =>
      typeof status === "number"
        ? judgeAttempt({ kind: "answered", status }, lists) === "result"
        : !lists.refused.includes(status) && !lists.ambiguous.includes(status),
    );
    if (!isReached) {
      const message = `has no effect, because ${rule.statuses.join(", ")} decides alone, in refused or ambiguous: take it out there, or leave this entry out`;
      return [{ path, code: "setting-unused", message } as const];
    }
    const earlier = verdicts.slice(0, index).findIndex((one) => decidesFor(one, rule));
    if (earlier === -1) return [];
    const message = `has no effect, because verdicts[${earlier}] decides first for ${rule.at}: write this entry above that one`;
    return [{ path, code: "setting-unused", message } as const];
  });
}

/** Whether the first rule holds wherever the second one does. */
function decidesFor(first: BodyRule, { at, equals, statuses }: BodyRule): boolean {
  const { equals: wide } = first;
  const isWider = wide === null || (equals !== null && equals.every((one) => wide.includes(one)));
  return first.at === at && isWider && statuses.every((status) => matchesRule(first.statuses, status));
}

function matchesRule(rules: BodyRule["statuses"], status: BodyRule["statuses"][number]): boolean {
  return typeof status === "number" ? matchesStatus(status, rules) : rules.includes(status);
}

/** `/errors` alone says that something has failed, and not that nothing was done. */
function partialSuccesses({ name, rules }: Route): readonly ConfigProblem[] {
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
