// The command line: all commands, each of which has its own file. Runs nothing by itself.

import type { Command } from "commander";

import { NODE_FEATURES, NODE_FUNCTIONS } from "../features/node.ts";
import { ownVersion } from "./installation.ts";
import { newCommand } from "./run.ts";

/** A command, whose file is read when it is needed: what the others import would be most of its time. */
interface ProgramCommand {
  readonly name: string;
  readonly load: () => Promise<(command: Command) => unknown>;
}

const SETTING_UP: readonly ProgramCommand[] = [
  { name: "init", load: async () => (await import("./init.ts")).defineInit },
  { name: "check", load: async () => (await import("./check.ts")).defineCheck },
  { name: "try", load: loadTry },
  { name: "verify", load: async () => (await import("./verify.ts")).defineVerify },
  { name: "conformance", load: async () => (await import("./conformance.ts")).defineConformance },
  { name: "openapi", load: async () => (await import("./openapi.ts")).defineOpenapi },
  { name: "serve", load: () => Promise.resolve(defineServe) },
];

const OF_FEATURES = NODE_FEATURES.flatMap(({ commands = [] }) => commands);

/** The commands that talk to a running gateway. */
const OPERATING: readonly ProgramCommand[] = [
  { name: "records", load: loadRecords },
  ...ofFeaturesAfter("records"),
  { name: "tail", load: async () => (await import("./tail.ts")).defineTail },
  ...ofFeaturesAfter("tail"),
  { name: "sessions", load: async () => (await import("./sessions.ts")).defineSessions },
];

/** The program for these arguments: with the one command that they name, or with all of them. */
export async function onceway(args: readonly string[] = []): Promise<Command> {
  const program = newCommand("onceway")
    .description("Makes, checks and operates an idempotency gateway.")
    .version(ownVersion(), "-v, --version", "print the version of this package")
    .addHelpText(
      "after",
      `\n${OPERATING.map(({ name }) => name).join(", ")} and try --queue talk to a running gateway: they need its URL (--url or ONCEWAY_URL)\n` +
        "and a token (ONCEWAY_TOKEN or --token-file). npx onceway COMMAND --help says more.",
    );
  const named = [...SETTING_UP, ...OPERATING].find(({ name }) => name === args[0]);
  const isNeeded = (command: ProgramCommand): boolean => named === undefined || command === named;

  program.commandsGroup("Set up and try:");
  for (const command of SETTING_UP.filter(isNeeded)) (await command.load())(program.command(command.name));
  program.commandsGroup("Operate:");
  for (const command of OPERATING.filter(isNeeded)) (await command.load())(program.command(command.name));
  return program;
}

function ofFeaturesAfter(before: string): readonly ProgramCommand[] {
  return OF_FEATURES.filter(({ after }) => after === before).map(({ name, define }) => ({
    name,
    load: () => Promise.resolve(define),
  }));
}

async function loadRecords(): Promise<(command: Command) => void> {
  const { RECORD_ACTIONS } = await import("../operator/record-actions/record-actions.ts");
  const { defineAction } = await import("./change-record.ts");
  const { defineListRecords } = await import("./list-records.ts");
  const { defineShowRecord } = await import("./show-record.ts");
  return (command) => {
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
  };
}

async function loadTry(): Promise<(command: Command) => unknown> {
  const { defineTry } = await import("./try.ts");
  return (command) => defineTry(command, NODE_FUNCTIONS.tryQueue);
}

/** Hands its arguments to src/serve, which reads them by itself, because they are also those of a container's command. */
function defineServe(command: Command): void {
  command
    .summary("run the gateway on this machine, with its records on its disk")
    .argument("[ARGUMENTS...]")
    .helpOption(false)
    .allowUnknownOption()
    .action(async (args: readonly string[]) => {
      const { runServe } = await import("../serve/serve.ts");
      process.exitCode = await runServe(args);
    });
}
