// `onceway init`: makes a project from a few answers, or writes a wrangler.toml alone. Decides what may be overwritten; must never
// write a wrangler.toml that `onceway check` refuses.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

import { type Command, Option } from "commander";
import { parse } from "smol-toml";

import { checkWranglerConfig } from "../config/check-file.ts";
import { askYes, openDialogue } from "./ask.ts";
import { problemLines, problemsOf } from "./check.ts";
import { type Paths, wranglerToml } from "./init-file.ts";
import {
  askWhatIsMissing,
  DEFAULT_NAME,
  DEFAULT_UNKNOWN,
  type PlanAnswers,
  nameProblem,
  originProblem,
  pathsProblem,
} from "./init-questions.ts";
import { projectFiles, projectPackage } from "./init-project.ts";
import { CODE, isInstalled, readTable, versionsFor } from "./installation.ts";
import { collect } from "./arguments.ts";
import { columns } from "./look.ts";
import { jsonBeside } from "./wrangler-file.ts";
import { Failure, messageOf, REFUSED, UNUSABLE } from "./exit-codes.ts";

export function defineInit(command: Command): Command {
  return command
    .summary("make a project, or write a wrangler.toml")
    .description(
      "Makes the project of a gateway in front of your API in DIR; or writes DIR alone, if its name ends in .toml. Asks on a terminal for what the options leave open.",
    )
    .argument("[DIR]", "the project's folder, or the file to write", isInstalled ? "." : "wrangler.toml")
    .option("--origin <URL>", "the API behind the gateway")
    .option("--route <PATH>", "a path to protect; may be repeated, the first that matches counts", collect)
    .option("--name <NAME>", `the Worker's name (default: "${DEFAULT_NAME}")`)
    .addOption(
      new Option("--unknown <WHAT>", `after a call whose outcome is not known (default: "${DEFAULT_UNKNOWN}")`).choices(
        ["hold", "retry"],
      ),
    )
    .option("-y, --yes", "ask nothing: take the defaults for what is not given")
    .option("-f, --force", "overwrite files without asking")
    .addHelpText("after", "\nExit codes: 0 written, 1 a file already exists, 2 wrong or missing answers.")
    .action(init);
}

interface InitOptions {
  readonly origin?: string;
  readonly route?: readonly string[];
  readonly name?: string;
  readonly unknown?: PlanAnswers["unknown"];
  readonly yes?: boolean;
  readonly force?: boolean;
}

async function init(target: string, options: InitOptions): Promise<void> {
  const { origin, route: routes, name, unknown } = options;
  refuse("--origin", origin === undefined ? undefined : originProblem(origin));
  refuse("--route", routes === undefined ? undefined : pathsProblem(routes));
  refuse("--name", name === undefined ? undefined : nameProblem(name));
  const given = {
    ...(origin === undefined ? {} : { origin }),
    ...(routes === undefined ? {} : { routes }),
    ...(name === undefined ? {} : { name }),
    ...(unknown === undefined ? {} : { unknown }),
  };
  const isFile = target.endsWith(".toml");
  const taken = isFile ? [target] : ["wrangler.toml", "src/index.ts"].map((file) => join(target, file));
  const toml = isFile ? target : join(target, "wrangler.toml");
  const json = jsonBeside(toml);
  if (json !== null) {
    const advice = "rename it, run this again, and write what it says into the new file";
    throw new Failure(REFUSED, `${json} exists, and Wrangler would read it instead of ${toml}: ${advice}.`);
  }
  const dialogue = options.yes === true ? null : openDialogue();
  for (const file of taken.filter((one) => existsSync(one) && options.force !== true)) {
    const overwrites = dialogue !== null && (await askYes(dialogue, `${file} already exists. Overwrite it?`));
    if (!overwrites) {
      const other = isFile ? "FILE" : "DIR";
      throw new Failure(REFUSED, `${file} already exists and was not changed: name another ${other}, or use --force.`);
    }
  }
  const answers = dialogue === null ? withDefaults(given) : await askWhatIsMissing(given, dialogue);
  if (isFile) writeFile(target, answers);
  else writeProject(target, answers);
}

function writeFile(file: string, answers: PlanAnswers): void {
  const text = wranglerToml({ ...answers, paths: pathsFrom(file) });
  refuseInvalid(file, text);
  write(new Map([[file, text]]));
  console.log(nextSteps(file));
}

function writeProject(folder: string, answers: PlanAnswers): void {
  const files = new Map([...projectFiles(answers)].map(([path, text]) => [join(folder, path), text]));
  const toml = join(folder, "wrangler.toml");
  refuseInvalid(toml, files.get(toml) ?? "");
  const manifest = join(folder, "package.json");
  const before = existsSync(manifest) ? readTable(manifest) : {};
  const versions = versionsFor(resolve(folder));
  files.set(manifest, `${JSON.stringify(projectPackage(answers.name, versions, before), null, 2)}\n`);
  // What the project's owner has made of these stays.
  if (existsSync(join(folder, ".gitignore"))) files.delete(join(folder, ".gitignore"));
  const secrets = join(folder, ".dev.vars");
  if (!existsSync(secrets)) files.set(secrets, `ADMIN_TOKEN=${randomBytes(32).toString("hex")}\n`);
  write(files, secrets);
  console.log(projectSteps(folder, answers));
}

/** Valid answers can still make an invalid file, so the checker decides. */
function refuseInvalid(file: string, text: string): void {
  const problems = problemsOf(checkWranglerConfig(parse(text)));
  if (problems.length > 0) {
    throw new Failure(UNUSABLE, ["Nothing was written, because of", ...problemLines(file, problems)].join("\n"));
  }
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

function withDefaults({ origin, routes, name, unknown }: Partial<PlanAnswers>): PlanAnswers {
  if (origin === undefined || routes === undefined) {
    const missing = [
      origin === undefined ? "--origin https://api.example.com" : "",
      routes === undefined ? "--route '/v1/payments/*'" : "",
    ];
    throw new Failure(
      UNUSABLE,
      `Missing options, and no terminal to ask on: write ${missing.filter((part) => part !== "").join(" ")}`,
    );
  }
  return { origin, routes, name: name ?? DEFAULT_NAME, unknown: unknown ?? DEFAULT_UNKNOWN };
}

function refuse(option: string, reason: string | undefined): void {
  if (reason !== undefined) throw new Failure(UNUSABLE, `${option} ${reason}`);
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

function projectSteps(folder: string, { routes }: PlanAnswers): string {
  const isHere = resolve(folder) === resolve(".");
  const path = routes[0]?.replace(/\/\*$/, "") ?? "/PATH";
  const steps = [
    [isHere ? "npm install" : `cd ${folder} && npm install`, "what package.json names"],
    ["npx onceway check", "what it protects, and whether it can be deployed"],
    ["npx wrangler dev", "the gateway on this machine"],
    [`npx onceway try http://127.0.0.1:8787${path}`, "send a request twice, and see what happens"],
    ["npx wrangler secret put ADMIN_TOKEN", "for the console and the operator API; on this machine it is in .dev.vars"],
    ["npx wrangler deploy", "the gateway on Cloudflare"],
  ];
  const where = isHere ? "The project is in this folder." : `The project is in ${folder}.`;
  return [`${where} Next:`, ...columns(steps).map((line) => `  ${line}`)].join("\n");
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
