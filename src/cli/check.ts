// `onceway check [FILE]`, in a checkout `npm run check-config`: shows whether a configuration can be deployed, and what it would
// protect. Decides only what is read and printed; the rules are the Worker's own (`src/kernel/config`). Must never change a file.

import { existsSync } from "node:fs";

import { type Command, Option } from "commander";

import { checkWranglerConfig, type CheckedEnvironment } from "./check/file.ts";
import { problemsBelow, type ConfigProblem } from "../kernel/config/config-problem.ts";
import { describeConfig, flatEntry, flatRoute } from "./check/describe.ts";
import { expandedRoutes } from "./check/expand.ts";
import { CHECKS, ENTRY_KINDS } from "./check/of-features.ts";
import { allRoutes, protectsKeys } from "../kernel/config/resolved.ts";
import { nearestName } from "../kernel/config/nearest-name.ts";
import { isTable, type SettingsTable } from "../kernel/config/table.ts";
import type { AskGateway } from "../kernel/node-feature.ts";
import { compareLayouts } from "./check-against.ts";
import { withOrigins } from "./reach-origin.ts";
import { chooseFile, environmentIn, withOthers } from "./checked-file.ts";
import { checkMain, checkTools } from "./findings/check-main.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE } from "./exit-codes.ts";
import { findingJson, githubAnnotation } from "./findings/formats.ts";
import { findingsText, type CheckedSource } from "./findings/text.ts";
import { type ConfigFinding, findingsOf, inLanguage, type FileLanguage, type Severity } from "./findings/findings.ts";
import { jsonLine, type TerminalLook, lookOf, paintedLook, plainLook } from "./look.ts";
import { connectOperator, readGateway, TOKEN_FILE } from "./operator-options.ts";
import { problemCount, readWranglerFile } from "./wrangler-file.ts";

export function defineCheck(command: Command): Command {
  return command
    .summary("check the gateway's configuration in a wrangler.toml or wrangler.jsonc")
    .description("Checks the gateway's configuration in FILE, every [env.NAME] included. Changes nothing.")
    .usage(
      "[FILE] [--env NAME] [--against URL] [--offline] [--deny-warnings] [--expand | --json | --github] [--color WHEN]",
    )
    .argument(
      "[FILE]",
      "what to check (default: what Wrangler deploys here: a wrangler.json, wrangler.jsonc or wrangler.toml, or what a build has made of it)",
    )
    .option("--env <NAME>", "check only this environment")
    .option(
      "--against <URL>",
      "also compare the top level, or --env NAME, with the gateway that runs there: refuse what forgets its records",
      readGateway,
    )
    .option(...TOKEN_FILE)
    .option("--offline", "connect to no origin")
    .option("--deny-warnings", "exit with 1 for warnings too")
    .addOption(
      new Option(
        "--expand",
        "print every setting that applies to each route, and where it comes from: the route, IDEMPOTENCY, another setting, or its default",
      ).conflicts(["json", "github"]),
    )
    .option(
      "--json",
      "print one JSON object: {file, ok, problems, environments}; src/cli/findings/README.md describes it",
    )
    .option("--github", "print an annotation for each problem, as GitHub's workflows read them")
    .addOption(
      new Option("--color <WHEN>", "colours in what people read: auto is on a terminal, without NO_COLOR")
        .choices(["auto", "always", "never"])
        .default("auto"),
    )
    .addHelpText(
      "after",
      "\nExit codes: 0 no errors, 1 errors, 2 FILE cannot be read, the arguments are wrong, or the gateway cannot be reached.",
    )
    .action(check);
}

interface CheckOptions {
  readonly env?: string;
  readonly against?: URL;
  readonly tokenFile?: string;
  readonly offline?: boolean;
  readonly denyWarnings?: boolean;
  readonly expand?: boolean;
  readonly json?: boolean;
  readonly github?: boolean;
  readonly color: "auto" | "always" | "never";
}

async function check(named: string | undefined, options: CheckOptions): Promise<void> {
  const subject = chooseFile(named);
  const { file } = subject;
  const read = readWranglerFile(file);
  if (read.kind === "unreadable")
    throw new CommandFailure(
      EXIT_UNUSABLE,
      existsSync(file) ? read.message : `${read.message}; "npx onceway init" writes one`,
    );
  const source = { file, text: read.text };
  if (read.kind === "invalid") {
    report(source, [read.finding], [], options, {});
    return;
  }
  const { table } = read;
  const env = environmentIn(subject, options.env, table);
  const all = checkWranglerConfig(table).map((environment) => withMain(file, environment, table));
  const chosen = all.filter(({ name }) => env === null || name === env);
  if (chosen.length === 0) throw new CommandFailure(EXIT_UNUSABLE, `${file}: ${noEnvironment(env ?? "", all)}`);
  const looked = options.offline === true ? chosen : await Promise.all(chosen.map(withOrigins));
  const checked =
    options.against === undefined ? looked : await compare(looked, options.against, env, options.tokenFile);
  const found = checked.map((environment, index) =>
    index === 0 ? withOthers(subject, environment, table) : environment,
  );
  report(source, findingsOf(found, read), found, options, table);
}

function noEnvironment(name: string, all: readonly CheckedEnvironment[]): string {
  const names = all.flatMap((environment) => environment.name ?? []);
  const nearest = nearestName(name, names);
  if (nearest !== null) return `there is no [env.${name}]; did you mean --env ${nearest}?`;
  return `there is no [env.${name}]${names.length === 0 ? "" : `, only ${names.join(", ")}`}`;
}

function withMain(file: string, environment: CheckedEnvironment, top: SettingsTable): CheckedEnvironment {
  const { name } = environment;
  const environments = isTable(top["env"]) ? top["env"] : {};
  const own = name === null ? top : environments[name];
  const { problems, warnings: ofMain } = checkMain(file, isTable(own) ? own : {}, top);
  const warnings = [...ofMain, ...(name === null ? checkTools(file, top) : [])];
  const placed = problemsBelow(name === null ? "" : `env.${name}.`);
  return {
    ...environment,
    problems: [...environment.problems, ...problems.map(placed)],
    warnings: [...environment.warnings, ...warnings.map(placed)],
  };
}

/** Only an environment that is fine by itself is compared. */
async function compare(
  checked: readonly CheckedEnvironment[],
  url: URL,
  env: string | null,
  tokenFile: string | undefined,
): Promise<readonly CheckedEnvironment[]> {
  const client = connectOperator({ url, ...(tokenFile === undefined ? {} : { tokenFile }) });
  const { layouts, routes } = await client.layouts();
  const ask: AskGateway = (schema, path) => client.read(schema, path);
  const compareOne = async (environment: CheckedEnvironment): Promise<CheckedEnvironment> => {
    const { name, config } = environment;
    if (name !== env || config === null) return environment;
    const own = allRoutes(config).filter(protectsKeys);
    const { problems, warnings } = compareLayouts(own, layouts, routes, config.gateway.jurisdiction);
    const found = await Promise.all(CHECKS.map(async ({ against }) => (await against?.(config, ask)) ?? []));
    const placed = (problem: ConfigProblem): ConfigProblem =>
      problemsBelow(name === null ? "" : `env.${name}.`)({ code: "records-forgotten", ...problem });
    return {
      ...environment,
      problems: [...environment.problems, ...problems.map(placed)],
      warnings: [...environment.warnings, ...[...warnings, ...found.flat()].map(placed)],
    };
  };
  return Promise.all(checked.map(compareOne));
}

/** Findings on standard error, what is protected on standard output; with --json and --github all on standard output. */
function report(
  source: CheckedSource,
  findings: readonly ConfigFinding[],
  checked: readonly CheckedEnvironment[],
  options: CheckOptions,
  top: SettingsTable,
): void {
  const { file } = source;
  const errors = count(findings, "error");
  const isRefused = errors > 0 || (options.denyWarnings === true && count(findings, "warning") > 0);
  if (isRefused) process.exitCode = EXIT_REFUSED;
  if (options.json === true) {
    console.log(jsonLine(jsonOf(file, errors === 0, findings, checked)));
  } else if (options.github === true) {
    for (const finding of findings) console.log(githubAnnotation(file, finding));
  } else {
    if (findings.length > 0) {
      const look = lookFor(options.color);
      console.error(`${findingsText(findings, source, look)}\n\n${summary(findings)}`);
    }
    if (errors > 0) return;
    if (options.expand === true) for (const { name } of checked) console.log(`${expanded(top, name)}\n`);
    describe(file, checked);
  }
}

/** The routes of the top level, or of an environment. */
function expanded(top: SettingsTable, name: string | null): string {
  const environments = isTable(top["env"]) ? top["env"] : {};
  const own = name === null ? top : environments[name];
  const vars = isTable(own) && isTable(own["vars"]) ? own["vars"] : {};
  return `${name === null ? "top level" : `env.${name}`}\n${expandedRoutes(vars)}`;
}

function lookFor(color: CheckOptions["color"]): TerminalLook {
  if (color === "auto") return lookOf(process.stderr);
  return color === "always" ? paintedLook : plainLook;
}

function count(findings: readonly ConfigFinding[], severity: Severity): number {
  return findings.filter((finding) => finding.severity === severity).length;
}

/** `2 errors, 1 warning`. */
function summary(findings: readonly ConfigFinding[]): string {
  const severities = ["error", "warning", "note"] as const;
  const parts = severities.map((severity) => counted(count(findings, severity), severity));
  return parts.filter((part) => !part.startsWith("0 ")).join(", ");
}

function describe(file: string, checked: readonly CheckedEnvironment[]): void {
  const configs = checked.flatMap(({ config }) => config ?? []);
  for (const { name, config } of checked) {
    if (config === null) continue;
    console.log(`${name === null ? "top level" : `env.${name}`}\n${describeConfig(config)}\n`);
  }
  const places = counted(checked.length, "environment");
  const routes = configs.flatMap((config) => config.routes);
  const others = ENTRY_KINDS.flatMap(({ noun, of }) => {
    const entries = configs.flatMap(of);
    return entries.length === 0 ? [] : [counted(entries.length, noun)];
  });
  const guarded = routes.filter(protectsKeys).length;
  const observed = routes.length - guarded;
  const counts = [
    ...(guarded > 0 || observed === 0 ? [counted(guarded, "protected route")] : []),
    ...(observed > 0 ? [counted(observed, "observed route")] : []),
    ...others,
  ];
  console.log(`${file}: fine, ${counts.join(" and ")} in ${places}`);
}

function counted(number: number, what: string): string {
  return number === 1 ? `1 ${what}` : `${number} ${what}s`;
}

function jsonOf(
  file: string,
  ok: boolean,
  findings: readonly ConfigFinding[],
  checked: readonly CheckedEnvironment[],
): object {
  const environments = checked.map(({ name, config }) => ({
    name,
    routes: config?.routes.map(flatRoute) ?? null,
    ...Object.fromEntries(
      ENTRY_KINDS.map((kind) => [kind.name, config === null ? null : kind.of(config).map(flatEntry)]),
    ),
  }));
  return { file, ok, problems: findings.map((finding) => findingJson(file, finding)), environments };
}

export function problemsOf(checked: readonly CheckedEnvironment[]): readonly ConfigProblem[] {
  return checked.flatMap((environment) => environment.problems);
}

/** One line for each problem, and how many there are: for commands that only use a configuration. */
export function problemLines(
  file: string,
  problems: readonly ConfigProblem[],
  language: FileLanguage,
): readonly string[] {
  const lines = problems.map(({ path, message }) => `${file}: ${path}: ${inLanguage(language, message)}`);
  return [...lines, problemCount(problems.length)];
}
