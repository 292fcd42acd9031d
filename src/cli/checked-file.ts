// Which file `onceway check` reads, and what it says of the others around it: a file that Wrangler does not read says nothing about what is
// deployed.

import { basename, dirname, resolve, join, relative } from "node:path";
import type { CheckedEnvironment } from "./check/file.ts";
import type { ConfigProblem, ConfigProblemCode } from "../kernel/config/config-problem.ts";
import { isTable, type SettingsTable } from "../kernel/config/table.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";
import { readInstead, unreadBeside, usualFile, nearestAbove, wranglerFileIn } from "./wrangler-file.ts";
import { existsSync, readFileSync } from "node:fs";
import { readJsonSyntax } from "./findings/json-syntax.ts";

type Redirected = Extract<DeployRedirect, { readonly kind: "redirected" }>;

export interface CheckedFile {
  readonly file: string;
  /** Why it is read without being named; `null`: it is named, or the project's own. */
  readonly redirect: Redirected | null;
}

/** `named`: what the user has asked for; by default what Wrangler deploys here. Throws a Failure where that is nothing. */
export function chooseFile(named: string | undefined): CheckedFile {
  if (named !== undefined) return { file: named, redirect: null };
  const redirect = redirectIn(".");
  if (redirect?.kind === "broken") throw new CommandFailure(EXIT_UNUSABLE, redirect.message);
  return { file: redirect?.file ?? usualFile(), redirect };
}

/** The environment that is asked for, as the file has it: one that was built has only its own, at the top level. */
export function environmentIn(
  { file, redirect }: CheckedFile,
  asked: string | undefined,
  table: SettingsTable,
): string | null {
  if (asked === undefined) return null;
  if (redirect === null) return asked;
  const { targetEnvironment: built } = table;
  if (asked === built) return null;
  const own = redirect.from === null ? "" : `, or check what it is made of: npx onceway check ${redirect.from}`;
  throw new CommandFailure(
    EXIT_UNUSABLE,
    `${file}, which Wrangler deploys here, was built for ${typeof built === "string" ? built : "the top level"}: build it for ${asked}${own}`,
  );
}

/** Adds what is to be said of the file as a whole. */
export function withOthers(
  { file, redirect }: CheckedFile,
  environment: CheckedEnvironment,
  table: SettingsTable,
): CheckedEnvironment {
  const { problems, warnings, notes } = environment;
  if (redirect !== null) {
    const { by, from } = redirect;
    const message = `Wrangler deploys this file, which a build has made${from === null ? "" : ` of ${from}`}, because ${by} names it`;
    return {
      ...environment,
      problems: [...builtEnvironments(table), ...problems],
      notes: [ofFile("file-redirected", message), ...notes],
    };
  }
  const other = readInstead(file);
  if (other !== null) {
    const isBeside = dirname(resolve(other)) === dirname(resolve(file));
    if (isBeside) {
      const message = `Wrangler reads the ${basename(other)} beside this file instead of it: write there what only this file says, and remove it`;
      return { ...environment, problems: [ofFile("setting-unused", message), ...problems] };
    }
    const message = `Wrangler reads ${other} instead of this file, because it looks for JSON in all folders above first: run it with --config ${basename(file)}, or remove that file`;
    return { ...environment, warnings: [ofFile("setting-unused", message), ...warnings] };
  }
  const unread = unreadBeside(file).map((name) =>
    ofFile(
      "setting-unused",
      `Wrangler does not read the ${name} beside this file: write here what only that file says, and remove it`,
    ),
  );
  return withRedirect(file, { ...environment, warnings: [...unread, ...warnings] });
}

/** What Wrangler does with this file if a build tool has left a redirect beside it. */
function withRedirect(file: string, environment: CheckedEnvironment): CheckedEnvironment {
  const redirect = redirectBeside(file);
  const { warnings, notes } = environment;
  if (redirect === null) return environment;
  if (redirect.kind === "broken") {
    return { ...environment, warnings: [ofFile("file-redirected", redirect.message), ...warnings] };
  }
  if (redirect.from === null || resolve(redirect.from) !== resolve(file)) return environment;
  const message = `Wrangler deploys ${redirect.file}, which a build has made of this file, because ${redirect.by} names it: run npx onceway check without a file's name to check that one`;
  return { ...environment, notes: [ofFile("file-redirected", message), ...notes] };
}

/** Wrangler refuses such a file. */
function builtEnvironments({ env }: SettingsTable): readonly ConfigProblem[] {
  if (!isTable(env) || Object.keys(env).length === 0) return [];
  const message = "Wrangler deploys no file with environments that a build has made: let the build tool choose one";
  return [{ path: "env", code: "file-redirected", message }];
}

/** About the file as a whole. */
function ofFile(code: ConfigProblemCode, message: string): ConfigProblem {
  return { path: "", code, message };
}

// Which file Wrangler deploys where a build tool, such as Cloudflare's plugin for Vite, has made a configuration of the project's own and
// redirected Wrangler to it. `wrangler deploy`, `versions` and `dev` without --config follow that; all else reads the project's own file.

/** Where build tools write it, beside the project's own file. */
const REDIRECT = ".wrangler/deploy/config.json";

export type DeployRedirect =
  | {
      readonly kind: "redirected";
      /** What is deployed. Like all paths here, relative to where this program runs. */
      readonly file: string;
      /** The file that says so. */
      readonly by: string;
      /** The project's own file, of which it was made; `null`: there is none. */
      readonly from: string | null;
    }
  /** Wrangler deploys nothing, and says so. `message`: why, and what to do. */
  | { readonly kind: "broken"; readonly message: string };

/** `null`: Wrangler deploys the project's own file (`wranglerFileIn`). */
export function redirectIn(folder: string): DeployRedirect | null {
  const redirect = nearestAbove(folder, REDIRECT);
  if (redirect === null) return null;
  const by = relative("", redirect);
  // Wrangler takes a byte order mark.
  const read = readJsonSyntax(readFileSync(redirect, "utf8").replace(/^\uFEFF/, ""));
  if (!read.ok) return broken(by, "is not JSON");
  const { configPath } = read.table;
  if (typeof configPath !== "string" || configPath === "") return broken(by, "names no file as configPath");
  const file = resolve(dirname(redirect), configPath);
  if (!existsSync(file)) return broken(by, `names ${relative("", file)}, which does not exist`);
  const from = wranglerFileIn(folder);
  if (from !== null && join(dirname(resolve(from)), REDIRECT) !== redirect) {
    return broken(by, `does not lie beside ${from}, which may be meant instead`);
  }
  if (from !== null && resolve(from) === file) return null;
  return { kind: "redirected", file: relative("", file), by, from };
}

/** The same for a file of the project, where a redirect lies beside it. */
export function redirectBeside(file: string): DeployRedirect | null {
  return existsSync(join(dirname(file), REDIRECT)) ? redirectIn(dirname(file)) : null;
}

function broken(by: string, why: string): DeployRedirect {
  return { kind: "broken", message: `Wrangler deploys nothing here, because ${by} ${why}: build again, or remove it` };
}
