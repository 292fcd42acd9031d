// `onceway show`: everything that is known of one record, or the bytes of its stored response.

import type { Command } from "commander";

import { lookOf } from "./look.ts";
import { connect, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { pickRecord, type RecordChoice, withRecordArgument } from "./pick-record.ts";
import { recordText } from "./record-text.ts";

interface ShowOptions extends OperatorOptions, RecordChoice {
  readonly body?: boolean;
}

export function defineShow(command: Command): Command {
  command
    .summary("show one record with its history")
    .description("Shows one record: its state, its attempts and what was done about it, its response.");
  withRecordArgument(command).option(
    "--body",
    "print the bytes of the stored response, and nothing else (needs ADMIN_TOKEN)",
  );
  return operatorCommand(command, "print the record as the API gives it").action(show);
}

async function show(id: string | undefined, options: ShowOptions): Promise<void> {
  const client = connect(options);
  const recordId = await pickRecord(client, id, options);
  if (options.body === true) {
    process.stdout.write(await client.body(recordId));
    return;
  }
  const record = await client.record(recordId);
  console.log(options.json === true ? JSON.stringify(record) : recordText(record, Date.now(), lookOf(process.stdout)));
}
