// Finds wrangler, which bundles a Worker, and the workerd that comes with it: those of the project whose Worker it is, or else those
// beside the gateway's own code. So a project's dev server, its deployments and `onceway serve` are of one version.

import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export interface ServeTools {
  /** A script for Node. */
  readonly wrangler: string;
  /** A program. */
  readonly workerd: string;
}

/** `main` is the absolute path of the Worker's entry. Throws if neither has them. */
export function findTools(main: string): ServeTools {
  const wrangler = resolved("wrangler", main) ?? resolved("wrangler", import.meta.url);
  const workerd = wrangler === null ? null : resolved("workerd", wrangler);
  if (wrangler === null || workerd === null) {
    throw new Error(
      "wrangler is missing, which bundles the Worker and brings workerd: npm install --save-dev wrangler@4",
    );
  }
  return {
    wrangler: join(dirname(wrangler), "bin/wrangler.js"),
    workerd: join(dirname(workerd), "bin/workerd"),
  };
}

function resolved(name: string, from: string): string | null {
  try {
    return createRequire(from).resolve(`${name}/package.json`);
  } catch {
    return null;
  }
}
