// `onceway serve`: hands its arguments to src/serve, which reads them by itself, because they are also those of a container's command.

import type { Command } from "commander";

import { runServe } from "../serve/serve.ts";

export function defineServe(command: Command): Command {
  return command
    .summary("run the gateway on this machine, with its records on its disk")
    .argument("[ARGUMENTS...]")
    .helpOption(false)
    .allowUnknownOption()
    .action(async (args: readonly string[]) => {
      process.exitCode = await runServe(args);
    });
}
