// Runs a commander program: turns every way in which it can end into an exit code and at most one message on stderr. Knows no
// command.

import { Command, CommanderError } from "commander";

import { printableLines } from "./look.ts";
import { CommandFailure, OK, EXIT_UNUSABLE } from "./exit-codes.ts";

/** A command that reports wrong usage instead of ending the process. Its subcommands do the same. */
export function newCommand(name: string): Command {
  return new Command(name).exitOverride().showHelpAfterError(`(${name} --help says more)`);
}

/** The whole of a process. */
export async function main(command: Command, args: readonly string[]): Promise<void> {
  // The reader of the output has gone (`onceway tail | head`): not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(OK);
  });
  await run(command, args);
}

/** Sets the process's exit code. Rethrows unexpected errors: they are bugs. */
export async function run(command: Command, args: readonly string[]): Promise<void> {
  try {
    await command.parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      // commander has printed what is wrong; its own code for that is 1.
      process.exitCode = error.exitCode === 0 ? OK : EXIT_UNUSABLE;
    } else if (error instanceof CommandFailure) {
      // The message may quote a server or a record.
      process.stderr.write(`${printableLines(error.message)}\n`);
      process.exitCode = error.exitCode;
    } else {
      throw error;
    }
  }
}
