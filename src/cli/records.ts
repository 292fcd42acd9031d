// `onceway records`: lists the records that a gateway keeps, shows one, changes one or all that match.

import type { Command } from "commander";

import { RECORD_ACTIONS } from "../operator/record-actions/record-actions.ts";
import { defineAction } from "./change-record.ts";
import { defineListRecords } from "./list-records.ts";
import { defineShowRecord } from "./show-record.ts";

export function defineRecords(command: Command): void {
  command
    .summary("list records, show one, decide about them")
    .description(
      "Lists the records that a gateway keeps, shows one with its history, and lets an operator decide about them.",
    );
  defineListRecords(command.command("list"));
  defineShowRecord(command.command("show"));
  for (const action of RECORD_ACTIONS) defineAction(command.command(action.name), action);
}
