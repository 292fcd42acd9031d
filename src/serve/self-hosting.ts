// What a configuration means outside Cloudflare: decides what plain workerd supports. A setting is a problem if ignoring it
// would change who gets which response or where a request goes; it is a warning if ignoring it only removes a feature. Pure.

import { dirname, resolve } from "node:path";

import type { CheckedEnvironment } from "../cli/check/file.ts";
import type { Layout } from "../kernel/config/layout.ts";
import { isTable, type SettingsTable } from "../kernel/config/table.ts";
import type { Config, ConfigProblem, Origin } from "../kernel/config/resolved.ts";
import type { ScopePart } from "../kernel/config/scope-part.ts";
import type { WorkerCompatibility, VariableValue, ObjectBinding } from "./workerd-config.ts";

export interface SelfHosting {
  /** The absolute path of the Worker's entry. */
  readonly main: string;
  readonly compatibility: WorkerCompatibility;
  readonly vars: Readonly<Record<string, VariableValue>>;
  readonly objects: readonly ObjectBinding[];
  /** Names that the file declares in `[secrets]`. */
  readonly requiredSecrets: readonly string[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

/** `file` is the path of what was read as `top`. The last parameter is the environment to run; its configuration is already checked. */
export function selfHosting(
  file: string,
  top: SettingsTable,
  { name, config }: Omit<CheckedEnvironment, "config"> & { readonly config: Config },
): SelfHosting {
  const own = name === null ? top : tableOf(tableOf(top["env"])[name]);
  const prefix = name === null ? "" : `env.${name}.`;
  const inherited = (member: string): unknown => own[member] ?? top[member];
  const main = inherited("main");
  return {
    main: resolve(dirname(file), typeof main === "string" ? main : "src/index.ts"),
    compatibility: { date: dateOf(inherited("compatibility_date")), flags: textsOf(inherited("compatibility_flags")) },
    vars: Object.fromEntries(Object.entries(tableOf(own["vars"])).map(([key, value]) => [key, jsonOf(value)])),
    objects: objectsOf(own),
    requiredSecrets: textsOf(tableOf(own["secrets"])["required"]),
    problems: problemsOf(config).map(({ path, message }) => ({ path: prefix + path, message })),
    warnings: unsupportedBindings(own),
  };
}

function problemsOf(config: Config): readonly ConfigProblem[] {
  const problems = originProblems("IDEMPOTENCY", config.origin);
  problems.push(...config.queues.map(({ name }) => ({ path: name, message: QUEUE_MESSAGE })));
  problems.push(
    ...config.destinations.flatMap(({ name, target }) =>
      target.kind === "queue" ? [{ path: "DESTINATIONS", message: `"${name}" ${DESTINATION_MESSAGE}` }] : [],
    ),
  );
  for (const { name, origin, scope, previousScopes, newKeys, layouts } of config.routes) {
    if (!isSame(origin, config.origin)) problems.push(...originProblems(name, origin));
    if (usesAddress(scope)) problems.push({ path: `${name}.scope`, message: IP_MESSAGE });
    if (previousScopes.some(usesAddress)) problems.push({ path: `${name}.previous_scope`, message: IP_MESSAGE });
    if (newKeys !== null) problems.push({ path: `${name}.new_keys`, message: NEW_KEYS_MESSAGE });
    if (isPlaced(layouts.own)) problems.push({ path: `${name}.jurisdiction`, message: JURISDICTION_MESSAGE });
    if (layouts.previous.some(isPlaced) && !isPlaced(layouts.own)) {
      problems.push({ path: `${name}.previous_shards`, message: JURISDICTION_MESSAGE });
    }
  }
  return problems;
}

function usesAddress(scope: readonly ScopePart[]): boolean {
  return scope.some(({ kind }) => kind === "ip");
}

function isPlaced({ jurisdiction }: Layout): boolean {
  return jurisdiction !== null;
}

/** Only Cloudflare overwrites the `CF-Connecting-IP` that a client sends. Elsewhere any client could claim any address. */
const IP_MESSAGE =
  "cannot use the client's address outside Cloudflare, because a client could claim another's address and get its responses: " +
  'write a header that your own proxy sets and no client can, such as scope = ["header:x-real-ip"]';

/** Ignoring it would let everybody begin any number of keys, without a word. */
const NEW_KEYS_MESSAGE =
  "needs a rate limit binding, which exists only on Cloudflare: leave it out of this environment, and let the proxy in front " +
  "limit requests, with limit_req in nginx or a stick-table in HAProxy";

const QUEUE_MESSAGE =
  "is a queue of Cloudflare's, and nothing delivers its messages outside Cloudflare: remove it from this environment, and let " +
  "your broker's consumer send each message to a route";

/** Its events would be tried until they are dead. */
const DESTINATION_MESSAGE =
  "is a queue of Cloudflare's, which does not exist outside Cloudflare: write a webhook instead, with url and secret";

const JURISDICTION_MESSAGE =
  "exists only on Cloudflare; workerd keeps all records in the state directory: remove it from this environment";

function originProblems(path: string, origin: Origin): ConfigProblem[] {
  const write = 'write the URL of your API, such as origin = "http://127.0.0.1:3000"';
  switch (origin.kind) {
    case "url":
      return [];
    case "zone":
      return [{ path: `${path}.origin`, message: `is missing, and outside Cloudflare there is no zone: ${write}` }];
    case "binding":
      return [{ path: `${path}.origin`, message: `service bindings exist only on Cloudflare: ${write}` }];
    case "entrypoint":
      return [];
  }
}

function isSame(one: Origin, other: Origin): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function objectsOf(own: SettingsTable): readonly ObjectBinding[] {
  return tablesOf(tableOf(own["durable_objects"])["bindings"]).flatMap(({ name, class_name: className, script_name }) =>
    typeof name === "string" && typeof className === "string" && script_name === undefined ? [{ name, className }] : [],
  );
}

/** A warning for each binding that workerd lacks, and for each setting that runs a Worker without a request. */
function unsupportedBindings(own: SettingsTable): readonly string[] {
  const lists = Object.entries(own).flatMap(([kind, value]) => {
    const entries = [...tablesOf(value), ...tablesOf(tableOf(value)["producers"])];
    return entries.flatMap(({ binding }) => (typeof binding === "string" ? [warning(kind, binding)] : []));
  });
  const runsByItself = ["triggers", "tail_consumers"].filter((member) => own[member] !== undefined);
  return [...lists, ...runsByItself.map((member) => `${member}: exists only on Cloudflare and is ignored`)];
}

function warning(kind: string, binding: string): string {
  const consequence =
    binding === "BODIES" ? ": responses over max_response_body are passed on but not kept" : " and is ignored";
  return `${kind}: ${binding} exists only on Cloudflare${consequence}`;
}

/** The TOML parser turns an unquoted date into a date object, whose ISO text starts with the date. */
function dateOf(value: unknown): string {
  return value instanceof Date ? value.toISOString().slice(0, 10) : String(value);
}

/** A TOML value as the Worker gets it: a date becomes text. */
function jsonOf(value: unknown): VariableValue {
  const json: VariableValue = JSON.parse(JSON.stringify(value));
  return json;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function tableOf(value: unknown): SettingsTable {
  return isTable(value) ? value : {};
}

function tablesOf(value: unknown): readonly SettingsTable[] {
  return Array.isArray(value) ? value.filter(isTable) : [];
}
