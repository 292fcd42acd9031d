// `onceway sign-out`: ends every session of a gateway's console, when a browser or its cookie falls into the wrong hands.

import type { Command } from "commander";

import { jsonLine } from "./look.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "./operator-options.ts";

export function defineSignOut(command: Command): Command {
  command
    .summary("end every session of the console")
    .description("Ends every session of the console, whoever started it. The tokens stay valid.");
  return operatorCommand(command, "print what the API answers").action(signOut);
}

async function signOut(options: OperatorOptions): Promise<void> {
  await connectOperator(options).endSessions();
  console.log(options.json === true ? jsonLine({ ended: true }) : "ended: all sessions of the console");
}
