// Checks what is inherited, and what is not: an environment of a wrangler.toml inherits neither variables nor bindings from the top level, and
// routes inherit every default of `[vars.IDEMPOTENCY]`, also one that was meant for other routes.

import type { ConfigProblem } from "./config-problem.ts";
import { routeVariables } from "./read.ts";
import { consumerVariables } from "./read-consumers.ts";
import { queueVariables } from "./read-queues.ts";
import { isTable, listOf, readJson, type Table } from "./read-settings.ts";
import type { Config } from "./resolved.ts";

/** Variables that the top level has, and that the environment needs but does not inherit. */
export function notInherited(name: string, vars: Table, topVars: Table): readonly ConfigProblem[] {
  const why = "environments do not inherit variables";
  if (!hasRules(vars)) {
    const message = `${why}, so this one has no routes: write [[env.${name}.vars.ROUTES]] with path = "/v1/payments"`;
    return [{ path: `env.${name}.ROUTES`, code: "environment-incomplete", message }];
  }
  if (topVars["IDENTITIES"] !== undefined && vars["IDENTITIES"] === undefined && namesIdentities(vars)) {
    const message = `${why}, so this one knows none of the identities that its scopes name: write [env.${name}.vars.IDENTITIES.NAME] for each`;
    return [{ path: `env.${name}.IDENTITIES`, code: "environment-incomplete", message }];
  }
  if (topVars["IDEMPOTENCY"] === undefined || vars["IDEMPOTENCY"] !== undefined) return [];
  const message =
    `${why}, so this one runs on the built-in defaults: write [env.${name}.vars.IDEMPOTENCY], ` +
    "and leave it empty to keep the built-in defaults";
  return [{ path: `env.${name}.IDEMPOTENCY`, code: "environment-incomplete", message }];
}

/** Bindings that the gateway uses where there are any, and that the top level has. */
const OPTIONAL_BINDINGS = [
  ["r2_buckets", "BODIES", "responses above max_response_body are not kept"],
  ["analytics_engine_datasets", "METRICS", "no exchange is a data point"],
] as const;

export function lackingBindings(name: string | null, own: Table, top: Table): readonly ConfigProblem[] {
  if (name === null) return [];
  return OPTIONAL_BINDINGS.filter(([list, binding]) => binds(top, list, binding) && !binds(own, list, binding)).map(
    ([list, binding, consequence]) => ({
      path: list,
      code: "environment-incomplete",
      message: `environments do not inherit bindings, so this one has no "${binding}" and ${consequence}: write [[env.${name}.${list}]] with binding = "${binding}"`,
    }),
  );
}

function namesIdentities(vars: Table): boolean {
  return JSON.stringify([vars["IDEMPOTENCY"], ...routeVariables(vars).map((name) => vars[name])]).includes("identity:");
}

/** Whether there is anything to protect. */
export function hasRules(vars: Table): boolean {
  return [routeVariables(vars), queueVariables(vars), consumerVariables(vars)].some((names) => names.length > 0);
}

function binds(table: Table, list: string, binding: string): boolean {
  const entries = table[list];
  return Array.isArray(entries) && entries.some((entry) => isTable(entry) && entry["binding"] === binding);
}

/**
 * Nobody's keys, attempts that are repeated by guess and bodies that are not compared are right together for webhooks alone. Where a
 * route inherits one of the three, nobody has chosen that for it.
 */
export function looselyInherited({ routes }: Config, vars: Table): readonly ConfigProblem[] {
  const read = readJson(vars["IDEMPOTENCY"] ?? {});
  const defaults = read.ok && isTable(read.value) ? read.value : {};
  return routes
    .filter(({ scope, rules, fingerprint }) => {
      const isShared = scope.every(({ kind }) => kind === "host");
      return isShared && rules.policy.unknown === "retry" && fingerprint.body === "none";
    })
    .flatMap(({ name }) => {
      const own = writtenRoute(vars, name);
      const inherited = ["scope", "unknown", "fingerprint"].filter(
        (setting) => Object.hasOwn(defaults, setting) && !Object.hasOwn(own, setting),
      );
      if (inherited.length === 0) return [];
      const message =
        `takes ${inherited.join(", ")} from [vars.IDEMPOTENCY], and with scope = ["none"], unknown = "retry" and fingerprint.body = "none" ` +
        "together any caller's key gets any caller's answer, whatever the body, and a lost attempt is repeated by guess: that is for webhooks " +
        "alone, so write these settings in their routes";
      return [{ path: name, code: "protection-weakened" as const, message }];
    });
}

/** The route as it is written, by its place: `ROUTES_2[1]`. */
function writtenRoute(vars: Table, name: string): Table {
  const [variable = "", index = ""] = name.slice(0, -1).split("[");
  const list = readJson(vars[variable]);
  const written = list.ok ? listOf(list.value)[Number(index)] : undefined;
  return isTable(written) ? written : {};
}
