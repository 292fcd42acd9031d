// `onceway records release`, `resolve` and the other actions on a record, each as it is declared (src/operator/record-actions). Every action says
// why, which the record keeps. The gateway decides what is allowed.

import { type Command, InvalidArgumentError } from "commander";

import { NODE_FUNCTIONS } from "../features/node.ts";
import type { RecordAction } from "../operator/record-actions/action.ts";
import { ACTION_TEXTS, type RecordActionName } from "../operator/record-actions/record-actions.ts";
import { askAfterPreview, checkPreview, type PreviewOptions } from "./ask.ts";
import { collectValues, readBytes, readHeader } from "./arguments.ts";
import { jsonLine, lookOf } from "./look.ts";
import type { ActionAnswer, RecordConditions, ResolvedResponse } from "./operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";
import { checkReason, readReason } from "./reason.ts";
import { pickRecord, type RecordChoice, withRecordArgument } from "./pick-record.ts";
import { previewText, recordText } from "./record-text.ts";

type Action = RecordAction<RecordActionName>;

export interface ChangeAllOptions extends OperatorOptions, PreviewOptions, Omit<RecordConditions, "id"> {
  readonly all?: boolean;
  readonly asOf?: string;
}

/** What `--all` does: a change of all records that match. */
export interface BulkChanges {
  /** Adds the options. */
  readonly withAll: (command: Command) => Command;
  /** Whether all records that match are meant. Throws a Failure if the arguments contradict each other. */
  readonly meansAll: (id: string | undefined, options: ChangeAllOptions) => boolean;
  readonly changeAll: (
    action: Action,
    why: string,
    options: ChangeAllOptions,
    response: ResolvedResponse | null,
  ) => Promise<void>;
}

const NO_BULK: BulkChanges = {
  withAll: (command) => command,
  meansAll: () => false,
  changeAll: () => Promise.reject(new CommandFailure(EXIT_UNUSABLE, "This gateway changes one record at a time.")),
};

function bulk(): BulkChanges {
  return NODE_FUNCTIONS.bulkChanges ?? NO_BULK;
}

interface ResponseOptions {
  readonly header?: readonly string[];
  readonly body?: string;
  readonly bodyFile?: string;
}

interface ChangeOptions extends RecordChoice, ResponseOptions, Omit<ChangeAllOptions, "status"> {
  readonly reason?: string;
  readonly text?: string;
  /** A condition with `--all`; of the response, if the action takes one. */
  readonly status?: string;
}

export function defineAction(command: Command, action: Action): Command {
  const { summary, description, members } = ACTION_TEXTS[action.name];
  const { why, takesResponse } = action;
  command
    .summary(asImperative(summary))
    .description(
      `${description} With --all, for all records that match, after counting them${takesResponse ? ": each gets this same response" : ""}.`,
    );
  if (takesResponse) withResponse(command);
  else command.option("--status <STATUS>", "with --all: only those whose result has this status: 201");
  command
    .option(
      "--dry-run",
      takesResponse
        ? "show what retries would get, and change nothing"
        : "change nothing, and say whether it would be done",
    )
    .option(
      "--yes",
      takesResponse
        ? "do not ask for confirmation; required without a terminal"
        : "with --all: do not ask for confirmation; needs --as-of",
    );
  bulk()
    .withAll(withRecordArgument(command))
    .option(`--${why} <TEXT>`, `${asPhrase(members[why]?.description ?? why)} (asked for on a terminal)`);
  return operatorCommand(command, "print what the API answers").action(
    (id: string | undefined, options: ChangeOptions) => change(action, id, options),
  );
}

function withResponse(command: Command): void {
  command
    .requiredOption("--status <N>", "of the response: 201", readStatus)
    .option("-H, --header <HEADER>", "'content-type: application/json'; may be repeated", collectValues, [])
    .option("--body <TEXT>", "the response's body (default: empty)")
    .option("--body-file <FILE>", "the body from a file, byte for byte");
}

async function change(action: Action, id: string | undefined, options: ChangeOptions): Promise<void> {
  const response = action.takesResponse ? givenResponse(options) : null;
  const isDry = options.dryRun === true;
  if (response !== null)
    checkPreview(options, "Every retry would get this response: check it with --dry-run, then add --yes.");
  const { status, ...others } = options;
  const conditions: ChangeAllOptions = response === null && status !== undefined ? { ...others, status } : others;
  if (bulk().meansAll(id, conditions)) {
    return bulk().changeAll(action, await readReason(options, action.why), conditions, response);
  }
  const client = connectOperator(options);
  checkReason(options, action.why);
  const recordId = await pickRecord(client, id, options);
  const why = await readReason(options, action.why);
  const asked = { action, why, ...(response === null ? {} : { response }) };
  if (isDry || (response !== null && options.yes !== true)) {
    const found = await client.act(recordId, { ...asked, isPreview: true });
    if (isDry) return report(`would be ${action.words.past}`, recordId, found, options);
    await askAfterPreview(found.preview === null ? "" : previewText(found.preview), "Give every retry this response?");
  }
  report(action.words.past, recordId, await client.act(recordId, { ...asked, isPreview: false }), options);
}

function givenResponse({ status, header = [], body, bodyFile }: ChangeOptions): ResolvedResponse {
  if (body !== undefined && bodyFile !== undefined) {
    throw new CommandFailure(EXIT_UNUSABLE, "Write either --body or --body-file.");
  }
  const bytes = bodyFile === undefined ? Buffer.from(body ?? "") : readBytes(bodyFile);
  return { status: Number(status), headers: header.map(readHeader), body: bytes };
}

function report(gist: string, id: string, { answer, record, preview }: ActionAnswer, { json }: OperatorOptions): void {
  const look = lookOf(process.stdout);
  if (json === true) return console.log(jsonLine(answer));
  if (preview !== null) return console.log(previewText(preview));
  const text = record === null ? "" : `\n\n${recordText(record, Date.now(), look)}`;
  console.log(`${look.paint("green", `${gist}: ${id}`)}${text}`);
}

/** "Lets the next request try again." as "let the next request try again". */
function asImperative(sentence: string): string {
  return asPhrase(sentence).replace(/^(\w+?)s\b/, "$1");
}

function asPhrase(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "");
}

function readStatus(value: string): string {
  if (!/^[2-5]\d\d$/.test(value)) throw new InvalidArgumentError("Write a status from 200 to 599.");
  return value;
}
