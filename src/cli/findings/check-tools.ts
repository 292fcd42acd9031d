// Looks at the wrangler that a project has installed. Its workerd knows the platform's rules up to the day of its version (1.YYYYMMDD.N), and
// `wrangler dev` ends where the configuration asks for later ones. A deployment runs Cloudflare's own workerd, so this is a warning.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

import type { ConfigProblem } from "../../config/config-problem.ts";
import { isTable, type Table } from "../../config/read-settings.ts";

/** `top` is the table of `file`. */
export function checkTools(file: string, top: Table): readonly ConfigProblem[] {
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
