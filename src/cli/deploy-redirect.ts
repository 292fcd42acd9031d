// Which file Wrangler deploys where a build tool, such as Cloudflare's plugin for Vite, has made a configuration of the project's own and
// redirected Wrangler to it. `wrangler deploy`, `versions` and `dev` without --config follow that; all else reads the project's own file.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { readJson } from "./findings/json-syntax.ts";
import { nearestAbove, wranglerFileIn } from "./wrangler-file.ts";

/** Where build tools write it, beside the project's own file. */
const REDIRECT = ".wrangler/deploy/config.json";

export type DeployRedirect =
  | {
      readonly kind: "redirected";
      /** What is deployed. Like all paths here, relative to where this program runs. */
      readonly file: string;
      /** The file that says so. */
      readonly by: string;
      /** The project's own file, of which it was made; `null`: there is none. */
      readonly from: string | null;
    }
  /** Wrangler deploys nothing, and says so. `message`: why, and what to do. */
  | { readonly kind: "broken"; readonly message: string };

/** `null`: Wrangler deploys the project's own file (`wranglerFileIn`). */
export function redirectIn(folder: string): DeployRedirect | null {
  const redirect = nearestAbove(folder, REDIRECT);
  if (redirect === null) return null;
  const by = relative("", redirect);
  // Wrangler takes a byte order mark.
  const read = readJson(readFileSync(redirect, "utf8").replace(/^\uFEFF/, ""));
  if (!read.ok) return broken(by, "is not JSON");
  const { configPath } = read.table;
  if (typeof configPath !== "string" || configPath === "") return broken(by, "names no file as configPath");
  const file = resolve(dirname(redirect), configPath);
  if (!existsSync(file)) return broken(by, `names ${relative("", file)}, which does not exist`);
  const from = wranglerFileIn(folder);
  if (from !== null && join(dirname(resolve(from)), REDIRECT) !== redirect) {
    return broken(by, `does not lie beside ${from}, which may be meant instead`);
  }
  if (from !== null && resolve(from) === file) return null;
  return { kind: "redirected", file: relative("", file), by, from };
}

/** The same for a file of the project, where a redirect lies beside it. */
export function redirectBeside(file: string): DeployRedirect | null {
  return existsSync(join(dirname(file), REDIRECT)) ? redirectIn(dirname(file)) : null;
}

function broken(by: string, why: string): DeployRedirect {
  return { kind: "broken", message: `Wrangler deploys nothing here, because ${by} ${why}: build again, or remove it` };
}
