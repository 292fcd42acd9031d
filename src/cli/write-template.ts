// Writes `template/`, from which `npm create cloudflare -- --template` makes a project: what `onceway init` writes, with a name for
// that program to replace, and an API to be named. `--check` only compares.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { wranglerToml } from "./init-file.ts";
import { USUAL } from "./init-plan.ts";
import { ENTRY, IGNORED, PROJECT_PATHS, projectPackage } from "./init-project.ts";
import { versionsFor } from "./installation.ts";

const TEMPLATE = fileURLToPath(new URL("../../template/", import.meta.url));

/** What `npm create cloudflare` replaces by the project's name, in wrangler.toml and in package.json. */
const NAME = "<WORKER_NAME>";
const PACKAGE_NAME = "<PACKAGE_NAME>";

const plan = { ...USUAL, name: NAME, origin: "https://api.example.com", routes: ["/v1/payments/*"] };
const versions = { ...versionsFor(TEMPLATE), node: null };
const manifest = projectPackage(PACKAGE_NAME, versions, {});
const files = new Map([
  ["wrangler.toml", wranglerToml({ ...plan, paths: PROJECT_PATHS })],
  [PROJECT_PATHS.main, ENTRY],
  [".gitignore", IGNORED],
  ["package.json", `${JSON.stringify(manifest, null, 2)}\n`],
]);

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
for (const [name, text] of files) {
  const path = join(TEMPLATE, name);
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  if (values.check) {
    console.error(`template/${name} is not up to date: npm run generate`);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
