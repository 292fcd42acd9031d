// The settings of routes on trial: what they add to a route, and their relations. As in cross-checks.ts, a relation with an invalid setting is
// skipped.

import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import type { InForce } from "../../../kernel/config/in-force.ts";
import { singleHeaders } from "../../../kernel/config/key-source.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import type { FeatureSettings, PlacedRules } from "../../../kernel/feature-settings.ts";
import { observeEntries, trialEntries, trialOf, type TrialSettings } from "./entries.ts";

export const observeSettings: FeatureSettings<TrialSettings> = {
  name: "observe",
  routes: { after: "key", entries: trialEntries, tables: { observe: observeEntries } },
  read: () => ({ check: (rules) => rules.flatMap(trialProblems), resolveRoute }),
};

/**
 * An observed route leaves answers to pages, and preflights, to the origin, as if it were not there. As long as some keys of a route are not protected,
 * nobody can give one up.
 */
function resolveRoute(route: Route, settings: FullSettings & TrialSettings): Route {
  const trial = trialOf(settings);
  return trial === null
    ? route
    : { ...route, trial, lookUp: false, cors: trial.protectedShare === 0 ? null : route.cors };
}

type Contradiction = readonly [setting: string, isSet: boolean, why: string];

function trialProblems({ inForce, hasResponses, place: name }: PlacedRules<TrialSettings>): readonly ConfigProblem[] {
  if (!inForce.isKnown("mode", "enforce", "observe")) return [];
  const { all, place, source } = inForce;
  if (all.mode === "enforce") return unusedShare(inForce);
  const where = `${place("mode")}.mode`;
  if (!hasResponses || !name.startsWith("ROUTES")) {
    const message = 'must be "enforce" here, because no request passes by itself: write mode = "observe" in a route';
    // In `IDEMPOTENCY` it is for the routes.
    return source("mode") === "IDEMPOTENCY" ? [] : [{ path: where, code: "settings-contradict", message }];
  }
  return contradictions(all, inForce).map(([setting, , why]) => ({
    path: where,
    code: "settings-contradict",
    message: `must not be "observe" with ${setting}, because ${why}: leave out ${setting.split(" ")[0]} while the route is observed`,
  }));
}

/** What an observed route could not show, or would do to requests. Other features' settings are known by name alone. */
function contradictions(all: object, { isKnown }: InForce<TrialSettings>): readonly Contradiction[] {
  const of = (name: string): unknown => Reflect.get(all, name);
  const trial = Reflect.get(all, "enforce") === undefined ? "observed" : "partial";
  const found: readonly Contradiction[] = [
    ["async", (of("async") ?? "never") !== "never", "only the gateway can answer before there is a result"],
    ["publish", isSome(of("publish")), "a result that is not kept has no events"],
    ["new_keys", of("new_keys") !== null, "nothing may be refused, so nothing is limited"],
    ["graphql = true", of("graphql") === true, "only the body says which requests are mutations"],
    ["jsonrpc", (of("jsonrpc") ?? false) !== false, "only the body says which requests are calls that act"],
    ["encrypt_responses = true", of("encrypt_responses") === true, "digests of responses are kept in the open"],
    ['shards = "per-key"', of("shards") === "per-key", "nobody can list the objects that know what was observed"],
    ...(trial === "observed"
      ? []
      : ([
          ["cors", isSome(of("cors")), "a preflight has no key, and who answers it depends on the key"],
          [
            "key_from other than headers",
            !hasHeaderKeys(of("key_from")),
            "enforce takes a share of the keys before the body is read",
          ],
        ] as const)),
  ];
  return found.filter(([setting, isSet]) => isSet && isKnown(...known(setting)));
}

function isSome(value: unknown): boolean {
  return value !== undefined && value !== null && Object.keys(value).length > 0;
}

/** The setting's name, if it is one that the kernel knows to be faulty or not. */
function known(setting: string): readonly "shards"[] {
  return setting.startsWith("shards") ? ["shards"] : [];
}

/** As `key_from` is parsed; without the feature of other places, all keys are in headers. */
function hasHeaderKeys(sources: unknown): boolean {
  return !Array.isArray(sources) || singleHeaders(sources) !== null;
}

/** Whoever writes it may believe that the other keys are not protected. In `IDEMPOTENCY` it may be for other routes. */
function unusedShare({ all, source }: InForce<TrialSettings>): readonly ConfigProblem[] {
  const place = source("enforce");
  if (all.enforce === undefined || place === null || place === "IDEMPOTENCY") return [];
  const message = 'has no effect with mode = "enforce": write mode = "observe", or leave it out';
  return [{ path: `${place}.enforce`, code: "setting-unused", message }];
}
