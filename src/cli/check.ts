// `onceway check [FILE]`, and `npm run check-config`: shows whether a wrangler.toml can be deployed, and what it would
// protect. Decides only how results are printed; the rules are the Worker's own (`src/config`). Must never change a file.

import type { Command } from "commander";

import { checkWranglerConfig, type CheckedEnvironment } from "../config/check-file.ts";
import { describeConfig, flatConsumer, flatQueue, flatRoute } from "../config/describe.ts";
import type { ConfigProblem } from "../config/resolved.ts";
import { compareLayouts } from "./check-against.ts";
import { Failure, REFUSED, UNUSABLE } from "./exit-codes.ts";
import { connect, readGateway, TOKEN_FILE } from "./operator-options.ts";
import { problemCount, readWranglerFile } from "./wrangler-file.ts";

export function defineCheck(command: Command): Command {
  return command
    .summary("check the gateway's configuration in a wrangler.toml")
    .description("Checks the gateway's configuration in FILE, every [env.NAME] included. Changes nothing.")
    .usage("[FILE] [--env NAME] [--against URL] [--json]")
    .argument("[FILE]", "what to check", "wrangler.toml")
    .option("--env <NAME>", "check only this environment")
    .option(
      "--against <URL>",
      "also compare the top level, or --env NAME, with the gateway that runs there: refuse what forgets its records",
      readGateway,
    )
    .option(...TOKEN_FILE)
    .option(
      "--json",
      "print one JSON object: {file, ok, problems: [{path, message}], warnings: [{path, message}], environments: [{name, routes, queues, consumers}]}",
    )
    .addHelpText(
      "after",
      "\nExit codes: 0 fine, 1 problems, 2 FILE cannot be read, the arguments are wrong, or the gateway cannot be reached.",
    )
    .action(check);
}

interface CheckOptions {
  readonly env?: string;
  readonly against?: URL;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

async function check(file: string, options: CheckOptions): Promise<void> {
  const read = readWranglerFile(file);
  if (read.kind !== "read") {
    const { kind, message } = read;
    if (kind === "unreadable") throw new Failure(UNUSABLE, `${message}; "npx onceway init" writes one`);
    if (options.json !== true) throw new Failure(REFUSED, `${message}\n${problemCount(1)}`);
    printJson(file, [{ path: "", message }], []);
    return;
  }
  const chosen = checkWranglerConfig(read.toml).filter(({ name }) => options.env === undefined || name === options.env);
  const checked = options.against === undefined ? chosen : await compare(chosen, options.against, options);
  if (checked.length === 0) throw new Failure(UNUSABLE, `${file}: there is no [env.${options.env}]`);
  if (options.json === true) printJson(file, problemsOf(checked), checked);
  else report(file, checked);
}

/** Only an environment that is fine by itself is compared. */
async function compare(
  checked: readonly CheckedEnvironment[],
  url: URL,
  { env = null, tokenFile }: Pick<CheckOptions, "tokenFile"> & { readonly env?: string | null },
): Promise<readonly CheckedEnvironment[]> {
  const client = connect({ url, ...(tokenFile === undefined ? {} : { tokenFile }) });
  const { layouts, routes } = await client.layouts();
  return checked.map((environment) => {
    const { name, config } = environment;
    if (name !== env || config === null) return environment;
    const own = [...config.routes, ...[...config.queues, ...config.consumers].map(({ route }) => route)];
    const { problems, warnings } = compareLayouts(own, layouts, routes);
    const placed = ({ path, message }: ConfigProblem): ConfigProblem => ({
      path: `${name === null ? "" : `env.${name}.`}${path}`,
      message,
    });
    return {
      ...environment,
      problems: problems.map(placed),
      warnings: [...environment.warnings, ...warnings.map(placed)],
    };
  });
}

export function problemsOf(checked: readonly CheckedEnvironment[]): readonly ConfigProblem[] {
  return checked.flatMap((environment) => environment.problems);
}

function warningsOf(checked: readonly CheckedEnvironment[]): readonly ConfigProblem[] {
  return checked.flatMap((environment) => environment.warnings);
}

function report(file: string, checked: readonly CheckedEnvironment[]): void {
  const problems = problemsOf(checked);
  if (problems.length > 0) throw new Failure(REFUSED, problemLines(file, problems).join("\n"));
  // On standard error, apart from the table. A warning does not fail the check, because the file can be deployed.
  for (const { path, message } of warningsOf(checked)) console.error(`${file}: warning: ${path}: ${message}`);
  let routes = 0;
  let queues = 0;
  let groups = 0;
  for (const { name, config } of checked) {
    if (config === null) continue;
    routes += config.routes.length;
    queues += config.queues.length;
    groups += config.consumers.length;
    console.log(`${name === null ? "top level" : `env.${name}`}\n${describeConfig(config)}\n`);
  }
  const places = counted(checked.length, "environment");
  const others = [counted(queues, "queue"), counted(groups, "group")].filter((_, at) => [queues, groups][at] !== 0);
  console.log(`${file}: fine, ${[counted(routes, "protected route"), ...others].join(" and ")} in ${places}`);
}

function counted(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}

/** One line for each problem, and how many there are. */
export function problemLines(file: string, problems: readonly ConfigProblem[]): readonly string[] {
  return [...problems.map(({ path, message }) => `${file}: ${path}: ${message}`), problemCount(problems.length)];
}

function printJson(file: string, problems: readonly ConfigProblem[], checked: readonly CheckedEnvironment[]): void {
  const warnings = warningsOf(checked);
  const environments = checked.map(({ name, config }) => ({
    name,
    routes: config?.routes.map(flatRoute) ?? null,
    queues: config?.queues.map(flatQueue) ?? null,
    consumers: config?.consumers.map(flatConsumer) ?? null,
  }));
  console.log(JSON.stringify({ file, ok: problems.length === 0, problems, warnings, environments }));
  if (problems.length > 0) process.exitCode = REFUSED;
}
