// `onceway records`: its subcommands, each of which has its own file, and those of features.

import type { Command } from "commander";

import type { NodeCommand } from "../kernel/node-feature.ts";
import { RECORD_ACTIONS } from "../operator/record-actions/record-actions.ts";
import { defineAction } from "./change-record.ts";
import { defineListRecords } from "./list-records.ts";
import { defineShowRecord } from "./show-record.ts";

export function defineRecords(command: Command, ofFeatures: readonly Omit<NodeCommand, "after">[]): void {
  command
    .summary("list records, show one, decide about them")
    .description(
      "Lists the records that a gateway keeps, shows one with its history, and lets an operator decide about them.",
    );
  defineListRecords(command.command("list"));
  defineShowRecord(command.command("show"));
  for (const action of RECORD_ACTIONS) defineAction(command.command(action.name), action);
  for (const { name, define } of ofFeatures) define(command.command(name));
}
