// The command line: all commands, each of which has its own file. Runs nothing by itself.

import type { Command } from "commander";

import { runServe } from "../serve/serve.ts";
import { defineAudit } from "../features/audit/cli/audit.ts";
import { defineForget, defineRelease, defineResolve } from "./change.ts";
import { defineCheck } from "./check.ts";
import { defineConformance } from "./conformance.ts";
import { defineInit } from "./init.ts";
import { ownVersion } from "./installation.ts";
import { defineLayouts } from "./layouts.ts";
import { defineLs } from "./ls.ts";
import { defineOpenapi } from "./openapi.ts";
import { defineOutbox } from "../features/outbox/cli/outbox.ts";
import { definePlan } from "./plan.ts";
import { definePositions } from "../features/claims/cli/positions.ts";
import { newCommand } from "./run.ts";
import { defineShow } from "./show.ts";
import { defineSignOut } from "./sign-out.ts";
import { defineTail } from "./tail.ts";
import { defineTry } from "./try.ts";

export function onceway(): Command {
  const program = newCommand("onceway")
    .description("Makes, checks and operates an idempotency gateway.")
    .version(ownVersion(), "-v, --version", "print the version of this package")
    .addHelpText(
      "after",
      "\nls, show, release, resolve, forget, outbox, positions, tail, layouts, audit, sign-out and try --queue talk to a running gateway: they need its URL (--url or ONCEWAY_URL)\nand a token (ONCEWAY_TOKEN or --token-file). npx onceway COMMAND --help says more.",
    );

  program.commandsGroup("Set up and try:");
  defineInit(program.command("init"));
  defineCheck(program.command("check"));
  defineTry(program.command("try"));
  definePlan(program.command("plan"));
  defineConformance(program.command("conformance"));
  defineOpenapi(program.command("openapi"));
  defineServe(program.command("serve"));
  program.commandsGroup("Operate:");
  defineLs(program.command("ls"));
  defineShow(program.command("show"));
  defineRelease(program.command("release"));
  defineResolve(program.command("resolve"));
  defineForget(program.command("forget"));
  defineOutbox(program.command("outbox"));
  definePositions(program.command("positions"));
  defineTail(program.command("tail"));
  defineLayouts(program.command("layouts"));
  defineAudit(program.command("audit"));
  defineSignOut(program.command("sign-out"));
  return program;
}

/** Hands its arguments to src/serve, which reads them by itself, because they are also those of a container's command. */
function defineServe(command: Command): void {
  command
    .summary("run the gateway on this machine, with its records on its disk")
    .argument("[ARGUMENTS...]")
    .helpOption(false)
    .allowUnknownOption()
    .action(async (args: readonly string[]) => {
      process.exitCode = await runServe(args);
    });
}
