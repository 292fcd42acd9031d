// Runs `onceway` in this process: the same program, arguments, output and exit codes, without a start of Node for each case.

import type { Command } from "commander";
import { vi } from "vitest";
import { onceway } from "../../src/cli/program.ts";
import { run } from "../../src/cli/run.ts";
import type { CommandOutcome } from "./command-line.ts";

/** What a command reads of the environment, and what paints its output. */
const VARIABLES = ["ONCEWAY_URL", "ONCEWAY_TOKEN", "FORCE_COLOR", "NO_COLOR"];

/** The hosts of test files belong to somebody, or to nobody: only a test that names its own origins looks for them. */
function withoutNetwork(args: readonly string[]): readonly string[] {
  return args.includes("--online") ? args.filter((one) => one !== "--online") : [...args, "--offline"];
}

let isCalled = false;

/** One call at a time: the output is the process's own. */
export async function callOnceway(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  given?: Command,
): Promise<CommandOutcome> {
  if (isCalled) throw new TypeError("the command line is called while another call prints: run it as a process");
  isCalled = true;
  const printed = { stdout: "", stderr: "" };
  const into = (stream: "stdout" | "stderr", end: string) => (piece: unknown) => {
    printed[stream] += `${piece instanceof Uint8Array ? Buffer.from(piece).toString() : String(piece)}${end}`;
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(into("stdout", "")),
    vi.spyOn(process.stderr, "write").mockImplementation(into("stderr", "")),
    vi.spyOn(console, "log").mockImplementation(into("stdout", "\n")),
    vi.spyOn(console, "error").mockImplementation(into("stderr", "\n")),
  ];
  const { exitCode } = process;
  process.exitCode = 0;
  for (const name of VARIABLES) vi.stubEnv(name, env[name]);
  try {
    const command = given ?? (await onceway(args));
    await run(command, args[0] === "check" && !args.includes("--help") ? withoutNetwork(args) : args);
    return { code: process.exitCode, ...printed };
  } finally {
    isCalled = false;
    process.exitCode = exitCode;
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}
