// Finds tables of a wrangler.toml that are the gateway's in all but their name or place: nothing reads them, and the gateway would
// run without them. wrangler says nothing about variables, and about other tables only that it does not know them.

import { VARIABLES } from "../variables.ts";
import type { ConfigProblem } from "../../kernel/config/config-problem.ts";
import { nearestName } from "../../kernel/config/nearest-name.ts";
import { isConfiguration } from "../../kernel/config/read.ts";
import { isTable, type SettingsTable } from "../../kernel/config/table.ts";

const NAMES = ["IDEMPOTENCY", "ROUTES", ...VARIABLES.map(({ name }) => name)];

/** What a gateway needs of wrangler's own. */
const WRANGLER = [
  "name",
  "main",
  "compatibility_date",
  "compatibility_flags",
  "vars",
  "env",
  "routes",
  "durable_objects",
  "migrations",
  "queues",
  "r2_buckets",
  "services",
  "ratelimits",
  "mtls_certificates",
  "observability",
];

/** Names of wrangler's that only look like others. */
const OTHERS: ReadonlySet<string> = new Set([
  "route",
  "rules",
  "exports",
  "define",
  "site",
  "assets",
  "dev",
  "minify",
  "vpc_services",
]);

export function nameProblems(own: SettingsTable): readonly ConfigProblem[] {
  const vars = isTable(own["vars"]) ? own["vars"] : {};
  return [
    ...Object.entries(own).flatMap(([name, value]) =>
      isOurs(name, value) ? [misplaced(name)] : otherVars(name, value).concat(otherEnvironments(name, value)),
    ),
    ...zoneRoutes(own["routes"]),
    ...Object.entries(vars).flatMap(([name, value]) => misspelt(name, value)),
  ];
}

function isOurs(name: string, value: unknown): boolean {
  return isConfiguration(name) && isStructure(value);
}

/** `[[var.ROUTES]]`. */
function otherVars(name: string, value: unknown): readonly ConfigProblem[] {
  const ours = name === "vars" || !isTable(value) ? undefined : Object.keys(value).find(isConfiguration);
  if (ours === undefined) return [];
  const message = `holds ${ours}, which is a variable; did you mean "vars"?`;
  return [{ path: name, code: "setting-misplaced", message, fix: { replace: "key", text: "vars" } }];
}

/** `[environments.staging.vars.IDEMPOTENCY]`. */
function otherEnvironments(name: string, value: unknown): readonly ConfigProblem[] {
  if (name === "env" || !isTable(value)) return [];
  const [environment] = Object.entries(value).flatMap(([one, table]) =>
    isTable(table) && isTable(table["vars"]) && Object.keys(table["vars"]).some(isConfiguration) ? [one] : [],
  );
  if (environment === undefined) return [];
  const message = `holds variables of "${environment}", and nothing reads them; did you mean "env"?`;
  return [{ path: name, code: "setting-misplaced", message, fix: { replace: "key", text: "env" } }];
}

function misplaced(name: string): ConfigProblem {
  const header = name.startsWith("ID") ? `[vars.${name}]` : `[[vars.${name}]]`;
  return {
    path: name,
    code: "setting-misplaced",
    message: `is a variable, and stands outside of [vars], where nothing reads it: write ${header}`,
  };
}

/** `[[routes]]` with `path`: wrangler's routes have patterns, and say which requests reach the Worker. */
function zoneRoutes(routes: unknown): readonly ConfigProblem[] {
  const index = Array.isArray(routes) ? routes.findIndex((route) => isTable(route) && "path" in route) : -1;
  if (index < 0) return [];
  const message =
    "is a setting of the gateway's routes, and this list is wrangler's, of the addresses that lead to the Worker: write [[vars.ROUTES]]";
  return [{ path: `routes[${index}].path`, code: "setting-misplaced", message }];
}

function misspelt(name: string, value: unknown): readonly ConfigProblem[] {
  if (isConfiguration(name) || !isStructure(value)) return [];
  const nearest = nearestName(name, NAMES);
  if (nearest === null) return [];
  const message = `is a variable that the gateway does not read; did you mean "${nearest}"?`;
  return [{ path: `vars.${name}`, code: "setting-unknown", message, fix: { replace: "key", text: nearest } }];
}

/** wrangler only warns of these too. */
export function nameWarnings(own: SettingsTable): readonly ConfigProblem[] {
  return Object.entries(own).flatMap(([name, value]) => {
    const isKnown = WRANGLER.includes(name) || OTHERS.has(name) || isConfiguration(name);
    const isReported = otherVars(name, value).length > 0 || otherEnvironments(name, value).length > 0;
    const nearest = isKnown || isReported ? null : nearestName(name, WRANGLER);
    if (nearest === null) return [];
    const message = `is unknown to wrangler, which ignores it; did you mean "${nearest}"?`;
    return [{ path: name, code: "setting-unknown" as const, message, fix: { replace: "key" as const, text: nearest } }];
  });
}

function isStructure(value: unknown): boolean {
  return isTable(value) || (Array.isArray(value) && value.some(isTable));
}
