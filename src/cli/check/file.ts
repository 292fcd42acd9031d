// Checks a whole wrangler.toml, parsed, before it is deployed: the top level and every environment, each as the platform
// would run it (environments do not inherit variables or bindings). Pure: it reads no file and prints nothing.

import { CHECKS } from "./of-features.ts";
import { LIST_VARIABLES, VARIABLES } from "../variables.ts";
import { variablesOf } from "../../kernel/config/read-tables.ts";
import { deploymentProblems, flagWarnings } from "./deployment.ts";
import { nameProblems, nameWarnings } from "./names.ts";
import { operatorNotes, originNotes, reachProblems, reachWarnings } from "./reach.ts";
import { secretProblems, secretWarnings } from "./secrets.ts";
import {
  problemsBelow,
  type ConfigProblem,
  ofEnvironment,
  type ConfigProblemCode,
  valueFix,
} from "../../kernel/config/config-problem.ts";
import { hasRules, lackingBindings, looselyInherited, notInherited, sharedByAll } from "./inherited.ts";
import type { BindingKind } from "../../kernel/config/in-force.ts";
import { readConfig } from "../../features/settings.ts";
import { formatDuration, HOUR_MS } from "../../kernel/config/units.ts";
import { nearestName } from "../../kernel/config/nearest-name.ts";
import { isTable, listOf, type SettingsTable } from "../../kernel/config/table.ts";
import { allRoutes, type Config, type Route } from "../../kernel/config/resolved.ts";
import { isCredential, scopePartName } from "../../kernel/config/scope-part.ts";

/** The platform's limit for one variable. */
export const MAX_VARIABLE_BYTES = 5_120;

/** What one environment would run; `name` is null for the top level. */
export interface CheckedEnvironment {
  readonly name: string | null;
  /** Null where there are problems. */
  readonly config: Config | null;
  readonly problems: readonly ConfigProblem[];
  /** What can be deployed but is probably a mistake. */
  readonly warnings: readonly ConfigProblem[];
  /** What is right as it is, and worth knowing before a deployment. */
  readonly notes: readonly ConfigProblem[];
}

type FileBinding = Exclude<BindingKind, "queue" | "secret">;

/** Where the file lists bindings of each kind, and the member that names one. */
const BINDING_LISTS: Readonly<Record<FileBinding, readonly (readonly [list: string, member: string])[]>> = {
  origin: [
    ["services", "binding"],
    ["mtls_certificates", "binding"],
    ["vpc_services", "binding"],
    ["vpc_networks", "binding"],
  ],
  limiter: [["ratelimits", "name"]],
};

/** One entry for the top level, then one for each `[env.NAME]` in the order of the file. */
export function checkWranglerConfig(parsedToml: unknown): readonly CheckedEnvironment[] {
  const top = tableOf(parsedToml);
  const environments = Object.entries(tableOf(top["env"])).map(([name, value]) =>
    checkEnvironment(name, tableOf(value), top),
  );
  return [checkEnvironment(null, top, top), ...environments];
}

function checkEnvironment(name: string | null, own: SettingsTable, top: SettingsTable): CheckedEnvironment {
  const prefix = name === null ? "" : `env.${name}.`;
  const vars = tableOf(own["vars"]);
  const problems: ConfigProblem[] = [];
  let config: Config | null = null;

  if (name !== null) problems.push(...notInherited(name, vars, tableOf(top["vars"])));
  // What else is wrong is found before an environment has its routes.
  const rules = name === null || hasRules(vars) ? {} : { ROUTES: [{ path: "/*" }] };
  const reading = readConfig(
    { ...vars, ...rules },
    { hasBinding: (binding, kind) => hasBinding(own, binding, kind), hasSecrets: false },
  );
  if (reading.ok) config = reading.config;
  else problems.push(...reading.problems.map(problemsBelow(prefix)));
  const names = nameProblems(own);
  const secrets = secretProblems(prefix, vars, config === null ? [] : secretsOf(config));
  problems.push(
    ...sizeProblems(prefix, vars),
    ...secrets,
    ...names.map(problemsBelow(prefix)),
    ...deploymentProblems(prefix, own, top),
    ...(config === null ? [] : reachProblems(config, own, top).map(problemsBelow(prefix))),
    ...(config === null ? [] : CHECKS.flatMap(({ fileProblems }) => fileProblems?.(prefix, own, config) ?? [])),
  );
  const found = withoutEchoes(problems, names.length > 0);
  const usable = problems.length === 0 ? config : null;
  const warnings =
    usable === null
      ? []
      : [
          ...configWarnings(usable),
          ...looselyInherited(usable, vars),
          ...sharedByAll(usable, vars),
          ...reachWarnings(usable, own, top),
          ...CHECKS.flatMap(({ fileWarnings }) => fileWarnings?.(usable, own, top) ?? []),
        ];
  const notes = usable === null ? [] : [...originNotes(usable), ...operatorNotes(usable)];
  const around = [...flagWarnings(own, top), ...nameWarnings(own), ...lackingBindings(name, own, top)];
  const named = ofEnvironment(name);
  return {
    name,
    config: usable,
    problems: found.map(named),
    warnings: [...[...warnings, ...around].map(problemsBelow(prefix)), ...secretWarnings(prefix, vars, secrets)].map(
      named,
    ),
    notes: notes.map(problemsBelow(prefix)).map(named),
  };
}

/** What a table under a wrong name seems to lack. */
const OF_MISNAMED: ReadonlySet<ConfigProblemCode | undefined> = new Set(["routes-missing", "origin-missing"] as const);

/**
 * Without what another problem explains: of a secret in the file its form, of a table that is not inherited its origin, and of a table under
 * a wrong name that it is missing.
 */
function withoutEchoes(problems: readonly ConfigProblem[], isMisnamed: boolean): readonly ConfigProblem[] {
  const explained = new Set(
    problems.flatMap(({ code, path }) => {
      if (code === "secret-in-file") return [path];
      return code === "environment-incomplete" ? [`${path}.origin`] : [];
    }),
  );
  return problems.filter(
    ({ code, path }) => (code === "secret-in-file" || !explained.has(path)) && !(isMisnamed && OF_MISNAMED.has(code)),
  );
}

/** The secrets that a configuration names. */
function secretsOf(config: Config): readonly string[] {
  return [
    ...config.operators.flatMap(({ secrets }) => secrets),
    ...CHECKS.flatMap(({ secrets }) => secrets?.(config) ?? []),
  ];
}

function sizeProblems(prefix: string, vars: SettingsTable): readonly ConfigProblem[] {
  const others = VARIABLES.filter(({ form }) => form !== "list").map(({ name }) => name);
  const lists = LIST_VARIABLES.flatMap(([begin]) => variablesOf(vars, begin));
  const names = ["IDEMPOTENCY", ...others, ...lists].filter((name) => vars[name] !== undefined);
  return names.flatMap((name) => {
    const value = vars[name];
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const bytes = new TextEncoder().encode(text).length;
    if (bytes <= MAX_VARIABLE_BYTES) return [];
    const message = `is ${bytes} bytes as JSON, more than the platform's ${MAX_VARIABLE_BYTES}: ${sizeAdvice(name, prefix)}`;
    return [{ path: prefix + name, code: "variable-too-large", message }];
  });
}

function sizeAdvice(name: string, prefix: string): string {
  switch (name) {
    case "IDEMPOTENCY":
      return "write what only some routes need in those routes";
    case "ACCESS":
      return "write *@example.com for the people of one domain";
    case "IDENTITIES":
      return "leave out the identities that no scope names";
    default: {
      const [begin = name, entries] = LIST_VARIABLES.find(([one]) => name.startsWith(one)) ?? [];
      return `write some of its ${entries} as [[${prefix}vars.${begin}_2]]`;
    }
  }
}

/** What can be deployed but is probably a mistake: the configuration applies as it is written. */
export function configWarnings(config: Config): readonly ConfigProblem[] {
  return [
    ...CHECKS.flatMap(({ warnings }) => warnings?.(config) ?? []),
    ...outsideJurisdiction(config),
    ...config.routes.flatMap(routeWarnings),
  ];
}

/** Whoever says where the records of a route lie, and not where the rest does, has probably not thought of the rest. */
function outsideJurisdiction(config: Config): readonly ConfigProblem[] {
  const { gateway } = config;
  const all = allRoutes(config);
  const inside = all.find(({ layouts }) => layouts.own.jurisdiction !== null);
  const jurisdiction = inside?.layouts.own.jurisdiction ?? null;
  if (gateway.jurisdiction !== null || inside === undefined || jurisdiction === null) return [];
  const message =
    `keeps the records there, and the audit log and the totals anywhere: write jurisdiction = "${jurisdiction}" in IDEMPOTENCY ` +
    "too, with previous_shards where a route then has another jurisdiction than before";
  return [{ path: `${inside.name}.jurisdiction`, message }];
}

function routeWarnings(route: Route): readonly ConfigProblem[] {
  return [
    ...misspeltMethods(route),
    ...sharedVerification(route),
    ...hastySearch(route),
    ...failingOpen(route),
    ...leavingOut(route),
    ...CHECKS.flatMap((check) => check.routeWarnings?.(route) ?? []),
  ];
}

const METHODS = ["POST", "PATCH", "PUT", "DELETE"];

/** A method that no client sends leaves its route without requests. */
function misspeltMethods({ name, methods }: Route): readonly ConfigProblem[] {
  return methods.flatMap((method, index) => {
    const nearest = METHODS.includes(method) ? null : nearestName(method, METHODS);
    if (nearest === null) return [];
    const message = `"${method}" is a method of your own; did you mean "${nearest}"?`;
    return [{ path: `${name}.methods[${index}]`, code: "setting-invalid" as const, message, fix: valueFix(nearest) }];
  });
}

/** Failing open breaks the promise of a route that repeats nothing whose outcome is unknown. Where both are written, it is a problem. */
function failingOpen({ name, rules, onStoreFailure }: Route): readonly ConfigProblem[] {
  const { unknown } = rules.policy;
  if (onStoreFailure !== "open" || unknown === "retry") return [];
  const message =
    'is "open", so a request whose record cannot be reached is forwarded unprotected and may take effect twice, ' +
    `although unknown = "${unknown}" (the default) repeats nothing whose outcome is unknown: write unknown = "retry" if that is meant, or "closed" here`;
  return [{ path: `${name}.on_store_failure`, code: "protection-weakened", message }];
}

/** Names that usually decide what an operation does. */
const DECISIVE = /(?:amount|price|total|sum|quantity|qty|currency|account|iban|recipient|payee|destination)s?$/i;

/** A change in what does not count is replayed: the client believes in an effect that never was. */
function leavingOut({ name, fingerprint: { selection, queryExcept } }: Route): readonly ConfigProblem[] {
  const pointers = selection?.kind === "except" ? selection.pointers : [];
  const decisive = pointers.filter((pointer) => DECISIVE.test(pointer)).map((one) => ({ one, member: "except" }));
  const inQuery = queryExcept.filter((one) => DECISIVE.test(one)).map((one) => ({ one, member: "query_except" }));
  return [...decisive, ...inQuery].map(({ one, member }) => ({
    path: `${name}.fingerprint.${member}`,
    code: "protection-weakened",
    message:
      `leaves out "${one}", which probably decides the effect: with the same key, another value there gets the first answer ` +
      "instead of 422: leave it out of this list, unless clients may change it between two tries",
  }));
}

/**
 * The origin is asked with the credential of the client whose attempt was lost. Where the scope does not name a credential,
 * clients with other credentials share the record: they get its answer, and depend on what that one credential may see.
 */
function sharedVerification({ name, rules, scope }: Route): readonly ConfigProblem[] {
  if (rules.policy.unknown !== "verify" || scope.some(isCredential)) return [];
  const named = scope.length === 0 ? "none" : scope.map(scopePartName).join(", ");
  const message =
    `(${named}) names no credential, so callers with different credentials share a record, and the origin is asked about ` +
    "a lost attempt with the credential of that attempt's client only: " +
    'add "header:authorization", unless every caller may see every operation';
  return [{ path: `${name}.scope`, code: "protection-weakened", message }];
}

function hasBinding(own: SettingsTable, name: string, kind: BindingKind): boolean {
  // Secrets are not in the file, and the checks of queues and of destinations look for queues.
  if (kind === "secret" || kind === "queue") return true;
  return BINDING_LISTS[kind].some(([list, member]) =>
    listOf(own[list]).some((entry) => tableOf(entry)[member] === name),
  );
}

function tableOf(value: unknown): SettingsTable {
  return isTable(value) ? value : {};
}

/** A search index follows its database late, and much later while the provider has trouble. */
function hastySearch({ name, verify }: Route): readonly ConfigProblem[] {
  if (verify?.state === undefined || !/search/i.test(verify.target)) return [];
  const { settleMs } = verify.state;
  if (settleMs >= HOUR_MS) return [];
  const message =
    `is ${formatDuration(settleMs)}, and the path is that of a search, whose index may lag longer: an operation that took effect and is not found yet would ` +
    'run a second time: write settle = "2h"';
  return [{ path: `${name}.verify.settle`, code: "protection-weakened", message }];
}
