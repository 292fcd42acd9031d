// `onceway sessions`: ends every session of a gateway's console, when a browser or its cookie falls into the wrong hands.

import type { Command } from "commander";

import { healthSchema } from "../operator/gateway-schema.ts";
import { jsonLine } from "./look.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "./operator-options.ts";

export function defineSessions(command: Command): void {
  command.summary("end every session of the console").description("Ends sessions of the console.");
  const end = command
    .command("end")
    .summary("end every session of the console")
    .description("Ends every session of the console, whoever started it. The tokens stay valid.");
  end.option("--dry-run", "end none: only check the token, and that the gateway answers");
  operatorCommand(end, "print what the API answers").action(endSessions);
}

interface EndOptions extends OperatorOptions {
  readonly dryRun?: boolean;
}

async function endSessions(options: EndOptions): Promise<void> {
  const client = connectOperator(options);
  if (options.dryRun === true) {
    await client.read(healthSchema, "/health");
    console.log(
      options.json === true ? jsonLine({ ended: false }) : "nothing was ended: all sessions of the console would be",
    );
    return;
  }
  await client.endSessions();
  console.log(options.json === true ? jsonLine({ ended: true }) : "ended: all sessions of the console");
}
