// The command line: all commands, each of which has its own file. Runs nothing by itself.

import type { Command } from "commander";

import { NODE_FEATURES, NODE_FUNCTIONS } from "../features/node.ts";
import type { NodeCommand } from "../kernel/node-feature.ts";
import { runServe } from "../serve/serve.ts";
import { RECORD_ACTIONS } from "../operator/record-actions/record-actions.ts";
import { defineAction } from "./change-record.ts";
import { defineCheck } from "./check.ts";
import { defineConformance } from "./conformance.ts";
import { defineInit } from "./init.ts";
import { ownVersion } from "./installation.ts";
import { defineListRecords } from "./list-records.ts";
import { defineOpenapi } from "./openapi.ts";
import { newCommand } from "./run.ts";
import { defineShowRecord } from "./show-record.ts";
import { defineSessions } from "./sessions.ts";
import { defineTail } from "./tail.ts";
import { defineTry } from "./try.ts";
import { defineVerify } from "./verify.ts";

type OwnCommand = Omit<NodeCommand, "after">;

const OWN: readonly OwnCommand[] = [
  { name: "records", define: defineRecords },
  { name: "tail", define: defineTail },
  { name: "sessions", define: defineSessions },
];

const OF_FEATURES = NODE_FEATURES.flatMap(({ commands = [] }) => commands);

/** The commands that talk to a running gateway. */
const OPERATING: readonly OwnCommand[] = OWN.flatMap((own) =>
  [own].concat(OF_FEATURES.filter(({ after }) => after === own.name)),
);

export function onceway(): Command {
  const program = newCommand("onceway")
    .description("Makes, checks and operates an idempotency gateway.")
    .version(ownVersion(), "-v, --version", "print the version of this package")
    .addHelpText(
      "after",
      `\n${OPERATING.map(({ name }) => name).join(", ")} and try --queue talk to a running gateway: they need its URL (--url or ONCEWAY_URL)\n` +
        "and a token (ONCEWAY_TOKEN or --token-file). npx onceway COMMAND --help says more.",
    );

  program.commandsGroup("Set up and try:");
  defineInit(program.command("init"));
  defineCheck(program.command("check"));
  defineTry(program.command("try"), NODE_FUNCTIONS.tryQueue);
  defineVerify(program.command("verify"));
  defineConformance(program.command("conformance"));
  defineOpenapi(program.command("openapi"));
  defineServe(program.command("serve"));
  program.commandsGroup("Operate:");
  for (const { name, define } of OPERATING) define(program.command(name));
  return program;
}

function defineRecords(command: Command): void {
  command
    .summary("list records, show one, decide about them")
    .description(
      "Lists the records that a gateway keeps, shows one with its history, and lets an operator decide about them.",
    );
  defineListRecords(command.command("list"));
  defineShowRecord(command.command("show"));
  for (const action of RECORD_ACTIONS) defineAction(command.command(action.name), action);
  for (const { name, define } of NODE_FEATURES.flatMap(({ recordCommands = [] }) => recordCommands)) {
    define(command.command(name));
  }
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
