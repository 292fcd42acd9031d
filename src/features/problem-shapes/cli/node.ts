// Shapes of problems in Node: the variable `PROBLEMS`, and what `check` finds about it.

import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { isTable, readJsonVariable, type SettingsTable } from "../../../kernel/config/table.ts";
import type { Config, ConfigProblem } from "../../../kernel/config/resolved.ts";
import {
  optionalShapeEntries,
  problemsEntries,
  problemsTexts,
  shapeEntries,
  shapeSchema,
  shapeTexts,
} from "../settings/shape-entries.ts";

const problemsVariable: NodeVariable = {
  name: "PROBLEMS",
  form: "table",
  entries: "shapes",
  protects: false,
  definition: "problemShape",
  description: "A form of the gateway's own errors.",
  schema: shapeSchema,
  needed: { body: shapeEntries.body },
  optional: optionalShapeEntries,
  readme: new URL("../README.md", import.meta.url),
};

export const problemShapesNode: NodeFeature = {
  name: "problem-shapes",
  variable: problemsVariable,
  texts: [
    [problemsEntries, problemsTexts],
    [shapeEntries, shapeTexts],
  ],
  check: { fileWarnings: unusedShapes },
};

function unusedShapes({ routes }: Config, own: SettingsTable): readonly ConfigProblem[] {
  const vars = isTable(own["vars"]) ? own["vars"] : {};
  const variable = readJsonVariable(vars["PROBLEMS"] ?? {});
  const names = variable.ok && isTable(variable.value) ? Object.keys(variable.value) : [];
  return names
    .filter((name) => !routes.some(({ problemShape }) => problemShape?.name === name))
    .map((name) => ({
      path: `PROBLEMS.${name}`,
      code: "setting-unused",
      message: `is named by no route, so it has no effect: write problems = "${name}", or leave it out`,
    }));
}
