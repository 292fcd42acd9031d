// Checks the relations between settings, and between routes. Compares the settings that are in force after merging, and
// reports where each was written, because the setting to change is often not the one that was written last. Must skip every
// relation in which a setting is itself invalid.

import { MAX_KEY_LENGTH } from "../record/units.ts";
import type { NoResult, StatusRule } from "../record/verdict.ts";
import type { FeatureDraft, PlacedRules } from "../feature-settings.ts";
import { callerProblems } from "./caller-checks.ts";
import {
  type AnyInForce,
  type HasBinding,
  type InheritingTable,
  inheritedLayer,
  type InForce,
  type SettingsLayer,
  type SettingName,
  settingsInForce,
} from "./in-force.ts";
import { paramNames, type PathPattern } from "./path-pattern.ts";
import { originOrZone } from "./settings-origin.ts";
import { type ConfigProblem, valueFix } from "./config-problem.ts";
import type { DeclaredSettings, WrittenSettings } from "./settings.ts";
import { MAX_WAIT_MS } from "./settings-answer.ts";
import { lockFor, MAX_REMEMBER_MS, MAX_RETENTION_MS } from "./settings-attempt.ts";
import { KEY_FORMAT_DEFAULTS, longestKey, longestStep } from "./settings-key.ts";
import { placesOf, type StateRule } from "../verify/state-rule.ts";
import { strangeHost } from "../verify/verify-rule.ts";
import { unreachableRoutes } from "./unreachable-routes.ts";
import { DAY_MS, formatDuration, HOUR_MS } from "./units.ts";

/** A route: as much of it as could be read. */
export interface RouteDraft extends SettingsLayer, InheritingTable {
  readonly name: string;
  /** Whether an origin answers for its records; yes, if it does not say. */
  readonly hasResponses?: boolean;
  /** Null: the path has a problem. */
  readonly route: { readonly path: string; readonly patterns: readonly PathPattern[] } | null;
}

type TimeSetting = "lock" | "retention" | "remember" | "unknown_retention" | "wait";

/** Every broken relation. One in `IDEMPOTENCY` alone is reported once for each route, with the same text. */
export function crossCheck(
  defaults: SettingsLayer,
  routes: readonly RouteDraft[],
  features: readonly FeatureDraft[],
  hasBinding: HasBinding,
  declared: DeclaredSettings,
): readonly ConfigProblem[] {
  const problems = [...bindingProblems(defaults.settings, "IDEMPOTENCY", hasBinding)];
  const rules: PlacedRules[] = [];
  for (const route of routes) {
    const inForce = settingsInForce(inheritedLayer(defaults, route), route, declared);
    problems.push(
      ...bindingProblems(route.settings, route.name, hasBinding),
      ...timeProblems(inForce),
      ...statusProblems(inForce),
      ...keyFormatProblems(inForce, declared),
      ...verifyProblems(inForce, route.route),
      ...openProblems(inForce),
      ...callerProblems(inForce, hasBinding),
    );
    rules.push({ place: route.name, hasResponses: route.hasResponses ?? true, inForce });
  }
  return [
    ...problems,
    ...features.flatMap((feature) => feature.check?.(rules) ?? []),
    ...unreachableRoutes(defaults, routes, declared),
  ];
}

/** `request ─ timeout ─┤ lock ─┤ retention ─┤`; a duplicate's wait ends within the lock. */
function timeProblems({ all, source, isKnown, place }: InForce): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const report = (member: TimeSetting, other: SettingName, relation: string, advisedMs: number) => {
    const where = place(member, other);
    // The value to change may be written elsewhere or nowhere, so the message names it.
    const from = source(member) === null ? "the default" : `from ${source(member)}`;
    const inForce = all[member];
    const text = inForce === null ? "none" : formatDuration(inForce);
    const value = source(member) === where ? "" : `, but ${text} (${from}) is in force`;
    const message = `${relation}${value}: write ${member} = "${formatDuration(advisedMs)}"`;
    const others = source(other) === null ? [] : [{ path: `${source(other)}.${other}`, label: `the ${other}` }];
    problems.push({
      path: `${where}.${member}`,
      code: "settings-contradict",
      message,
      fix: { replace: "value", text: JSON.stringify(formatDuration(advisedMs)) },
      related: others,
    });
  };
  if (isKnown("lock", "timeout") && all.lock <= all.timeout) {
    report("lock", "timeout", `must exceed timeout (${formatDuration(all.timeout)})`, lockFor(all.timeout));
  }
  if (isKnown("retention", "lock") && all.retention <= all.lock) {
    const advisedMs = Math.min(Math.max(24 * HOUR_MS, 2 * all.lock), MAX_RETENTION_MS);
    report("retention", "lock", `must exceed lock (${formatDuration(all.lock)})`, advisedMs);
  }
  if (isKnown("remember", "retention") && all.remember !== null && all.remember <= all.retention) {
    const relation = `must exceed retention (${formatDuration(all.retention)})`;
    report("remember", "retention", relation, Math.min(Math.max(30 * DAY_MS, 2 * all.retention), MAX_REMEMBER_MS));
  }
  if (isKnown("unknown_retention", "retention") && all.unknown_retention < all.retention) {
    const relation = `must not be shorter than retention (${formatDuration(all.retention)})`;
    report("unknown_retention", "retention", relation, Math.max(365 * DAY_MS, all.retention));
  }
  const settleMs = isKnown("unknown", "verify") && all.unknown === "verify" ? all.verify?.state?.settleMs : undefined;
  if (settleMs !== undefined && isKnown("unknown_retention") && all.unknown_retention <= settleMs) {
    const relation = `must exceed the settle of verify (${formatDuration(settleMs)}), before which no answer of the API says that nothing happened`;
    report("unknown_retention", "verify", relation, Math.max(365 * DAY_MS, all.retention));
  }
  if (isKnown("wait", "lock", "duplicate") && all.duplicate !== "reject" && all.wait >= all.lock) {
    const advisedMs = Math.max(1, Math.min(Math.floor(all.lock / 2), MAX_WAIT_MS));
    report("wait", "lock", `must be below lock (${formatDuration(all.lock)})`, advisedMs);
  }
  return problems;
}

/** An entry cannot say both that the origin did not act and that it may have acted. A number beats a class, which is no contradiction. */
function statusProblems({ all, source, isKnown, place }: InForce): readonly ConfigProblem[] {
  if (!isKnown("refused", "ambiguous")) return [];
  const both = all.refused.filter((status) => all.ambiguous.includes(status));
  if (both.length === 0) return [];
  const where = place("refused", "ambiguous");
  const [written, other]: readonly [NoResult, NoResult] =
    source("refused") === where ? ["refused", "ambiguous"] : ["ambiguous", "refused"];
  const from = source(other) === null ? " by default" : source(other) === where ? "" : ` (from ${source(other)})`;
  const rest = all[other].filter((status) => !both.includes(status));
  const message =
    `${writtenStatuses(both)} ${both.length === 1 ? "is" : "are"} in ${other}${from} too: ` +
    `write ${other} = [${writtenStatuses(rest)}], or leave ${both.length === 1 ? "it" : "them"} out here`;
  return [{ path: `${where}.${written}`, code: "settings-contradict", message }];
}

function writtenStatuses(statuses: readonly StatusRule[]): string {
  return statuses.map((status) => JSON.stringify(status)).join(", ");
}

function keyFormatProblems(
  { all, isKnown, place }: AnyInForce,
  { stepSettings, stepsOf }: DeclaredSettings,
): readonly ConfigProblem[] {
  if (!isKnown("key_format", ...stepSettings)) return [];
  const steps = stepsOf(all);
  const step = longestStep(steps);
  const longest = longestKey(steps);
  const { min = KEY_FORMAT_DEFAULTS.min, max = longest } = all.key_format;
  if (step !== null && Math.max(min, max) > longest) {
    const member = max > longest ? "max" : "min";
    const who = all.forward_key.kind === "step" && all.forward_key.step === step ? "the origin" : "the next step";
    const message =
      `must not exceed ${longest}, because ${who} gets <key>:${step}, ` +
      `and a key has at most ${MAX_KEY_LENGTH} characters: write ${member} = ${longest} or less`;
    const path = `${place("key_format", ...stepSettings)}.key_format.${member}`;
    return [{ path, code: "settings-contradict", message }];
  }
  if (min <= max) return [];
  const message = `must not exceed max (${max}): write min = ${max} or less, or max = ${min} or more`;
  return [{ path: `${place("key_format")}.key_format.min`, code: "settings-contradict", message }];
}

/** Asking the origin needs an address, and an origin that has received the key if the address has it. `route`: `null` for a queue. */
function verifyProblems(
  { all, source, isKnown, place }: InForce,
  route: RouteDraft["route"],
): readonly ConfigProblem[] {
  if (!isKnown("unknown", "verify", "forward_key")) return [];
  if (all.unknown !== "verify") {
    // In `IDEMPOTENCY` it may be for other routes.
    if (all.verify === undefined || source("verify") === "IDEMPOTENCY") return [];
    const message = `has no effect with unknown = "${all.unknown}": leave one of the two out`;
    return [{ path: `${place("verify")}.verify`, code: "setting-unused", message }];
  }
  if (all.verify === undefined) {
    const message = 'is needed with unknown = "verify": write verify = "/v1/payments/by-key/{key}"';
    const related = [{ path: `${source("unknown") ?? place("unknown")}.unknown`, label: "needs it" }];
    return [{ path: `${place("unknown")}.verify`, code: "setting-missing", message, related }];
  }
  // A queue's messages may go to another host than its requests: see `queueProblems`.
  const strange = route !== null && isKnown("origin") ? strangeHost(all.verify, originOrZone(all)) : null;
  if (strange !== null) return [{ path: `${source("verify") ?? place("verify")}.verify`, message: strange }];
  const { state } = all.verify;
  const unnamed = state === undefined || route === null ? null : unknownParameter(state, route.path);
  if (unnamed !== null) {
    const path = `${source("verify") ?? place("verify")}.verify.path`;
    return [{ path, code: "settings-contradict", message: unnamed }];
  }
  const needsKey = state === undefined || placesOf(state).some(({ kind }) => kind === "key");
  if (!needsKey || all.forward_key.kind !== "none") return [];
  const message =
    'must not be "none" with unknown = "verify", because the origin would be asked for a key that it never received';
  const path = `${place("forward_key", "unknown", "verify")}.forward_key`;
  return [{ path, code: "settings-contradict", message: `${message}: write "client"`, fix: valueFix("client") }];
}

/** A parameter that the route's path does not have; `null`: none. */
function unknownParameter(state: StateRule, path: string): string | null {
  const names = paramNames(path).flatMap(({ name }) => name ?? []);
  for (const place of placesOf(state)) {
    if (place.kind !== "path" || names.includes(place.name)) continue;
    const advice = names.length === 0 ? 'write one into it, such as "/orders/:id"' : `write {path:${names[0]}}`;
    return `names {path:${place.name}}, which is no parameter of the route's path "${path}": ${advice}`;
  }
  return null;
}

/**
 * Failing open risks a second effect, which `hold` and `verify` exist to prevent. Whoever has written neither has only chosen to
 * fail open, and is warned (check-file.ts).
 */
function openProblems({ all, source, isKnown, place }: InForce): readonly ConfigProblem[] {
  if (!isKnown("unknown", "on_store_failure")) return [];
  const isChosen = source("unknown") !== null || all.unknown === "verify";
  if (all.on_store_failure !== "open" || all.unknown === "retry" || !isChosen) return [];
  const message = `must not be "open" with unknown = "${all.unknown}", because a request that is forwarded unprotected may take effect twice`;
  const path = `${place("on_store_failure", "unknown", "verify")}.on_store_failure`;
  return [{ path, code: "settings-contradict", message: `${message}: write "closed"` }];
}

function bindingProblems({ origin }: WrittenSettings, path: string, hasBinding: HasBinding): readonly ConfigProblem[] {
  if (origin?.kind !== "binding" || hasBinding(origin.binding, "origin")) return [];
  const message =
    `there is no service, mTLS certificate or VPC service binding "${origin.binding}": ` +
    `write [[services]] with binding = "${origin.binding}", or the name of one that exists`;
  return [{ path: `${path}.origin.binding`, code: "binding-missing", message }];
}
