// The Cap'n Proto configuration that runs a bundled Worker in `workerd serve`: its modules, its objects on disk, its
// variables, and a network that may reach loopback, where the test origin is.

import { readdir } from "node:fs/promises";
import { extname } from "node:path";
import type { Compatibility, Json } from "./wrangler.ts";

export interface WorkerdSetup {
  /** The modules, as `bundleWorker` leaves them. Cap'n Proto embeds by relative path only: put the text beside them. */
  readonly modulesDir: string;
  readonly stateDir: string;
  readonly port: number;
  readonly compatibility: Compatibility;
  readonly vars: Readonly<Record<string, Json>>;
  /** Further entries of the bindings list, in Cap'n Proto text: `(name = "API", service = "api")`. */
  readonly extraBindings: readonly string[];
  /** Further services, in Cap'n Proto text. */
  readonly extraServices: readonly string[];
}

export async function workerdConfig(setup: WorkerdSetup): Promise<string> {
  const { compatibility } = setup;
  const variables = Object.entries(setup.vars).map(([name, value]) =>
    typeof value === "string"
      ? `(name = ${quote(name)}, text = ${quote(value)})`
      : `(name = ${quote(name)}, json = ${quote(JSON.stringify(value))})`,
  );
  const bindings = [`(name = "KEY_SHARD", durableObjectNamespace = "KeyShard")`, ...variables, ...setup.extraBindings];
  const flags = compatibility.flags.map(quote).join(", ");
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = .gateway),
    (name = "state", disk = (path = ${quote(setup.stateDir)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
${setup.extraServices.map((service) => `    ${service},\n`).join("")}  ],
  sockets = [(name = "http", address = "127.0.0.1:${setup.port}", http = (), service = "gateway")],
);

const gateway :Workerd.Worker = (
  modules = [
${(await modules(setup.modulesDir)).map((module) => `    ${module},\n`).join("")}  ],
  compatibilityDate = ${quote(compatibility.date)},
  compatibilityFlags = [${flags}],
  durableObjectNamespaces = [(className = "KeyShard", uniqueKey = "onceway-KeyShard", enableSql = true)],
  durableObjectStorage = (localDisk = "state"),
  globalOutbound = "internet",
  bindings = [
${bindings.map((binding) => `    ${binding},\n`).join("")}  ],
);
`;
}

/** The first module is the main one. */
async function modules(modulesDir: string): Promise<string[]> {
  const names = (await readdir(modulesDir)).filter((name) => moduleKind(name) !== null);
  names.sort((a, b) => Number(b === "index.js") - Number(a === "index.js"));
  return names.map((name) => `(name = ${quote(name)}, ${moduleKind(name)} = embed ${quote(name)})`);
}

/** Null: not part of the program (source maps, wrangler's read-me). */
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

/** A string literal of Cap'n Proto: `\xHH` for what cannot stand there as it is. */
function quote(text: string): string {
  const escaped = text.replaceAll(/["\\\p{Cc}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : character;
  });
  return `"${escaped}"`;
}
