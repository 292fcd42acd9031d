// Where this program is installed, and as what: in a project's `node_modules`, or as a checkout.

import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import * as v from "valibot";

import { isTable } from "../kernel/config/table.ts";
import { parseJsonText, readBytes } from "./arguments.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";
import type { ProjectVersions } from "./init-project.ts";

const CODE_DIR = fileURLToPath(new URL("..", import.meta.url));
const PACKAGE_DIR = dirname(CODE_DIR);

/** Since this version, wrangler runs on it (its package.json, "engines"). */
const NODE_FOR_WRANGLER = 22;

/** The versions of the tools are those that the gateway is tested with. */
const OWN = v.object({
  version: v.string(),
  devDependencies: v.object({ wrangler: v.string(), node: v.string() }),
});

/** Whether a project has it as a package: then `init` makes projects of that kind. */
export const isInstalled = basename(dirname(PACKAGE_DIR)) === "node_modules";

/** The entry and what belongs to it, for a wrangler.toml that names them directly. */
export const CODE = {
  main: join(CODE_DIR, isInstalled ? "index.js" : "index.ts"),
  schema: join(CODE_DIR, "kernel/config/wrangler.schema.json"),
  settings: join(PACKAGE_DIR, "src/kernel/config/README.md"),
};

export function ownVersion(): string {
  return v.parse(OWN, readTable(join(PACKAGE_DIR, "package.json"))).version;
}

/** What a project in `folder` has to ask npm for, to get what runs here. */
export function versionsFor(folder: string): ProjectVersions {
  const { version, devDependencies: tools } = v.parse(OWN, readTable(join(PACKAGE_DIR, "package.json")));
  const hasNode = Number(process.versions.node.split(".")[0]) >= NODE_FOR_WRANGLER;
  return {
    onceway: installedAs(folder) ?? version,
    wrangler: tools.wrangler,
    node: hasNode ? null : tools.node,
  };
}

/** How the project around this installation names it; a path is made one from `folder`. `null`: nothing does. */
function installedAs(folder: string): string | null {
  const project = dirname(dirname(PACKAGE_DIR));
  const file = join(project, "package.json");
  if (!isInstalled || !existsSync(file)) return null;
  const { dependencies, devDependencies } = readTable(file);
  for (const table of [dependencies, devDependencies]) {
    const written: unknown = typeof table === "object" && table !== null ? Reflect.get(table, "onceway") : undefined;
    if (typeof written !== "string") continue;
    if (!written.startsWith("file:")) return written;
    return `file:${relative(folder, resolve(project, written.slice("file:".length)))
      .split(sep)
      .join("/")}`;
  }
  return null;
}

/** Throws a Failure if the file cannot be read, or is no JSON object. */
export function readTable(file: string): Readonly<Record<string, unknown>> {
  // npm reads files with a byte order mark, too.
  const table = parseJsonText(
    readBytes(file)
      .toString()
      .replace(/^\uFEFF/, ""),
  );
  if (!isTable(table)) throw new CommandFailure(EXIT_UNUSABLE, `${file}: is not a JSON object: mend it first`);
  return { ...table };
}
