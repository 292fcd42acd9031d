// The Cap'n Proto configuration that runs a bundled Worker in `workerd serve`: its modules, its objects on disk, its variables
// and secrets, and a network that may reach loopback and private addresses, because an origin may be there. It must never
// contain a secret's value; workerd reads those from its environment.

import { readdir } from "node:fs/promises";
import { extname } from "node:path";
import { PLACE_BINDING } from "../kernel/config/read.ts";

/** The value of a Worker's variable. */
export type VariableValue =
  | string
  | number
  | boolean
  | null
  | readonly VariableValue[]
  | { readonly [name: string]: VariableValue };

export interface WorkerCompatibility {
  readonly date: string;
  readonly flags: readonly string[];
}

/** A binding to a Durable Object class of the Worker itself. */
export interface ObjectBinding {
  readonly name: string;
  readonly className: string;
}

export interface WorkerdSetup {
  /**
   * The folder that `bundleWorker` returned, or a copy. Write the configuration into it, because Cap'n Proto embeds files by
   * relative path only.
   */
  readonly modulesDir: string;
  /** Where workerd keeps the objects' databases. */
  readonly stateDir: string;
  /** Where to listen, as Cap'n Proto's library writes it: `127.0.0.1:8787`, `[::1]:8787`. */
  readonly address: string;
  /** Where operators connect; `null`: to the same address as clients. */
  readonly operatorAddress: string | null;
  readonly compatibility: WorkerCompatibility;
  readonly objects: readonly ObjectBinding[];
  readonly vars: Readonly<Record<string, VariableValue>>;
  /** Names of secrets; workerd reads their values from its environment. */
  readonly secrets: readonly string[];
  /** More entries of the bindings list, in Cap'n Proto text: `(name = "API", service = "api")`. */
  readonly extraBindings: readonly string[];
  /** More services, in Cap'n Proto text. */
  readonly extraServices: readonly string[];
  /** More sockets, in Cap'n Proto text. */
  readonly extraSockets?: readonly string[];
  /** The module whose exports are the program's; `"index.js"` if left out. */
  readonly main?: string;
}

export async function workerdConfig(setup: WorkerdSetup): Promise<string> {
  const { compatibility } = setup;
  const variables = variableList({ [PLACE_BINDING]: "local", ...setup.vars });
  const secrets = setup.secrets.map((name) => `(name = ${quoteText(name)}, fromEnvironment = ${quoteText(name)})`);
  const objects = setup.objects.map(
    ({ name, className }) => `(name = ${quoteText(name)}, durableObjectNamespace = ${quoteText(className)})`,
  );
  const bindings = [...objects, ...variables, ...secrets, ...setup.extraBindings];
  const classes = [...new Set(setup.objects.map(({ className }) => className))];
  const sockets = [`(name = "http", address = ${quoteText(setup.address)}, http = (), service = "gateway")`];
  if (setup.operatorAddress !== null) {
    const service = '(name = "gateway", entrypoint = "Operators")';
    sockets.push(
      `(name = "operators", address = ${quoteText(setup.operatorAddress)}, http = (), service = ${service})`,
    );
  }
  sockets.push(...(setup.extraSockets ?? []));
  const flags = compatibility.flags.map(quoteText).join(", ");
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = .gateway),
    (name = "state", disk = (path = ${quoteText(setup.stateDir)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
${setup.extraServices.map((service) => `    ${service},\n`).join("")}  ],
  sockets = [
${sockets.map((socket) => `    ${socket},\n`).join("")}  ],
);

const gateway :Workerd.Worker = (
  modules = [
${(await moduleList(setup.modulesDir, "", setup.main)).map((module) => `    ${module},\n`).join("")}  ],
  compatibilityDate = ${quoteText(compatibility.date)},
  compatibilityFlags = [${flags}],
  durableObjectNamespaces = [${classes.map(objectNamespace).join(", ")}],
  durableObjectStorage = (localDisk = "state"),
  globalOutbound = "internet",
  bindings = [
${bindings.map((binding) => `    ${binding},\n`).join("")}  ],
);
`;
}

/** Variables as bindings. */
export function variableList(vars: Readonly<Record<string, VariableValue>>): string[] {
  return Object.entries(vars).map(([name, value]) =>
    typeof value === "string"
      ? `(name = ${quoteText(name)}, text = ${quoteText(value)})`
      : `(name = ${quoteText(name)}, json = ${quoteText(JSON.stringify(value))})`,
  );
}

/** The unique key names the objects' folder in the state directory and is part of every object's id, so it must never change. */
export function objectNamespace(className: string): string {
  return `(className = ${quoteText(className)}, uniqueKey = ${quoteText(`onceway-${className}`)}, enableSql = true)`;
}

/** The main module is the first. `from` is the folder as seen from the configuration's file: `""` or `"folder/"`. */
export async function moduleList(modulesDir: string, from = "", main = "index.js"): Promise<string[]> {
  const names = (await readdir(modulesDir)).filter((name) => moduleKind(name) !== null);
  names.sort((a, b) => Number(b === main) - Number(a === main));
  return names.map((name) => `(name = ${quoteText(name)}, ${moduleKind(name)} = embed ${quoteText(from + name)})`);
}

/** `null`: not part of the program, such as source maps and wrangler's README. */
function moduleKind(name: string): string | null {
  switch (extname(name)) {
    case ".js":
    case ".mjs":
      return "esModule";
    case ".wasm":
      return "wasm";
    case ".txt":
    case ".html":
    case ".sql":
      return "text";
    case ".bin":
      return "data";
    default:
      return null;
  }
}

/** A Cap'n Proto string literal: quotes, backslashes and ASCII control characters are escaped as `\xHH`. */
export function quoteText(text: string): string {
  const escaped = text.replaceAll(/["\\\p{Cc}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : character;
  });
  return `"${escaped}"`;
}
