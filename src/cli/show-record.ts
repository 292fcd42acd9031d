// `onceway records show`: everything that is known about one record, or the bytes of its stored response.

import type { Command } from "commander";

import { writePieces } from "./arguments.ts";
import { jsonLine, lookOf } from "./look.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";
import { pickRecord, type RecordChoice, withRecordArgument } from "./pick-record.ts";
import { recordText } from "./record-text.ts";

interface ShowOptions extends OperatorOptions, RecordChoice {
  readonly body?: boolean;
  readonly output?: string;
}

export function defineShowRecord(command: Command): Command {
  command
    .summary("show one record with its history")
    .description("Shows one record: its state, its attempts and what operators did, its response.");
  withRecordArgument(command)
    .option("--body", "the bytes of the stored response, and nothing else (needs ADMIN_TOKEN); not on a terminal")
    .option("--output <FILE>", "with --body: where they go, instead of the standard output");
  return operatorCommand(command, "print the record as the API gives it").action(show);
}

async function show(id: string | undefined, options: ShowOptions): Promise<void> {
  if (options.output !== undefined && options.body !== true) {
    throw new CommandFailure(EXIT_UNUSABLE, "--output needs --body.");
  }
  // Otherwise the response could control the terminal.
  if (options.body === true && options.output === undefined && process.stdout.isTTY) {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      "A body may hold control characters, so it is not written to a terminal: add --output FILE, or redirect it with > FILE.",
    );
  }
  const client = connectOperator(options);
  const recordId = await pickRecord(client, id, options);
  if (options.body === true) {
    await writePieces(options.output ?? null, await client.body(recordId));
    return;
  }
  const record = await client.record(recordId);
  console.log(options.json === true ? jsonLine(record) : recordText(record, Date.now(), lookOf(process.stdout)));
}
