// `onceway records release`, `resolve` and `forget`: an operator's changes to a record. Every change has a reason, which the record
// keeps. The gateway decides what is allowed.

import { type Command, InvalidArgumentError } from "commander";

import { askYes, openDialogue } from "./ask.ts";
import type { OperatorChange } from "../kernel/record/timeline.ts";
import { NODE_FUNCTIONS } from "../features/node.ts";
import { collectValues, readBytes, readHeader } from "./arguments.ts";
import { jsonLine, lookOf } from "./look.ts";
import type { FilterOptions } from "./list-records.ts";
import type { OperatorClient, ShownRecord, ResolvedResponse } from "./operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";
import { checkReason, readReason, REASON_OPTION, type ReasonOptions } from "./reason.ts";
import { pickRecord, type RecordChoice, withRecordArgument } from "./pick-record.ts";
import { previewText, recordText } from "./record-text.ts";
import { fromNow } from "./times.ts";

export interface ChangeAllOptions extends OperatorOptions, Omit<FilterOptions, "id"> {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly asOf?: string;
}

/** What `--all` does: a change of all records that match. */
export interface BulkChanges {
  /** Adds the options. */
  readonly withAll: (command: Command) => Command;
  /** Whether all records that match are meant. Throws a Failure if the arguments contradict each other. */
  readonly meansAll: (id: string | undefined, options: ChangeAllOptions) => boolean;
  readonly changeAll: (
    change: OperatorChange,
    reason: string,
    options: ChangeAllOptions,
    response?: ResolvedResponse,
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

interface ChangeOptions extends OperatorOptions, RecordChoice, ChangeAllOptions, ReasonOptions {}

interface ResolveOptions extends Omit<ChangeOptions, "status"> {
  /** Of the response. */
  readonly status: number;
  readonly header: readonly string[];
  readonly body?: string;
  readonly bodyFile?: string;
}

export function defineRelease(command: Command): Command {
  command
    .summary("let the next request with a key try again")
    .description(
      "States that the operation did not take effect: the next request with this key starts a new attempt. A request that the gateway has accepted is tried by the gateway as soon as possible. With --all, for all records that match, after counting them.",
    )
    .option("--dry-run", "with --all: only count them")
    .option("--yes", "with --all: do not ask for confirmation; needs --as-of");
  return changeCommand(command).action(async (id: string | undefined, options: ChangeOptions) => {
    if (bulk().meansAll(id, options)) return bulk().changeAll("release", await readReason(options), options);
    const { client, recordId, reason } = await prepare(id, options);
    const record = await client.release(recordId, reason);
    report(record, releaseText(record, Date.now()), options);
  });
}

export function defineResolve(command: Command): Command {
  command
    .summary("settle a record with a response")
    .description(
      "States that the operation took effect, and with which response: retries get it from now on. With --all, for all records that match: each gets this same response.",
    )
    .requiredOption("--status <N>", "of the response: 201", readStatus)
    .option("-H, --header <HEADER>", "'content-type: application/json'; may be repeated", collectValues, [])
    .option("--body <TEXT>", "the response's body (default: empty)")
    .option("--body-file <FILE>", "the body from a file, byte for byte")
    .option("--dry-run", "show what retries would get, and change nothing")
    .option("--yes", "do not ask for confirmation; required without a terminal");
  return changeCommand(command).action(async (id: string | undefined, options: ResolveOptions) => {
    if (options.body !== undefined && options.bodyFile !== undefined) {
      throw new CommandFailure(EXIT_UNUSABLE, "Write either --body or --body-file.");
    }
    const body = options.bodyFile === undefined ? Buffer.from(options.body ?? "") : readBytes(options.bodyFile);
    const headers = options.header.map(readHeader);
    const dialogue = openDialogue();
    if (options.yes !== true && options.dryRun !== true && dialogue === null) {
      throw new CommandFailure(
        EXIT_UNUSABLE,
        "Every retry would get this response: check it with --dry-run, then add --yes.",
      );
    }
    const { status, ...conditions } = options;
    const response = { status, headers, body };
    if (bulk().meansAll(id, conditions))
      return bulk().changeAll("resolve", await readReason(options), conditions, response);
    const { client, recordId, reason } = await prepare(id, options);
    if (options.dryRun === true || options.yes !== true) {
      const preview = await client.preview(recordId, reason, response);
      if (options.dryRun === true) {
        console.log(options.json === true ? jsonLine({ preview }) : previewText(preview));
        return;
      }
      process.stderr.write(`${previewText(preview)}\n`);
      if (dialogue === null || !(await askYes(dialogue, "Give every retry this response?"))) {
        throw new CommandFailure(EXIT_UNUSABLE, "Nothing was changed.");
      }
    }
    const record = await client.resolve(recordId, reason, response);
    report(record, `resolved: requests with this key get this ${status} from now on`, options);
  });
}

export function defineForget(command: Command): Command {
  command
    .summary("erase a record")
    .description(
      "Erases a record with its response: the next request with this key counts as a first request and calls the origin. A request that waits for its next attempt is cancelled. With --all, erases all records that match, after counting them.",
    )
    .option("--status <STATUS>", "with --all: only those whose result has this status: 201")
    .option("--dry-run", "with --all: only count them")
    .option("--yes", "with --all: do not ask for confirmation; needs --as-of");
  return changeCommand(command).action(async (id: string | undefined, options: ChangeOptions) => {
    if (bulk().meansAll(id, options)) return bulk().changeAll("forget", await readReason(options), options);
    const { client, recordId, reason } = await prepare(id, options);
    await client.forget(recordId, reason);
    console.log(options.json === true ? jsonLine({ id: recordId, forgotten: true }) : `forgotten: ${recordId}`);
  });
}

function changeCommand(command: Command): Command {
  bulk()
    .withAll(withRecordArgument(command))
    .option(...REASON_OPTION);
  return operatorCommand(command, "print what the API answers");
}

async function prepare(
  id: string | undefined,
  options: Omit<ChangeOptions, "status">,
): Promise<{ readonly client: OperatorClient; readonly recordId: string; readonly reason: string }> {
  const client = connectOperator(options);
  checkReason(options);
  const recordId = await pickRecord(client, id, options);
  return { client, recordId, reason: await readReason(options) };
}

/** The released attempt may still be running at the origin, so the next one waits until its lock ends. */
function releaseText({ attempt, lockedUntil, state }: ShownRecord, now: number): string {
  const when = Date.parse(lockedUntil) > now ? `, ${fromNow(lockedUntil, now)}, when the lock ends` : "";
  if (state === "waiting") return `released: the gateway makes attempt ${attempt + 1}${when || " as soon as possible"}`;
  return `released: a request with this key starts attempt ${attempt + 1}${when}`;
}

function report(record: ShownRecord, gist: string, { json }: OperatorOptions): void {
  const look = lookOf(process.stdout);
  console.log(
    json === true ? jsonLine(record) : `${look.paint("green", gist)}\n\n${recordText(record, Date.now(), look)}`,
  );
}

function readStatus(value: string): number {
  if (!/^[2-5]\d\d$/.test(value)) throw new InvalidArgumentError("Write a status from 200 to 599.");
  return Number(value);
}
