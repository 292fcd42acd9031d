// Runs `onceway` as a user does: a real process under the project's Node, with its output and its exit code.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { projectDir } from "./wrangler.ts";

export interface CommandOutcome {
  /** -1: a signal has ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  /** Resolves when stdout contains the text; rejects if the process ends first. */
  printed(text: string): Promise<void>;
  /** The same for stderr. */
  complained(text: string): Promise<void>;
  /** Ctrl-C. */
  interrupt(): void;
  readonly outcome: Promise<CommandOutcome>;
}

const NODE = join(projectDir, "node_modules/.bin/node");
const SCRIPT = join(projectDir, "src/cli/onceway.ts");

/** The process gets no variables of the test's own shell, and no terminal. */
export function startOnceway(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = "",
): RunningCommand {
  // The hosts of test files belong to somebody, or to nobody.
  const offline = args[0] === "check" && !args.includes("--help") ? ["--offline"] : [];
  const child = spawn(NODE, [SCRIPT, ...args, ...offline], {
    cwd: projectDir,
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
  });
  child.stdin.end(input);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const outcome = once(child, "close").then(() => ({ code: child.exitCode ?? -1, stdout, stderr }));
  const until = (stream: Readable, has: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (has()) resolve();
      };
      stream.on("data", look);
      look();
      void outcome.then(() => reject(new Error(`ended before it printed what was awaited:\n${stdout}${stderr}`)));
    });
  return {
    outcome,
    printed: (text) => until(child.stdout, () => stdout.includes(text)),
    complained: (text) => until(child.stderr, () => stderr.includes(text)),
    interrupt: () => void child.kill("SIGINT"),
  };
}

export function runOnceway(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = "",
): Promise<CommandOutcome> {
  return startOnceway(args, env, input).outcome;
}
