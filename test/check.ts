// `npm run check [-- NAME…]`: everything that a change has to pass, or the named checks alone, or with `--quick` those that take seconds.
// Each runs whether or not another has failed. The exit code is the number of checks that failed.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));

const { positionals, values } = parseArgs({ allowPositionals: true, options: { quick: { type: "boolean" } } });

const CHECKS: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  format: ["oxfmt", "--check", "."],
  lint: ["oxlint", "--type-aware", "--deny-warnings"],
  house: ["node", "test/house.ts"],
  types: ["tsc", "-b", "--noEmit"],
  generated: ["node", "src/cli/generate.ts", "--check"],
  configuration: ["node", "src/cli/onceway.ts", "check"],
  tests: ["npm", "test"],
  bundle: ["node", "src/cli/check-bundle.ts"],
  package: ["node", "src/cli/check-package.ts"],
};

/** What needs no test, no network and no bundle. */
const QUICK = ["format", "lint", "house", "types", "generated"];

const unknown = positionals.filter((name) => !(name in CHECKS));
if (unknown.length > 0) {
  console.error(`no check is called ${unknown.join(", ")}; there are: ${Object.keys(CHECKS).join(", ")}`);
  process.exit(1);
}

const names = values.quick === true ? [...QUICK, ...positionals] : positionals;
const results = Object.entries(CHECKS)
  .filter(([name]) => names.length === 0 || names.includes(name))
  .map(([name, [program, ...args]]) => {
    console.log(`\n── ${name}: ${[program, ...args].join(" ")}`);
    const begun = performance.now();
    const { status } = spawnSync(program, args, { cwd: PROJECT, stdio: "inherit" });
    return { name, isPassed: status === 0, seconds: (performance.now() - begun) / 1000 };
  });

console.log();
for (const { name, isPassed, seconds } of results) {
  console.log(`${isPassed ? "passed" : "FAILED"}  ${name.padEnd(13)} ${seconds.toFixed(1).padStart(6)} s`);
}
process.exitCode = results.filter(({ isPassed }) => !isPassed).length;
