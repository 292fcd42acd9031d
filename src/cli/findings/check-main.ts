// Looks at the program that a wrangler.toml names: the object class has to be exported from it. What a build makes of other files
// cannot be seen here, so only what is certain is an error.

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

import type { ConfigProblem } from "../../config/config-problem.ts";
import { isTable, type Table } from "../../config/read-settings.ts";

interface MainFindings {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

const NOTHING: MainFindings = { problems: [], warnings: [] };

const EXPORT = 'write export { KeyShard } from "onceway/worker" there, or the path of the gateway\'s src/index.ts here';

/** `top` is the whole file's table, `own` that of one environment, which inherits `main`. */
export function checkMain(file: string, own: Table, top: Table): MainFindings {
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
