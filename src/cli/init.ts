// `onceway init`: makes a project from a few answers, or writes its configuration alone. Decides what may be overwritten; must never
// write a configuration whose top level `onceway check` refuses. In a folder with a wrangler.jsonc it adds to that one.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

import type { Command } from "commander";
import { stringify } from "smol-toml";

import { checkWranglerConfig } from "../config/check-file.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import { askYes, openDialogue } from "./ask.ts";
import { problemLines } from "./check.ts";
import { wranglerToml } from "./init-file.ts";
import { emptyJson, type JsonPlan, misshapen, withGateway } from "./init-json.ts";
import {
  type Paths,
  type PlanAnswers,
  type PlanOptions,
  readPlanOptions,
  withDefaults,
  withPlanOptions,
} from "./init-plan.ts";
import { askWhatIsMissing, nameFor } from "./init-questions.ts";
import { ENTRY, HONO_ENTRY, ignoring, misshapenSections, PROJECT_PATHS, projectPackage } from "./init-project.ts";
import { CODE, isInstalled, readTable, versionsFor } from "./installation.ts";
import { readBytes } from "./arguments.ts";
import type { Language } from "./findings/findings.ts";
import { columns } from "./look.ts";
import { languageOf, parseWranglerText, readWranglerFile, wranglerFileIn } from "./wrangler-file.ts";
import { Failure, messageOf, REFUSED, UNUSABLE } from "./exit-codes.ts";

export function defineInit(command: Command): Command {
  const described = command
    .summary("make a project, or write its configuration alone")
    .description(
      "Makes the project of a gateway in front of your API in DIR; or writes DIR alone, if its name ends in .toml, .jsonc or .json. A wrangler.jsonc that is there gets what it lacks, and keeps the rest. Asks on a terminal for what the options leave open.",
    )
    .argument("[DIR]", "the project's folder, or the file to write", isInstalled ? "." : "wrangler.toml");
  return withPlanOptions(described)
    .option("-y, --yes", "ask nothing: take the defaults for what is not given")
    .option("-f, --force", "overwrite files, and add to a wrangler.jsonc, without asking")
    .addHelpText("after", "\nExit codes: 0 written, 1 a file already exists, 2 wrong or missing answers.")
    .action(init);
}

interface InitOptions extends PlanOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
}

async function init(target: string, options: InitOptions): Promise<void> {
  const given = readPlanOptions(options);
  const isFile = /\.(?:toml|jsonc?)$/.test(target);
  const json = isFile ? null : jsonIn(target);
  const file = isFile ? target : (json ?? join(target, "wrangler.toml"));
  const isJson = languageOf(file) === "json";
  const usualName = nameFor(dirname(resolve(file)));
  // What JSON there is gets what it lacks, and the program that it names stays.
  const text = isJson && existsSync(file) ? readValid(file) : null;
  const there = isJson ? text : tableIn(file);
  // The program of an application stays.
  const program = options.hono === true ? [] : [join(target, PROJECT_PATHS.main)];
  const taken = isFile || json !== null ? [file] : [file, ...program];
  const dialogue = options.yes === true ? null : openDialogue();
  for (const path of taken.filter((one) => existsSync(one) && options.force !== true)) {
    const usual = { origin: "https://api.example.com", routes: ["/v1/payments/*"] };
    const addition =
      there === null
        ? null
        : withGateway(there, { ...withDefaults({ ...usual, ...given }, usualName), paths: PROJECT_PATHS });
    const question =
      !isJson || addition === null
        ? `${path} already exists. Overwrite it?`
        : `Add the gateway to ${path}${replacedWords(addition, ", and change ")}?`;
    if (dialogue !== null && (await askYes(dialogue, question))) continue;
    if (addition === null || path !== file) throw new Failure(REFUSED, existing(path, isFile));
    throw new Failure(REFUSED, isJson ? toAdd(path, addition) : toAddByHand(path, addition));
  }
  const answers =
    dialogue === null ? withDefaults(given, usualName) : await askWhatIsMissing(given, usualName, dialogue);
  const plan = { ...answers, paths: isFile ? pathsFrom(file) : PROJECT_PATHS };
  const config = isJson
    ? { file, ...withGateway(text ?? emptyJson(file, plan), plan) }
    : { file, text: wranglerToml(plan), main: plan.paths.main };
  refuseInvalid(config);
  if (isFile) writeAlone(config);
  else writeProject(target, config, answers);
}

interface PlannedFile {
  readonly file: string;
  readonly text: string;
  /** Seen from the file. */
  readonly main: string;
}

/** The JSON that Wrangler reads in a folder, if it is there itself: nothing else in the folder counts. */
function jsonIn(folder: string): string | null {
  const read = wranglerFileIn(folder);
  if (read === null || languageOf(read) === "toml") return null;
  const file = join(folder, basename(read));
  if (resolve(file) === resolve(read)) return file;
  const advice = `run npx onceway init ${join(folder, "wrangler.json")} instead, or rename that file`;
  throw new Failure(REFUSED, `Wrangler would read ${read} instead of a wrangler.toml in ${folder}: ${advice}.`);
}

/** What a valid file in TOML says, as JSON. */
function tableIn(file: string): string | null {
  const read = existsSync(file) ? readWranglerFile(file) : null;
  return read?.kind === "read" ? JSON.stringify(read.table) : null;
}

function readValid(file: string): string {
  const read = readWranglerFile(file);
  if (read.kind === "read") {
    refuseProblems(file, misshapen(read.table), read.language);
    return read.text;
  }
  throw new Failure(UNUSABLE, `${read.message}. Nothing was written: npx onceway check ${file} shows what to write.`);
}

function existing(file: string, isFile: boolean): string {
  return `${file} already exists and was not changed: name another ${isFile ? "FILE" : "DIR"}, or use --force.`;
}

function toAdd(file: string, plan: JsonPlan): string {
  const { added } = plan;
  const lacks = Object.keys(added).length > 0;
  if (!lacks)
    return `${file} already exists and lacks nothing that a gateway needs: npx onceway check ${file} says what it protects.`;
  const json = JSON.stringify(added, null, 2);
  const rest = plan.replaced.length === 0 ? ", and leaves the rest as it is" : replacedWords(plan, ", and changes ");
  return `${file} already exists and was not changed. It lacks this. --force adds it${rest}:\n${json}`;
}

/** A file in TOML keeps its comments and its order only where a person writes. */
function toAddByHand(file: string, { added }: JsonPlan): string {
  return `${file} already exists and was not changed: --force overwrites it. To keep it, add what it lacks, what is before the first [table] above yours:\n${stringify(added)}`;
}

/** `, and changes compatibility_date from A to B`; nothing where all that is there stays. */
function replacedWords({ replaced }: JsonPlan, before: string): string {
  return replaced.map(({ name, from, to }) => `${before}${name} from ${String(from)} to ${String(to)}`).join("");
}

function writeAlone({ file, text }: PlannedFile): void {
  write(new Map([[file, text]]));
  console.log(nextSteps(file));
}

function writeProject(folder: string, { file, text, main }: PlannedFile, answers: PlanAnswers): void {
  const program = join(folder, main);
  // A file in JSON has been added to, and what it named before stays.
  const isHono = answers.origin === null;
  const isOwn = (isHono || languageOf(file) === "json") && existsSync(program);
  const files = new Map([[file, text]]);
  if (!isOwn) files.set(program, isHono ? HONO_ENTRY : ENTRY);
  const ignored = join(folder, ".gitignore");
  files.set(ignored, ignoring(existsSync(ignored) ? readBytes(ignored).toString() : ""));
  const manifest = join(folder, "package.json");
  const before = existsSync(manifest) ? readTable(manifest) : {};
  const [section] = misshapenSections(before);
  if (section !== undefined) {
    throw new Failure(UNUSABLE, `${manifest}: ${section} must be an object: mend it first. Nothing was written.`);
  }
  const versions = versionsFor(resolve(folder));
  files.set(manifest, `${JSON.stringify(projectPackage(answers.name, versions, before, isHono), null, 2)}\n`);
  const secrets = join(folder, ".dev.vars");
  if (!existsSync(secrets)) files.set(secrets, `ADMIN_TOKEN=${randomBytes(32).toString("hex")}\n`);
  write(files, secrets);
  console.log(projectSteps(folder, answers, isOwn ? program : null));
}

/** Valid answers can still make an invalid file, so the checker decides. What other environments lack, it says later. */
function refuseInvalid({ file, text }: PlannedFile): void {
  const read = parseWranglerText(file, text);
  if (read.kind !== "read") throw new Failure(UNUSABLE, read.message);
  const problems = checkWranglerConfig(read.table).flatMap((one) => (one.name === null ? one.problems : []));
  refuseProblems(file, problems, read.language);
}

function refuseProblems(file: string, problems: readonly ConfigProblem[], language: Language): void {
  if (problems.length === 0) return;
  const lines = problemLines(file, problems, language);
  throw new Failure(UNUSABLE, ["Nothing was written, because of", ...lines].join("\n"));
}

/** Only this user may read `secret`. */
function write(files: ReadonlyMap<string, string>, secret?: string): void {
  for (const [file, text] of files) {
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, file === secret ? { mode: 0o600 } : {});
    } catch (error) {
      throw new Failure(UNUSABLE, `${file}: cannot be written (${messageOf(error)})`);
    }
  }
}

/** wrangler reads `main` relative to the file, and through its symbolic links. */
function pathsFrom(file: string): Paths {
  const folder = dirname(resolve(file));
  const realFolder = existsSync(folder) ? realpathSync(folder) : folder;
  const seen = (path: string): string => {
    const found = relative(realFolder, realpathSync(path)).split(sep).join("/");
    return found.startsWith(".") ? found : `./${found}`;
  };
  return { main: seen(CODE.main), schema: seen(CODE.schema), settings: seen(CODE.settings) };
}

/** `program`: one that was there, and is not the gateway's. */
function projectSteps(folder: string, { origin, routes }: PlanAnswers, program: string | null): string {
  const isHere = resolve(folder) === resolve(".");
  const path = routes[0]?.replace(/\/\*$/, "") ?? "/PATH";
  const steps = [
    [isHere ? "npm install" : `cd ${folder} && npm install`, "what package.json names"],
    ["npx onceway check", "what it protects, and whether it can be deployed"],
    ["npx wrangler dev", "the gateway on this machine"],
    [`npx onceway try http://127.0.0.1:8787${path}`, "send a request twice, and see what happens"],
    [
      "npx wrangler secret put ADMIN_TOKEN",
      "token of the console, http://127.0.0.1:8787/_onceway (here: in .dev.vars)",
    ],
    ["npx wrangler deploy", "the gateway on Cloudflare"],
  ];
  const where = isHere ? "The project is in this folder." : `The project is in ${folder}.`;
  return [
    ...(program === null ? [] : [...(origin === null ? honoSteps(program) : programSteps(program)), ""]),
    `${where} Next:`,
    ...columns(steps).map((line) => `  ${line}`),
  ].join("\n");
}

function honoSteps(program: string): readonly string[] {
  const lines = HONO_ENTRY.split("\n").filter((line) => /onceway|app\.use|Origin/.test(line));
  return [
    `${program} was left as it is. Add what is missing of these lines to your application, app.use before all handlers:`,
    ...lines.map((line) => `  ${line}`),
  ];
}

function programSteps(program: string): readonly string[] {
  return [
    `${program} was left as it is. If it has other work to do, write export { KeyShard } from "onceway" there, and see`,
    '"In a Worker of your own" in node_modules/onceway/src/package/README.md. If not, replace all of it by this line:',
    `  ${ENTRY.trimEnd()}`,
  ];
}

function nextSteps(file: string): string {
  const isUsual = resolve(file) === resolve("wrangler.toml");
  const config = isUsual ? "" : ` --config ${file}`;
  const steps = [
    [`npx onceway check${isUsual ? "" : ` ${file}`}`, "what it protects, and whether it can be deployed"],
    [`npx wrangler dev${config}`, "the gateway on this machine"],
    ["npx onceway try http://127.0.0.1:8787/PATH", "send a request twice, and see what happens"],
    [`npx wrangler deploy${config}`, "the gateway on Cloudflare"],
  ];
  return [`${file} written. Next:`, ...columns(steps).map((line) => `  ${line}`)].join("\n");
}
