// `npm run test:changed [-- REF]`: the tests that a change can affect, of those that need Node alone. A change is what differs from REF
// (HEAD), and files that git does not know yet.

import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));

/** What tests of the whole gateway start: they do not import it. */
const STARTED =
  /^(?:src\/.*\.(?:tsx?|json)|test\/support\/.*|package(?:-lock)?\.json|wrangler\.toml|vitest\.config\.ts)$/u;

/** The projects whose tests import what they test. */
const IN_PROCESS = ["unit", "simulation", "integration", "memory"];

/** The arguments of each run of Vitest. Vitest finds tests by what they import. `readers`: tests of documents and sources, which read them. */
export function runsFor(
  changed: readonly string[],
  readers: readonly string[],
  since: string,
): readonly (readonly string[])[] {
  if (changed.length === 0) return [];
  const byImports = ["--changed", since, "--passWithNoTests"];
  return [
    ["--project", "unit", ...readers],
    [...IN_PROCESS.flatMap((name) => ["--project", name]), ...byImports],
    ["--project", "e2e", ...(changed.some((file) => STARTED.test(file)) ? [] : byImports)],
  ];
}

function git(...args: readonly string[]): readonly string[] {
  return execFileSync("git", args, { cwd: PROJECT, encoding: "utf8" }).split("\n").filter(Boolean);
}

function main(since: string): void {
  const changed = [...git("diff", "--name-only", since, "--"), ...git("ls-files", "--others", "--exclude-standard")];
  const readers = globSync("test/**/{unit,docs,words}/**/*.test.ts", { cwd: PROJECT }).filter((file) =>
    /\b(?:readFile|readdir|globSync)/u.test(readFileSync(`${PROJECT}${file}`, "utf8")),
  );
  const runs = runsFor(changed, readers, since);
  if (runs.length === 0) console.log(`nothing has changed since ${since}`);
  for (const args of runs) {
    const command = ["run", "--tags-filter", "!needs/*", ...args];
    // What fails first is mended first: the next run takes minutes.
    if (spawnSync("vitest", command, { cwd: PROJECT, stdio: "inherit" }).status !== 0) process.exit(1);
  }
}

if (import.meta.main) main(process.argv[2] ?? "HEAD");
