// `npm run generate`: writes every generated file. `npm run generate -- --check` only compares them, and names each one that is
// not up to date. Each generator is a program with its own `--check`.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

const GENERATORS = [
  ["node", "src/cli/write-schema.ts"],
  ["node", "src/cli/write-openapi.ts"],
  ["node", "src/cli/write-template.ts"],
  ["node", "--disable-warning=ExperimentalWarning", "src/cli/write-console-assets.ts"],
  ["wrangler", "types", "--include-runtime=false", "--strict-vars=false", "src/worker-configuration.d.ts"],
] as const;

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const env = { ...process.env, WRANGLER_SEND_METRICS: "false" };
for (const [program, ...args] of GENERATORS) {
  const all = values.check ? [...args, "--check"] : args;
  const { status } = spawnSync(program, all, { cwd: PROJECT, env, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
