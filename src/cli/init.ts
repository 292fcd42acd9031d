// `onceway init`: makes a project from a few answers, or writes its configuration alone. Decides what may be overwritten; must never
// write a configuration whose top level `onceway check` refuses. In a folder with a wrangler.jsonc it adds to that one.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

import type { Command } from "commander";
import { parse } from "jsonc-parser";
import { stringify } from "smol-toml";

import { checkWranglerConfig } from "./check/file.ts";
import type { ConfigProblem } from "../kernel/config/config-problem.ts";
import { isTable } from "../kernel/config/table.ts";
import { askYes, type TerminalDialogue, openDialogue } from "./ask.ts";
import { problemLines } from "./check.ts";
import { wranglerToml } from "./init-file.ts";
import { emptyJson, type JsonPlan, misshapenProblems, withGateway } from "./init-json.ts";
import {
  type ProjectPaths,
  type PlanAnswers,
  type PlanOptions,
  placementNote,
  readPlanOptions,
  withDefaults,
  withPlanOptions,
} from "./init-plan.ts";
import { askWhatIsMissing, nameFor } from "./init-questions.ts";
import { nextSteps, projectSteps } from "./init-steps.ts";
import { ENTRY, HONO_ENTRY, ignoreFile, misshapenSections, PROJECT_PATHS, projectPackage } from "./init-project.ts";
import { CODE, isInstalled, readTable, versionsFor } from "./installation.ts";
import { readBytes } from "./arguments.ts";
import type { FileLanguage } from "./findings/findings.ts";
import { languageOf, parseWranglerText, readWranglerFile, wranglerFileIn } from "./wrangler-file.ts";
import { CommandFailure, messageOf, EXIT_REFUSED, EXIT_UNUSABLE } from "./exit-codes.ts";

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
    .action((target: string, options: InitOptions) =>
      init(target, options, options.yes === true ? null : openDialogue()),
    );
}

interface InitOptions extends PlanOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
}

/** `dialogue`: `null` where nobody is asked. */
export async function init(target: string, options: InitOptions, dialogue: TerminalDialogue | null): Promise<void> {
  const asked = readPlanOptions(options);
  const isFile = /\.(?:toml|jsonc?)$/.test(target);
  const json = isFile ? null : jsonIn(target);
  const file = isFile ? target : (json ?? join(target, "wrangler.toml"));
  const isJson = languageOf(file) === "json";
  // What JSON there is gets what it lacks, and the program that it names stays.
  const text = isJson && existsSync(file) ? readValid(file) : null;
  const there = isJson ? text : tableIn(file);
  const named = there === null ? undefined : nameIn(there);
  const usualName = named ?? nameFor(dirname(resolve(file)));
  // A name that stays is not asked for.
  const given = isJson && named !== undefined ? { name: named, ...asked } : asked;
  const isTaken = options.force !== true && existsSync(file);
  const usual = { origin: "https://api.example.com", routes: ["/v1/payments/*"] };
  const addable =
    isTaken && there !== null
      ? { file, isJson, plan: (one: PlanAnswers) => withGateway(there, { ...one, paths: PROJECT_PATHS }) }
      : null;
  if (addable !== null) refuseToAdd(addable, withDefaults({ ...usual, ...given }, usualName), dialogue);
  // The program of an application stays.
  const hasProgram = !isFile && json === null && options.hono !== true && options.force !== true;
  const program = join(target, PROJECT_PATHS.main);
  const overwritten = [
    ...(isTaken && addable === null ? [file] : []),
    ...(hasProgram && existsSync(program) ? [program] : []),
  ];
  for (const path of overwritten) {
    if (dialogue !== null && (await askYes(dialogue, `${path} already exists. Overwrite it?`))) continue;
    throw new CommandFailure(EXIT_REFUSED, existing(path, isFile));
  }
  const answers =
    dialogue === null ? withDefaults(given, usualName) : await askWhatIsMissing(given, usualName, dialogue);
  if (addable !== null && dialogue !== null) await askToChange(addable, answers, dialogue);
  const plan = { ...answers, paths: isFile ? pathsFrom(file) : PROJECT_PATHS };
  const config = isJson
    ? { file, ...withGateway(text ?? emptyJson(file, plan), plan) }
    : { file, text: wranglerToml(plan), main: plan.paths.main };
  refuseInvalid(config);
  if (isFile) writeAlone(config);
  else writeProject(target, config, answers);
  const note = placementNote(answers.near);
  if (note !== null) console.log(`\n${note}`);
}

/** A file that is there and that a gateway can be added to. */
interface Addable {
  readonly file: string;
  readonly isJson: boolean;
  readonly plan: (answers: PlanAnswers) => JsonPlan;
}

function lackOf({ file, isJson, plan }: Addable, answers: PlanAnswers): string {
  return isJson ? toAdd(file, plan(answers)) : toAddByHand(file, plan(answers));
}

/** Where nobody can be asked, or nothing is lacking. */
function refuseToAdd(file: Addable, usual: PlanAnswers, dialogue: TerminalDialogue | null): void {
  const isWhole = file.isJson && Object.keys(file.plan(usual).added).length === 0;
  if (dialogue === null || isWhole) throw new CommandFailure(EXIT_REFUSED, lackOf(file, usual));
}

/** Asked after all other questions: whoever says no is shown what to write, by the answers. */
async function askToChange(file: Addable, answers: PlanAnswers, dialogue: TerminalDialogue): Promise<void> {
  const isSure = file.isJson
    ? await askYes(
        dialogue,
        `Add the gateway to ${file.file}${replacedWords(file.plan(answers), ", and change ")}?`,
        true,
      )
    : await askYes(dialogue, `${file.file} already exists. Overwrite it? (No: you are shown what it lacks)`);
  if (!isSure) throw new CommandFailure(EXIT_REFUSED, lackOf(file, answers));
}

/** The Worker's name that a file says, as JSON. */
function nameIn(json: string): string | undefined {
  const table: unknown = parse(json);
  return isTable(table) && typeof table["name"] === "string" ? table["name"] : undefined;
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
  throw new CommandFailure(
    EXIT_REFUSED,
    `Wrangler would read ${read} instead of a wrangler.toml in ${folder}: ${advice}.`,
  );
}

/** What a valid file in TOML says, as JSON. */
function tableIn(file: string): string | null {
  const read = existsSync(file) ? readWranglerFile(file) : null;
  return read?.kind === "read" ? JSON.stringify(read.table) : null;
}

function readValid(file: string): string {
  const read = readWranglerFile(file);
  if (read.kind === "read") {
    refuseProblems(file, misshapenProblems(read.table), read.language);
    return read.text;
  }
  throw new CommandFailure(
    EXIT_UNUSABLE,
    `${read.message}. Nothing was written: npx onceway check ${file} shows what to write.`,
  );
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
  files.set(ignored, ignoreFile(existsSync(ignored) ? readBytes(ignored).toString() : ""));
  const manifest = join(folder, "package.json");
  const before = existsSync(manifest) ? readTable(manifest) : {};
  const [section] = misshapenSections(before);
  if (section !== undefined) {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      `${manifest}: ${section} must be an object: mend it first. Nothing was written.`,
    );
  }
  const versions = versionsFor(resolve(folder));
  files.set(manifest, `${JSON.stringify(projectPackage(answers.name, versions, before, isHono), null, 2)}\n`);
  const secrets = join(folder, ".dev.vars");
  if (!existsSync(secrets)) files.set(secrets, `ADMIN_TOKEN=${randomBytes(32).toString("hex")}\nONCEWAY_PLACE=local\n`);
  write(files, secrets);
  console.log(projectSteps(folder, answers, isOwn ? program : null, versions.node !== null));
}

/** Valid answers can still make an invalid file, so the checker decides. What other environments lack, it says later. */
function refuseInvalid({ file, text }: PlannedFile): void {
  const read = parseWranglerText(file, text);
  if (read.kind !== "read") throw new CommandFailure(EXIT_UNUSABLE, read.message);
  const problems = checkWranglerConfig(read.table).flatMap((one) => (one.name === null ? one.problems : []));
  refuseProblems(file, problems, read.language);
}

function refuseProblems(file: string, problems: readonly ConfigProblem[], language: FileLanguage): void {
  if (problems.length === 0) return;
  const lines = problemLines(file, problems, language);
  throw new CommandFailure(EXIT_UNUSABLE, ["Nothing was written, because of", ...lines].join("\n"));
}

/** Only this user may read `secret`. */
function write(files: ReadonlyMap<string, string>, secret?: string): void {
  for (const [file, text] of files) {
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, file === secret ? { mode: 0o600 } : {});
    } catch (error) {
      throw new CommandFailure(EXIT_UNUSABLE, `${file}: cannot be written (${messageOf(error)})`);
    }
  }
}

/** wrangler reads `main` relative to the file, and through its symbolic links. */
function pathsFrom(file: string): ProjectPaths {
  const folder = dirname(resolve(file));
  const realFolder = existsSync(folder) ? realpathSync(folder) : folder;
  const seen = (path: string): string => {
    const found = relative(realFolder, realpathSync(path)).split(sep).join("/");
    return found.startsWith(".") ? found : `./${found}`;
  };
  return { main: seen(CODE.main), schema: seen(CODE.schema), settings: seen(CODE.settings) };
}
