// `npm run check-config [FILE] [--env NAME]`: says whether a wrangler.toml can be deployed, and what it would protect.
// Decides only how that is shown; the rules are those of the Worker itself (`src/config`). Must never change a file.

import { parseArgs } from "node:util";

import { checkWranglerConfig, type CheckedEnvironment } from "../config/check-file.ts";
import { describeConfig } from "../config/describe.ts";
import { problemCount, readWranglerFile } from "./wrangler-file.ts";

const USAGE = `Usage: check-config [FILE] [--env NAME]

Checks the gateway's configuration in FILE (wrangler.toml by default), every [env.NAME] included.
  --env NAME   check only this environment
Exit codes: 0 fine, 1 problems, 2 FILE cannot be read or the arguments are wrong.`;

const OK = 0;
const PROBLEMS = 1;
const UNUSABLE = 2;

function main(): number {
  const options = readOptions();
  if (options === null) return UNUSABLE;
  if (options.help) {
    console.log(USAGE);
    return OK;
  }
  const { file } = options;
  const read = readWranglerFile(file);
  if (read.kind !== "read") {
    console.error(read.message);
    if (read.kind === "unreadable") return UNUSABLE;
    console.error(problemCount(1));
    return PROBLEMS;
  }
  const checked = checkWranglerConfig(read.toml).filter(
    ({ name }) => options.env === undefined || name === options.env,
  );
  if (checked.length === 0) {
    console.error(`${file}: there is no [env.${options.env}]`);
    return UNUSABLE;
  }
  return report(file, checked);
}

function report(file: string, checked: readonly CheckedEnvironment[]): number {
  const problems = checked.flatMap((environment) => environment.problems);
  if (problems.length > 0) {
    for (const { path, message } of problems) console.error(`${file}: ${path}: ${message}`);
    console.error(problemCount(problems.length));
    return PROBLEMS;
  }
  let routes = 0;
  for (const { name, config } of checked) {
    if (config === null) continue;
    routes += config.routes.length;
    console.log(`${name === null ? "top level" : `env.${name}`}\n${describeConfig(config)}\n`);
  }
  const places = checked.length === 1 ? "1 environment" : `${checked.length} environments`;
  console.log(`${file}: fine, ${routes === 1 ? "1 protected route" : `${routes} protected routes`} in ${places}`);
  return OK;
}

function readOptions(): { readonly file: string; readonly env: string | undefined; readonly help: boolean } | null {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { env: { type: "string" }, help: { type: "boolean", short: "h" } },
    });
    if (positionals.length > 1) throw new TypeError("only one FILE can be checked");
    return { file: positionals[0] ?? "wrangler.toml", env: values.env, help: values.help ?? false };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return null;
  }
}

process.exitCode = main();
