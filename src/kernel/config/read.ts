// Reads the configuration from the Worker's variables: either a complete `Config`, or every problem at once. Decides what
// a variable may hold and in which order variables count. Pure: it must never log, throw or touch a binding.

import * as v from "valibot";

import type { FeatureDraft, FeatureSettings, OwnPath } from "../feature-settings.ts";
import { crossCheck, type RouteDraft } from "./cross-checks.ts";
import type { HasBinding } from "./in-force.ts";
import type { OperatorAccess } from "./operators.ts";
import { readOperating } from "./read-operators.ts";
import { readSettings, type SettingsReading } from "./read-settings.ts";
import { isTable, problemOfIssue, readJsonVariable } from "./table.ts";
import { missingSecret, readEncryptionSecrets } from "../encryption/encryption-secrets.ts";
import { resolveConfig, type WrittenRoute } from "./resolve.ts";
import type { ConfigProblem } from "./config-problem.ts";
import type { Config } from "./resolved.ts";
import { type DeclaredSettings, pathSchema } from "./settings.ts";
import { OPERATOR_API_DEFAULTS } from "./settings-operator.ts";
import { GATEWAY_DEFAULTS, gatewayEntries, gatewaySchema, type GatewaySettings } from "./settings-gateway.ts";
import { type ParsedSetting, refuseValue } from "./units.ts";

/** A configuration that can be used, or everything that is wrong with it. */
export type ConfigReading =
  | {
      readonly ok: true;
      readonly config: Config;
      /** `null`: operators have no access. */
      readonly operators: OperatorAccess | null;
      /** For `encrypt_responses` routes: see `readEncryptionSecrets`. */
      readonly encryptionSecrets: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** What is known besides the variables. By default they are those of a running Worker, with everything. */
export interface ConfigSurroundings {
  readonly hasBinding?: HasBinding;
  /** Whether the secrets are among the variables. */
  readonly hasSecrets?: boolean;
}

const ROUTES_ADVICE = 'write [[vars.ROUTES]] with path = "/v1/payments"';

/** What features add to a configuration, and the settings of routes with theirs. */
export interface SettingsOfFeatures {
  readonly features: readonly FeatureSettings[];
  readonly declared: DeclaredSettings;
}

/**
 * Reads `IDEMPOTENCY` and every variable whose name starts with `ROUTES`, `QUEUES`, `CONSUMERS`, `OPERATORS` or `DESTINATIONS`, in the order of their names' code units
 * (`ROUTES`, `ROUTES_10`, `ROUTES_2`: number them with as many digits throughout). A variable may be JSON or JSON text.
 */
export function readConfigWith(
  { features: listed, declared }: SettingsOfFeatures,
  written: Readonly<Record<string, unknown>>,
  {
    hasBinding = (name, kind) => (kind === "secret" ? typeof written[name] === "string" : isBinding(written, name)),
    hasSecrets = true,
  }: ConfigSurroundings = {},
): ConfigReading {
  const env = listed.reduce((sofar, { expand }) => expand?.(sofar) ?? sofar, written);
  const problems: ConfigProblem[] = [];
  const defaults = readDefaults(env["IDEMPOTENCY"], declared);
  problems.push(...defaults.problems);
  const operating = readOperating(env, hasBinding, declared.entries);
  const { named, access, tokens, api } = operating;
  const encryption = readEncryptionSecrets(env);
  problems.push(...operating.problems, ...encryption.problems);

  const { routes, isComplete, problems: routeProblems } = readRoutes(env, declared);
  problems.push(...routeProblems);
  const gateway = { ...GATEWAY_DEFAULTS, ...defaults.gateway };
  const given = {
    env,
    hasBinding,
    defaults,
    gateway,
    operators: named,
    routeSettings: declared.entries,
  };
  const features = listed.map(({ read }) => read(given));
  problems.push(...features.flatMap((one) => one.problems ?? []));
  if (isComplete && routes.length === 0 && !features.some(protects)) problems.push(NO_ROUTES);
  const drafts = [...routes, ...features.flatMap((one) => one.drafts ?? [])];
  problems.push(
    ...ownPathProblems(
      routes,
      api.path ?? OPERATOR_API_DEFAULTS.path,
      features.flatMap(({ ownPath }) => ownPath ?? []),
    ),
  );
  problems.push(...crossCheck(defaults, drafts, features, hasBinding, declared));

  if (problems.length > 0)
    return {
      ok: false,
      problems: inOrder(
        problems,
        drafts.map(({ name }) => name),
      ),
    };
  const config = resolveConfig({
    written: defaults.gateway,
    operatorApi: api,
    hasOperatorPort: env[OPERATOR_PORT_BINDING] !== undefined,
    defaults: defaults.settings,
    routes: writtenRoutes(routes),
    operators: named,
    features,
    declared,
  });
  const unencryptable = config.routes.find(({ encryptResponses }) => encryptResponses !== false);
  if (unencryptable !== undefined && hasSecrets && encryption.values.length === 0) {
    return { ok: false, problems: [missingSecret(unencryptable.name)] };
  }
  const taken = tokens.flatMap(({ values }) => values);
  const secrets = hasSecrets ? listed.flatMap(({ secretProblems }) => secretProblems?.(config, env, taken) ?? []) : [];
  if (secrets.length > 0) return { ok: false, problems: secrets };
  const operators = tokens.length === 0 && access === null ? null : { tokens, access };
  return { ok: true, config, operators, encryptionSecrets: encryption.values };
}

const NO_ROUTES: ConfigProblem = {
  path: "ROUTES",
  code: "routes-missing",
  message: `no route is protected, so the gateway would do nothing: ${ROUTES_ADVICE}`,
};

/** Whether a feature protects something else than routes, or would if it had no problem. */
function protects({ drafts, problems = [] }: FeatureDraft): boolean {
  return drafts !== undefined && drafts.length + problems.length > 0;
}

interface RoutesReading {
  readonly routes: readonly RouteDraft[];
  readonly problems: readonly ConfigProblem[];
  /** Whether every variable is a list. */
  readonly isComplete: boolean;
}

function readRoutes(env: Readonly<Record<string, unknown>>, declared: DeclaredSettings): RoutesReading {
  const lists = routeVariables(env).map((name) => ({ name, list: readRouteList(env[name]) }));
  const unread = lists.flatMap(({ name, list }) => (list.ok ? [] : [{ path: name, message: list.message }]));
  const routes = lists.flatMap(({ name, list }) =>
    list.ok ? list.value.map((value, index) => readRoute(value, `${name}[${index}]`, declared)) : [],
  );
  const problems = [...unread, ...routes.flatMap((route) => route.problems)];
  return { routes, problems, isComplete: unread.length === 0 };
}

function writtenRoutes(routes: readonly RouteDraft[]): readonly WrittenRoute[] {
  return routes.flatMap(({ name, route, settings }) => (route === null ? [] : [{ name, path: route.path, settings }]));
}

/** Names of the variables that hold routes, in the order in which they are read. */
export function routeVariables(env: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith("ROUTES"))
    .toSorted();
}

/** The content of `[vars.IDEMPOTENCY]`. */
interface DefaultsReading extends SettingsReading {
  readonly gateway: GatewaySettings;
}

function readDefaults(variable: unknown, declared: DeclaredSettings): DefaultsReading {
  const value = variable === undefined ? { ok: true as const, value: {} } : readJsonVariable(variable);
  if (!value.ok) return refuseDefaults(value.message, declared);
  if (!isTable(value.value))
    return refuseDefaults(
      'must be a table: write [vars.IDEMPOTENCY] with origin = "https://api.example.com"',
      declared,
    );
  const reading = readSettings(value.value, "IDEMPOTENCY", Object.keys(gatewayEntries), declared);
  const own = Object.entries(value.value).filter(([name]) => Object.hasOwn(gatewayEntries, name));
  const gateway = v.safeParse(gatewaySchema, Object.fromEntries(own));
  if (gateway.success) return { ...reading, gateway: gateway.output };
  const problems = gateway.issues.map((issue) => problemOfIssue(`IDEMPOTENCY.${v.getDotPath(issue) ?? ""}`, issue));
  return { ...reading, gateway: {}, problems: [...reading.problems, ...problems] };
}

/** What the paths that the gateway itself serves are in the way of: that of operators, and those of features. */
function ownPathProblems(
  routes: readonly RouteDraft[],
  operators: string,
  others: readonly OwnPath[],
): readonly ConfigProblem[] {
  return [
    ...unreachable(routes, { setting: "path", path: operators, whom: "operators", table: "OPERATOR_API" }),
    ...others.flatMap((own): readonly ConfigProblem[] => {
      if (!isBelow(operators, own.path) && !isBelow(own.path, operators)) return unreachable(routes, own);
      const message = `must lie apart from the operators' path ("${operators}"), because their tokens differ: write ${own.setting} = "${own.example}"`;
      return [{ path: `IDEMPOTENCY.${own.setting}`, code: "settings-contradict", message }];
    }),
  ];
}

/** Routes that no request reaches, because their paths lie below one of the gateway's own. */
function unreachable(
  routes: readonly RouteDraft[],
  { setting, path: own, whom, table = "IDEMPOTENCY" }: Omit<OwnPath, "example"> & { readonly table?: string },
): readonly ConfigProblem[] {
  return routes.flatMap(({ name, route }) => {
    if (route === null || !isBelow(route.path, own)) return [];
    const message = `gets no requests, because what is below "${own}" is for ${whom}: write another path here, or another ${setting} in [vars.${table}]`;
    return [{ path: `${name}.path`, code: "route-unreachable", message }];
  });
}

function isBelow(path: string, above: string): boolean {
  return `${path}/`.startsWith(`${above}/`);
}

/** Without known defaults, no relation that involves one is checked. */
function refuseDefaults(message: string, { entries }: DeclaredSettings): DefaultsReading {
  return {
    gateway: {},
    settings: {},
    faulty: new Set(Object.keys(entries)),
    problems: [{ path: "IDEMPOTENCY", message }],
  };
}

function readRouteList(variable: unknown): ParsedSetting<readonly unknown[]> {
  const value = readJsonVariable(variable);
  if (!value.ok) return value;
  return Array.isArray(value.value)
    ? { ok: true, value: value.value }
    : refuseValue(`must be a list of routes, like every variable whose name starts with ROUTES: ${ROUTES_ADVICE}`);
}

function readRoute(value: unknown, name: string, declared: DeclaredSettings): RouteDraft & SettingsReading {
  if (!isTable(value)) {
    const problem = { path: name, message: `must be a table: ${ROUTES_ADVICE}` };
    return { name, route: null, settings: {}, faulty: new Set(Object.keys(declared.entries)), problems: [problem] };
  }
  const reading = readSettings(value, name, ["path"], declared);
  const path = `${name}.path`;
  if (!Object.hasOwn(value, "path")) {
    // A misspelt one is reported already.
    if (reading.faulty.has("path")) return { name, route: null, ...reading };
    const message = 'is missing: write path = "/v1/payments" or path = "/v1/payments/*"';
    const problem: ConfigProblem = { path, code: "setting-missing", message };
    return { name, route: null, ...reading, problems: [problem, ...reading.problems] };
  }
  const parsed = v.safeParse(pathSchema, value["path"]);
  if (parsed.success) return { name, route: parsed.output, ...reading };
  const problem = problemOfIssue(path, parsed.issues[0]);
  return { name, route: null, ...reading, problems: [problem, ...reading.problems] };
}

/** Each problem once, in the order of the file: the defaults first, then what concerns all routes, then route by route. */
function inOrder(problems: readonly ConfigProblem[], names: readonly string[]): readonly ConfigProblem[] {
  const rank = ({ path }: ConfigProblem) => {
    if (path.startsWith("IDEMPOTENCY")) return -2;
    return names.findIndex((name) => path === name || path.startsWith(`${name}.`));
  };
  const isFirst = ({ path, message }: ConfigProblem, index: number) =>
    problems.findIndex((one) => one.path === path && one.message === message) === index;
  return problems.filter(isFirst).toSorted((one, other) => rank(one) - rank(other));
}

/** Where `onceway serve --operator-port` puts the port: there, and nowhere else, operators are served. */
export const OPERATOR_PORT_BINDING = "ONCEWAY_OPERATOR_PORT";

/** Where `onceway serve --process` puts the process's number. */
export const PROCESS_BINDING = "ONCEWAY_PROCESS";

/** Says where the objects run, or at which address they ask; without it they ask Cloudflare. */
export const PLACE_BINDING = "ONCEWAY_PLACE";

/** Whether this is a variable of the gateway's configuration, which may not come as anything else. */
export function isConfiguration(name: string): boolean {
  return /^(?:(?:IDEMPOTENCY|IDENTITIES|PROBLEMS|OPERATOR_API|ACCESS)$|ROUTES|QUEUES|CONSUMERS|DESTINATIONS|OPERATORS)/.test(
    name,
  );
}

/** Every binding is an object. Its methods do not show its kind: an RPC stub has a method of every name. */
function isBinding(env: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = env[name];
  return name !== "KEY_SHARD" && !isConfiguration(name) && typeof value === "object" && value !== null;
}
