// `onceway release`, `resolve` and `forget`: an operator's changes to a record. Every change has a reason, which the record
// keeps. The gateway decides what is allowed.

import { type Command, InvalidArgumentError } from "commander";

import { askText, askYes, openDialogue } from "./ask.ts";
import type { OperatorChange } from "../kernel/record/timeline.ts";
import { NODE_FUNCTIONS } from "../features/node.ts";
import { collectValues, readBytes, readHeader } from "./arguments.ts";
import { jsonLine, lookOf } from "./look.ts";
import type { FilterOptions } from "./ls.ts";
import type { OperatorClient, ShownRecord, ResolvedResponse } from "./operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { CommandFailure, EXIT_UNUSABLE } from "./exit-codes.ts";
import { pickRecord, type RecordChoice, withRecordArgument } from "./pick-record.ts";
import { previewText, recordText } from "./record-text.ts";
import { fromNow } from "./times.ts";

export interface ChangeAllOptions extends OperatorOptions, Omit<FilterOptions, "id"> {
  readonly all?: boolean;
  readonly preview?: boolean;
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

export interface ForgetScopeOptions extends OperatorOptions {
  /** `header:authorization`, or `header:authorization=VALUE`. */
  readonly scope?: readonly string[];
  /** Parts that the caller's requests lack. */
  readonly without?: readonly string[];
  readonly includeUnknown?: boolean;
  readonly preview?: boolean;
  readonly yes?: boolean;
}

/** What `forget --scope` does. */
export type ForgetScopeCommand = (reason: string, options: ForgetScopeOptions) => Promise<void>;

const NO_BULK: BulkChanges = {
  withAll: (command) => command,
  meansAll: () => false,
  changeAll: () => Promise.reject(new CommandFailure(EXIT_UNUSABLE, "This gateway changes one record at a time.")),
};

function bulk(): BulkChanges {
  return NODE_FUNCTIONS.bulkChanges ?? NO_BULK;
}

interface ChangeOptions extends OperatorOptions, RecordChoice, ChangeAllOptions {
  readonly reason?: string;
}

type ForgetOptions = ChangeOptions & ForgetScopeOptions;

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
    .option("--preview", "with --all: only count them")
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
    .option("--preview", "show what retries would get, and change nothing")
    .option("--yes", "do not ask for confirmation; required without a terminal");
  return changeCommand(command).action(async (id: string | undefined, options: ResolveOptions) => {
    if (options.body !== undefined && options.bodyFile !== undefined) {
      throw new CommandFailure(EXIT_UNUSABLE, "Write either --body or --body-file.");
    }
    const body = options.bodyFile === undefined ? Buffer.from(options.body ?? "") : readBytes(options.bodyFile);
    const headers = options.header.map(readHeader);
    const dialogue = openDialogue();
    if (options.yes !== true && options.preview !== true && dialogue === null) {
      throw new CommandFailure(
        EXIT_UNUSABLE,
        "Every retry would get this response: check it with --preview, then add --yes.",
      );
    }
    const { status, ...conditions } = options;
    const response = { status, headers, body };
    if (bulk().meansAll(id, conditions))
      return bulk().changeAll("resolve", await readReason(options), conditions, response);
    const { client, recordId, reason } = await prepare(id, options);
    if (options.preview === true || options.yes !== true) {
      const preview = await client.preview(recordId, reason, response);
      if (options.preview === true) {
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
    .summary("erase a record, or all records of a caller")
    .description(
      "Erases a record with its response: the next request with this key counts as a first request and calls the origin. A request that waits for its next attempt is cancelled. With --all, erases all records that match, with --scope all of one caller, after counting them.",
    )
    .option(
      "--scope <PART>",
      "all records of the caller with this part of a route's scope: header:authorization; its value is asked for, or read from stdin, a line each (header:authorization=VALUE stays in the shell's history); once for each part",
      collectValues,
    )
    .option("--without <PART>", "a part of the scope that the caller's requests lack", collectValues)
    .option(
      "--include-unknown",
      "with --scope: also records with an unknown outcome, so that a retry may repeat what has taken effect",
    )
    .option("--status <STATUS>", "with --all: only those whose result has this status: 201")
    .option("--preview", "with --all or --scope: only count them")
    .option("--yes", "with --all or --scope: do not ask for confirmation; required without a terminal");
  return changeCommand(command).action(async (id: string | undefined, options: ForgetOptions) => {
    const isAll = bulk().meansAll(id, options);
    if (options.scope !== undefined || options.without !== undefined) {
      if (isAll || id !== undefined || options.key !== undefined) {
        throw new CommandFailure(EXIT_UNUSABLE, "Write either a record, or --all, or --scope.");
      }
      if (NODE_FUNCTIONS.forgetScope === undefined)
        throw new CommandFailure(EXIT_UNUSABLE, "This gateway forgets no callers.");
      await NODE_FUNCTIONS.forgetScope(await readReason(options), options);
      return;
    }
    if (isAll) return bulk().changeAll("forget", await readReason(options), options);
    const { client, recordId, reason } = await prepare(id, options);
    await client.forget(recordId, reason);
    console.log(options.json === true ? jsonLine({ id: recordId, forgotten: true }) : `forgotten: ${recordId}`);
  });
}

function changeCommand(command: Command): Command {
  bulk()
    .withAll(withRecordArgument(command))
    .option("--reason <TEXT>", "why; the record keeps it (asked for on a terminal)");
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

/** Checked before the first question and the first call, so that a script fails at once. */
function checkReason({ reason = "" }: Pick<ChangeOptions, "reason">): void {
  if (reason.trim() === "" && openDialogue() === null)
    throw new CommandFailure(EXIT_UNUSABLE, 'Missing --reason: write --reason "…"; the record keeps it.');
}

async function readReason(options: Pick<ChangeOptions, "reason">): Promise<string> {
  checkReason(options);
  const given = options.reason?.trim() ?? "";
  const dialogue = openDialogue();
  if (given !== "" || dialogue === null) return given;
  return (await askText(dialogue, { message: "Why?", validate: reasonProblem })).trim();
}

function reasonProblem(value: string | undefined): string | undefined {
  return (value ?? "").trim() === "" ? "Write a few words: the record keeps them." : undefined;
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
