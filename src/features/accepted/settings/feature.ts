// The settings of accepted requests: what they add to a route, and their relations to other settings. As in cross-checks.ts, a relation with
// an invalid setting is skipped.

import type { InForce } from "../../../kernel/config/in-force.ts";
import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import { scopePartName } from "../../../kernel/config/scope-part.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import { formatDuration, HOUR_MS } from "../../../kernel/config/units.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";
import { type AsyncSettings, asyncSettings, scheduleEntries, scheduleOf } from "./accepted-entries.ts";

export const acceptedSettings: FeatureSettings<AsyncSettings> = {
  name: "accepted",
  routes: { after: "server_timing", entries: asyncSettings, tables: { give_up: scheduleEntries } },
  read: () => ({ check: (rules) => rules.flatMap(({ inForce }) => asyncProblems(inForce)), resolveRoute }),
};

function resolveRoute(route: Route, { async, give_up: giveUp }: FullSettings & AsyncSettings): Route {
  if (async === "never") return route;
  const policy = { ...route.rules.policy, schedule: scheduleOf(giveUp) };
  return { ...route, async, rules: { ...route.rules, policy } };
}

function asyncProblems(inForce: InForce<AsyncSettings>): readonly ConfigProblem[] {
  const { all, isKnown } = inForce;
  if (!isKnown("async")) return [];
  if (all.async === "never") return unusedGiveUp(inForce);
  return [...acceptanceProblems(inForce), ...scheduleProblems(inForce)];
}

/** In `IDEMPOTENCY` it may be for other routes. */
function unusedGiveUp({ all, source, isKnown }: InForce<AsyncSettings>): readonly ConfigProblem[] {
  const place = source("give_up");
  if (!isKnown("give_up") || place === null || place === "IDEMPOTENCY" || Object.keys(all.give_up).length === 0)
    return [];
  const message = 'has no effect with async = "never": write async = "prefer", or leave it out';
  return [{ path: `${place}.give_up`, code: "setting-unused", message }];
}

/** What an accepted request needs: a place where it may lie, and a record. */
function acceptanceProblems({ all, isKnown, place }: InForce<AsyncSettings>): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (isKnown("encrypt_responses") && all.encrypt_responses === true) {
    const message = `must not be "${all.async}" with encrypt_responses = true, because an accepted request is stored in the open until its result: write async = "never"`;
    problems.push({ path: `${place("async", "encrypt_responses")}.async`, code: "settings-contradict", message });
  }
  if (isKnown("on_store_failure") && all.on_store_failure === "open") {
    const message = `must not be "open" with async = "${all.async}", because a request that cannot be stored cannot be accepted: write "closed"`;
    problems.push({
      path: `${place("on_store_failure", "async")}.on_store_failure`,
      code: "settings-contradict",
      message,
    });
  }
  for (const member of ["scope", "previous_scope"] as const) {
    if (!isKnown(member)) continue;
    const [inBody] = [all[member]].flat(2).flatMap((part) => (part.kind === "json" ? [scopePartName(part)] : []));
    if (inBody === undefined) continue;
    const message = `must not have "${inBody}" with async = "${all.async}", because whoever asks what became of an accepted request sends no body: leave it out, or write async = "never"`;
    problems.push({ path: `${place(member, "async")}.${member}`, code: "settings-contradict", message });
  }
  return problems;
}

function scheduleProblems({ all, isKnown, place }: InForce<AsyncSettings>): readonly ConfigProblem[] {
  if (!isKnown("give_up")) return [];
  const problems: ConfigProblem[] = [];
  const { giveUpAfterMs, longestPauseMs } = scheduleOf(all.give_up);
  if (isKnown("lock") && giveUpAfterMs <= all.lock) {
    const message = `must exceed lock (${formatDuration(all.lock)}), because a lost attempt is followed by another one only when its lock has ended: write after = "${formatDuration(Math.max(24 * HOUR_MS, all.lock))}"`;
    problems.push({ path: `${place("give_up", "lock")}.give_up.after`, code: "settings-contradict", message });
  }
  if (isKnown("retention") && all.retention <= longestPauseMs) {
    const message = `must exceed the longest pause between two attempts (${formatDuration(longestPauseMs)}, from give_up.after), because a client that comes again after it, as its answer said, has to find the result: write retention = "24h"`;
    problems.push({ path: `${place("retention", "give_up")}.retention`, code: "settings-contradict", message });
  }
  return problems;
}
