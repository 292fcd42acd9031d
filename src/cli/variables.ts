// The variables of the gateway besides `IDEMPOTENCY` and `ROUTES`: those of the features, then those of operators.

import { NODE_FEATURES } from "../features/node.ts";
import {
  accessEntries,
  accessSchema,
  operatorApiEntries,
  operatorApiSchema,
  operatorSchema,
} from "../kernel/config/settings-operator.ts";
import type { NodeVariable, TextedSettings } from "../kernel/node-feature.ts";

const README = new URL("../operator/access/README.md", import.meta.url);
const OPERATOR_README = new URL("../operator/README.md", import.meta.url);

const { name, role, token, ...optional } = operatorSchema.entries;

export const operatorsVariable: NodeVariable = {
  name: "OPERATORS",
  form: "list",
  entries: "operators",
  protects: false,
  definition: "operator",
  description: "An operator with a token.",
  schema: operatorSchema,
  needed: { name, role, token },
  optional,
  readme: README,
  table: "operators",
};

export const operatorApiVariable: NodeVariable = {
  name: "OPERATOR_API",
  form: "single",
  entries: "settings",
  protects: false,
  definition: "operatorApi",
  description: "Where operators find the operator API and the console.",
  schema: operatorApiSchema,
  needed: {},
  optional: operatorApiEntries,
  readme: OPERATOR_README,
  table: "operator-api",
};

export const accessVariable: NodeVariable = {
  name: "ACCESS",
  form: "single",
  entries: "people",
  protects: false,
  definition: "access",
  description: "Operators whom Cloudflare Access proves.",
  schema: accessSchema,
  needed: {},
  optional: accessEntries,
  readme: README,
  table: "access",
};

export const VARIABLES: readonly NodeVariable[] = [
  ...NODE_FEATURES.flatMap(({ variable }) => variable ?? []),
  operatorApiVariable,
  operatorsVariable,
  accessVariable,
];

/** What the settings of the features say of themselves. */
export const FEATURE_TEXTS: readonly TextedSettings[] = NODE_FEATURES.flatMap(({ texts = [] }) => texts);

/** How the names of the variables begin that are lists, and what is in them. */
export const LIST_VARIABLES: readonly (readonly [begin: string, entries: string])[] = [
  ["ROUTES", "routes"],
  ...VARIABLES.filter(({ form }) => form === "list").map((one) => [one.name, one.entries] as const),
];
