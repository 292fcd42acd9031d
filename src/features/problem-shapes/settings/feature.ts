// The setting of a route's shape and the variable `PROBLEMS`: what they add to a route, and their relations to other settings.

import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import type { InForce } from "../../../kernel/config/in-force.ts";
import { nearestName } from "../../../kernel/config/nearest-name.ts";
import type { ProblemShape } from "../../../kernel/config/problem-shape.ts";
import type { Route } from "../../../kernel/config/resolved.ts";
import { readJsonVariable } from "../../../kernel/config/table.ts";
import type { FeatureDraft, FeatureSettings, SettingsInput } from "../../../kernel/feature-settings.ts";
import { BUILT_IN_SHAPES, builtInShape } from "../built-in-shapes.ts";
import { readShapes } from "./read-shapes.ts";
import { PLAIN, problemsEntries } from "./shape-entries.ts";

interface ShapeSettings {
  readonly problems: string;
}

export const problemShapesSettings: FeatureSettings<ShapeSettings> = {
  name: "problem-shapes",
  routes: { after: "key_reused_status", entries: problemsEntries, tables: {} },
  read,
};

function read({ env }: SettingsInput): FeatureDraft<ShapeSettings> {
  const { shapes, names, problems } = readShapes(readJsonVariable(env["PROBLEMS"] ?? {}));
  const find = (name: string): ProblemShape | null =>
    builtInShape(name) ?? shapes.find((one) => one.name === name) ?? null;
  return {
    problems,
    check: (rules) => rules.flatMap(({ inForce }) => shapeProblems(inForce, names, find)),
    resolveRoute: (route, settings) => withShape(route, find(settings.problems)),
  };
}

function withShape(route: Route, shape: ProblemShape | null): Route {
  if (shape === null) return route;
  const keyReusedStatus = statusOf(shape) ?? route.rules.keyReusedStatus;
  return { ...route, problemShape: shape, rules: { ...route.rules, keyReusedStatus } };
}

/** The shape's own status for a key that was used before; `null`: it has none. */
function statusOf({ words }: ProblemShape): number | null {
  const status = words["key-reused"]?.["status"] ?? words["default"]?.["status"];
  return typeof status === "number" ? status : null;
}

function shapeProblems(
  { all, source, isKnown, place }: InForce<ShapeSettings>,
  written: readonly string[],
  find: (name: string) => ProblemShape | null,
): readonly ConfigProblem[] {
  if (!isKnown("problems")) return [];
  const { problems: name } = all;
  const shape = find(name);
  if (shape === null && name !== PLAIN && !written.includes(name)) {
    const nearest = nearestName(name, [PLAIN, ...BUILT_IN_SHAPES, ...written]);
    const meant = nearest === null ? `"acp"` : `"${nearest}"`;
    const message = `names a shape that is not there, "${name}": write ${meant}, or [vars.PROBLEMS.NAME] with body = { error = "{code}" } for one of your own`;
    return [{ path: `${place("problems")}.problems`, message }];
  }
  const status = shape === null ? null : statusOf(shape);
  const of = source("key_reused_status");
  // In `IDEMPOTENCY` it may be for other routes.
  if (status === null || of === null || of === "IDEMPOTENCY" || !isKnown("key_reused_status")) return [];
  if (status === all.key_reused_status) return [];
  const message = `has no effect, because problems = "${name}" answers with ${status}: leave it out, or write a shape of your own in [vars.PROBLEMS]`;
  return [{ path: `${of}.key_reused_status`, code: "setting-unused", message }];
}
