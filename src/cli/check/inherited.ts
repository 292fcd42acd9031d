// Checks what is inherited, and what is not: an environment of a wrangler.toml inherits neither variables nor bindings from the top level, and
// routes inherit every default of `[vars.IDEMPOTENCY]`, also one that was meant for other routes.

import type { ConfigProblem } from "../../kernel/config/config-problem.ts";
import { VARIABLES } from "../variables.ts";
import { variablesOf } from "../../kernel/config/read-tables.ts";
import { isOfRequest, type ScopePart } from "../../kernel/config/scope-part.ts";
import { routeVariables } from "../../kernel/config/read.ts";
import { isTable, listOf, readJsonVariable, type SettingsTable } from "../../kernel/config/table.ts";
import type { Config, Route } from "../../kernel/config/resolved.ts";

/** Variables that the top level has, and that the environment needs but does not inherit: all of them, so that nobody finds them one by one. */
export function notInherited(name: string, vars: SettingsTable, topVars: SettingsTable): readonly ConfigProblem[] {
  const why = "environments do not inherit variables";
  const problem = (variable: string, message: string): readonly ConfigProblem[] => [
    { path: `env.${name}.${variable}`, code: "environment-incomplete", message: `${why}, so this one ${message}` },
  ];
  const lacks = (variable: string): boolean => topVars[variable] !== undefined && vars[variable] === undefined;
  const isWithoutRules = !hasRules(vars);
  const namesOne = namesIdentities(isWithoutRules ? topVars : vars);
  return [
    ...(isWithoutRules
      ? problem("ROUTES", `has no routes: write [[env.${name}.vars.ROUTES]] with path = "/v1/payments"`)
      : []),
    ...(lacks("IDENTITIES") && namesOne
      ? problem(
          "IDENTITIES",
          `knows none of the identities that its scopes name: write [env.${name}.vars.IDENTITIES.NAME] for each`,
        )
      : []),
    ...(lacks("IDEMPOTENCY") ? problem("IDEMPOTENCY", withoutDefaults(name, topVars["IDEMPOTENCY"])) : []),
  ];
}

function withoutDefaults(name: string, top: unknown): string {
  const table = `[env.${name}.vars.IDEMPOTENCY]`;
  const { origin } = tableIn(top);
  if (origin === undefined) {
    return `runs on the built-in defaults: write ${table}, and leave it empty to keep the built-in defaults`;
  }
  return `has no API behind it, and runs on the built-in defaults: write ${table} with origin = "https://api.${name}.example.com"`;
}

/** Bindings that the gateway uses where there are any, and that the top level has. */
const OPTIONAL_BINDINGS = [
  ["r2_buckets", "BODIES", "responses above max_response_body are not kept"],
  ["analytics_engine_datasets", "METRICS", "no exchange is a data point"],
] as const;

export function lackingBindings(name: string | null, own: SettingsTable, top: SettingsTable): readonly ConfigProblem[] {
  return OPTIONAL_BINDINGS.filter(([list, binding]) => binds(top, list, binding) && !binds(own, list, binding)).map(
    ([list, binding, consequence]) => ({
      path: list,
      code: "environment-incomplete",
      message: `environments do not inherit bindings, so this one has no "${binding}" and ${consequence}: write [[env.${name}.${list}]] with binding = "${binding}"`,
    }),
  );
}

function namesIdentities(vars: SettingsTable): boolean {
  return JSON.stringify([vars["IDEMPOTENCY"], ...routeVariables(vars).map((name) => vars[name])]).includes("identity:");
}

/** Whether there is anything to protect. */
export function hasRules(vars: SettingsTable): boolean {
  const others = VARIABLES.filter(({ protects }) => protects);
  return routeVariables(vars).length > 0 || others.some(({ name }) => variablesOf(vars, name).length > 0);
}

function binds(table: SettingsTable, list: string, binding: string): boolean {
  const entries = table[list];
  return Array.isArray(entries) && entries.some((entry) => isTable(entry) && entry["binding"] === binding);
}

/** Paths on which money usually moves. */
const MONEY =
  /pay|charge|refund|transfer|order|checkout|invoice|purchase|deposit|withdraw|donat|subscri|billing|booking|top-?up/i;

/** Of webhooks, whose paths may name what they tell of. */
const NOTIFICATION = /hook|callback|notif|ipn\b|event/i;

/**
 * Nobody's keys, attempts that are repeated by guess and bodies that are not compared are right together for webhooks alone. Where a
 * route inherits one of the three, nobody has chosen that for it. Where money moves, nobody's keys or bodies that are not compared are enough.
 */
export function looselyInherited({ routes }: Config, vars: SettingsTable): readonly ConfigProblem[] {
  const defaults = tableIn(vars["IDEMPOTENCY"]);
  return routes.flatMap((route) => {
    const own = writtenRoute(vars, route.name);
    const found = looseSettings(route);
    const inherited = found.filter(({ setting }) => Object.hasOwn(defaults, setting) && !Object.hasOwn(own, setting));
    const isMoney = MONEY.test(route.path) && !NOTIFICATION.test(route.path);
    const isEnough = found.length === 3 || (isMoney && inherited.some(({ setting }) => setting !== "unknown"));
    if (inherited.length === 0 || !isEnough) return [];
    const message =
      `takes ${inherited.map(({ text }) => text).join(", ")} from [vars.IDEMPOTENCY], so ` +
      `${inherited.map(({ consequence }) => consequence).join(", and ")}: write these settings in the routes of webhooks, which they are for`;
    return [{ path: route.name, code: "protection-weakened" as const, message }];
  });
}

/** A scope that says only what a request is about, although nobody wrote that it is everybody's. */
export function sharedByAll({ routes }: Config, vars: SettingsTable): readonly ConfigProblem[] {
  const defaults = tableIn(vars["IDEMPOTENCY"]);
  return routes.flatMap(({ name, scope }) => {
    const written = listOf(writtenRoute(vars, name)["scope"] ?? defaults["scope"]);
    if (written.length === 0 || written.includes("none") || !scope.every(isShared)) return [];
    const message = `(${written.join(", ")}) tells no callers apart, so any caller's key gets any caller's answer: add "header:authorization", or "none" if that is meant`;
    return [{ path: `${name}.scope`, code: "protection-weakened" as const, message }];
  });
}

function isShared(part: ScopePart): boolean {
  return part.kind === "host" || isOfRequest(part);
}

interface LooseSetting {
  readonly setting: "scope" | "unknown" | "fingerprint";
  readonly text: string;
  readonly consequence: string;
}

function looseSettings({ scope, rules, fingerprint }: Route): readonly LooseSetting[] {
  return [
    ...(scope.every(isShared) ? [loose("scope", 'scope = ["none"]', "any caller's key gets any caller's answer")] : []),
    ...(rules.policy.unknown === "retry"
      ? [loose("unknown", 'unknown = "retry"', "a call whose outcome nobody knows is made again")]
      : []),
    ...(fingerprint.body === "none"
      ? [loose("fingerprint", 'body = "none"', "a key that is used again with another body gets the first answer")]
      : []),
  ];
}

function loose(setting: LooseSetting["setting"], text: string, consequence: string): LooseSetting {
  return { setting, text, consequence };
}

/** A variable that is a table, or JSON text of one. */
function tableIn(variable: unknown): SettingsTable {
  const read = readJsonVariable(variable);
  return read.ok && isTable(read.value) ? read.value : {};
}

/** The route as it is written, by its place: `ROUTES_2[1]`. */
function writtenRoute(vars: SettingsTable, name: string): SettingsTable {
  const [variable = "", index = ""] = name.slice(0, -1).split("[");
  const list = readJsonVariable(vars[variable]);
  const written = list.ok ? listOf(list.value)[Number(index)] : undefined;
  return isTable(written) ? written : {};
}
