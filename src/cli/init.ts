// `onceway init`: writes a wrangler.toml from a few answers. Decides what may be overwritten; must never write a file
// that `onceway check` refuses.

import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { type Command, Option } from "commander";
import { parse } from "smol-toml";

import { checkWranglerConfig } from "../config/check-file.ts";
import { askYes, openDialogue } from "./ask.ts";
import { problemLines, problemsOf } from "./check.ts";
import { wranglerToml } from "./init-file.ts";
import {
  askWhatIsMissing,
  DEFAULT_NAME,
  DEFAULT_UNKNOWN,
  type PlanAnswers,
  nameProblem,
  originProblem,
  pathsProblem,
} from "./init-questions.ts";
import { collect } from "./arguments.ts";
import { columns } from "./look.ts";
import { Failure, messageOf, REFUSED, UNUSABLE } from "./exit-codes.ts";

const SOURCE_DIR = fileURLToPath(new URL("..", import.meta.url));

export function defineInit(command: Command): Command {
  return command
    .summary("write a wrangler.toml")
    .description("Writes FILE for a gateway in front of your API. Asks on a terminal for what the options leave open.")
    .argument("[FILE]", "what to write", "wrangler.toml")
    .option("--origin <URL>", "the API behind the gateway")
    .option("--route <PATH>", "a path to protect; may be repeated, the first that matches counts", collect)
    .option("--name <NAME>", `the Worker's name (default: "${DEFAULT_NAME}")`)
    .addOption(
      new Option("--unknown <WHAT>", `after a call whose outcome is not known (default: "${DEFAULT_UNKNOWN}")`).choices(
        ["hold", "retry"],
      ),
    )
    .option("-y, --yes", "ask nothing: take the defaults for what is not given")
    .option("-f, --force", "overwrite FILE without asking")
    .addHelpText("after", "\nExit codes: 0 written, 1 FILE already exists, 2 wrong or missing answers.")
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

async function init(file: string, options: InitOptions): Promise<void> {
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
  const dialogue = options.yes === true ? null : openDialogue();
  if (existsSync(file) && options.force !== true) {
    const overwrites = dialogue !== null && (await askYes(dialogue, `${file} already exists. Overwrite it?`));
    if (!overwrites) {
      throw new Failure(REFUSED, `${file} already exists and was not changed: name another FILE, or use --force.`);
    }
  }
  const answers = dialogue === null ? withDefaults(given) : await askWhatIsMissing(given, dialogue);
  const text = wranglerToml({ ...answers, sourceDir: sourceDirFrom(file) });
  // Valid answers can still make an invalid file, so the checker decides.
  const problems = problemsOf(checkWranglerConfig(parse(text)));
  if (problems.length > 0) {
    throw new Failure(UNUSABLE, ["Nothing was written, because of", ...problemLines(file, problems)].join("\n"));
  }
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new Failure(UNUSABLE, `${file}: cannot be written (${messageOf(error)})`);
  }
  console.log(nextSteps(file));
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
function sourceDirFrom(file: string): string {
  const folder = dirname(resolve(file));
  const realFolder = existsSync(folder) ? realpathSync(folder) : folder;
  const path = relative(realFolder, realpathSync(SOURCE_DIR)).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
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
