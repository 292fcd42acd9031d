// Looks at what a configuration runs with: the program that it names, and the wrangler that is installed beside it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";

import type { ConfigProblem } from "../../kernel/config/config-problem.ts";
import { isTable, type SettingsTable } from "../../kernel/config/table.ts";

interface MainFindings {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

const NOTHING: MainFindings = { problems: [], warnings: [] };

const EXPORT = 'write export { KeyShard } from "onceway/worker" there, or the path of the gateway\'s src/index.ts here';

/**
 * The object class has to be exported from the program. What a build makes of other files cannot be seen here, so only what is certain is an
 * error. `top` is the whole file's table, `own` that of one environment, which inherits `main`.
 */
export function checkMain(file: string, own: SettingsTable, top: SettingsTable): MainFindings {
  const main = own["main"] ?? top["main"];
  const isInherited = own !== top && own["main"] === undefined;
  // The top level's entry has said it.
  if (isInherited) return NOTHING;
  if (main === undefined) {
    const message = 'is missing, so there is no program to run: write main = "src/index.ts"';
    return { ...NOTHING, problems: [{ path: "main", code: "main-invalid", message }] };
  }
  if (typeof main !== "string") return NOTHING;
  const build = own["build"] ?? top["build"];
  const isBuilt = isTable(build) && typeof build["command"] === "string";
  const text = readText(resolve(dirname(file), main));
  if (text === null) {
    if (isBuilt) return NOTHING;
    const message = `there is no file "${main}" beside this one: write the path of the Worker's program`;
    return { ...NOTHING, warnings: [{ path: "main", code: "main-invalid", message }] };
  }
  // A program in another language, or one that exports all that another file does.
  if (!/\.[cm]?[jt]sx?$/.test(main) || /\bKeyShard\b|\bexport\s*\*/.test(text)) return NOTHING;
  const message = `"${main}" exports no class KeyShard, which keeps the records: ${EXPORT}`;
  return { ...NOTHING, problems: [{ path: "main", code: "main-invalid", message }] };
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/**
 * A wrangler's workerd knows the platform's rules up to the day of its version (1.YYYYMMDD.N), and `wrangler dev` ends where the
 * configuration asks for later ones. A deployment runs Cloudflare's own workerd, so this is a warning. `top` is the table of `file`.
 */
export function checkTools(file: string, top: SettingsTable): readonly ConfigProblem[] {
  const date = top["compatibility_date"];
  const wrangler = manifestOf("wrangler", resolve(file));
  const workerd = wrangler === null ? null : manifestOf("workerd", wrangler.path);
  const [, year, month, day] = /^1\.(\d{4})(\d{2})(\d{2})\./.exec(workerd?.version ?? "") ?? [];
  if (wrangler === null || day === undefined || typeof date !== "string") return [];
  const last = `${year}-${month}-${day}`;
  if (date <= last) return [];
  const message = `wrangler ${wrangler.version}, which is installed here, knows the platform until ${last}, so "wrangler dev" and "onceway serve" cannot run it: npm install --save-dev wrangler@4`;
  return [{ path: "compatibility_date", code: "compatibility-invalid", message }];
}

function manifestOf(name: string, from: string): { readonly path: string; readonly version: string } | null {
  try {
    const path = createRequire(from).resolve(`${name}/package.json`);
    const manifest: unknown = JSON.parse(readFileSync(path, "utf8"));
    const version = isTable(manifest) ? manifest["version"] : null;
    return typeof version === "string" ? { path, version } : null;
  } catch {
    // Not installed here: nothing is run here.
    return null;
  }
}
