// `onceway release`, `resolve` and `forget`: an operator's changes to a record. Every change has a reason, which the record
// keeps. The gateway decides what is allowed.

import { type Command, InvalidArgumentError } from "commander";

import { formatSize } from "../config/units.ts";
import { askText, askYes, openDialogue } from "./ask.ts";
import { collect, readBytes, readHeader } from "./arguments.ts";
import { jsonLine, lookOf, printable, printableLines } from "./look.ts";
import type { OperatorClient, RecordDetail, ResponsePreview } from "./operator-client.ts";
import { connect, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { Failure, UNUSABLE } from "./exit-codes.ts";
import { forgetScope, type ForgetScopeOptions } from "./forget-scope.ts";
import { pickRecord, type RecordChoice, withRecordArgument } from "./pick-record.ts";
import { recordText } from "./record-text.ts";
import { fromNow } from "./times.ts";

interface ChangeOptions extends OperatorOptions, RecordChoice {
  readonly reason?: string;
}

type ForgetOptions = ChangeOptions & ForgetScopeOptions;

interface ResolveOptions extends ChangeOptions {
  readonly status: number;
  readonly header: readonly string[];
  readonly body?: string;
  readonly bodyFile?: string;
  readonly yes?: boolean;
  readonly preview?: boolean;
}

export function defineRelease(command: Command): Command {
  command
    .summary("let the next request with a key try again")
    .description(
      "States that the operation did not take effect: the next request with this key starts a new attempt. A request that the gateway has accepted is tried by the gateway as soon as possible.",
    );
  return changeCommand(command).action(async (id: string | undefined, options: ChangeOptions) => {
    const { client, recordId, reason } = await prepare(id, options);
    const record = await client.release(recordId, reason);
    report(record, releaseText(record, Date.now()), options);
  });
}

export function defineResolve(command: Command): Command {
  command
    .summary("settle a record with a response")
    .description("States that the operation took effect, and with which response: retries get it from now on.")
    .requiredOption("--status <N>", "of the response: 201", readStatus)
    .option("-H, --header <HEADER>", "'content-type: application/json'; may be repeated", collect, [])
    .option("--body <TEXT>", "the response's body (default: empty)")
    .option("--body-file <FILE>", "the body from a file, byte for byte")
    .option("--preview", "show what retries would get, and change nothing")
    .option("--yes", "do not ask for confirmation; required without a terminal");
  return changeCommand(command).action(async (id: string | undefined, options: ResolveOptions) => {
    if (options.body !== undefined && options.bodyFile !== undefined) {
      throw new Failure(UNUSABLE, "Write either --body or --body-file.");
    }
    const body = options.bodyFile === undefined ? Buffer.from(options.body ?? "") : readBytes(options.bodyFile);
    const headers = options.header.map(readHeader);
    const dialogue = openDialogue();
    if (options.yes !== true && options.preview !== true && dialogue === null) {
      throw new Failure(UNUSABLE, "Every retry would get this response: check it with --preview, then add --yes.");
    }
    const { client, recordId, reason } = await prepare(id, options);
    const response = { status: options.status, headers, body };
    if (options.preview === true || options.yes !== true) {
      const preview = await client.preview(recordId, reason, response);
      if (options.preview === true) {
        console.log(options.json === true ? jsonLine({ preview }) : previewText(preview));
        return;
      }
      process.stderr.write(`${previewText(preview)}\n`);
      if (dialogue === null || !(await askYes(dialogue, "Give every retry this response?"))) {
        throw new Failure(UNUSABLE, "Nothing was changed.");
      }
    }
    const record = await client.resolve(recordId, reason, response);
    report(record, `resolved: requests with this key get this ${options.status} from now on`, options);
  });
}

export function defineForget(command: Command): Command {
  command
    .summary("erase a record, or all records of a caller")
    .description(
      "Erases a record with its response: the next request with this key counts as a first request and calls the origin. A request that waits for its next attempt is cancelled. With --scope, erases all records of one caller, after counting them.",
    )
    .option(
      "--scope <PART>",
      "all records of the caller with this part of a route's scope: header:authorization; its value is asked for, or read from stdin, a line each (header:authorization=VALUE stays in the shell's history); once for each part",
      collect,
    )
    .option("--without <PART>", "a part of the scope that the caller's requests lack", collect)
    .option(
      "--include-unknown",
      "with --scope: also records in doubt, so that a retry may repeat what has taken effect",
    )
    .option("--preview", "with --scope: only count them")
    .option("--yes", "with --scope: do not ask for confirmation; required without a terminal");
  return changeCommand(command).action(async (id: string | undefined, options: ForgetOptions) => {
    if (options.scope !== undefined || options.without !== undefined) {
      if (id !== undefined || options.key !== undefined) {
        throw new Failure(UNUSABLE, "Write either a record or --scope.");
      }
      await forgetScope(await readReason(options), options);
      return;
    }
    const { client, recordId, reason } = await prepare(id, options);
    await client.forget(recordId, reason);
    console.log(options.json === true ? jsonLine({ id: recordId, forgotten: true }) : `forgotten: ${recordId}`);
  });
}

function changeCommand(command: Command): Command {
  withRecordArgument(command).option("--reason <TEXT>", "why; the record keeps it (asked for on a terminal)");
  return operatorCommand(command, "print what the API answers");
}

async function prepare(
  id: string | undefined,
  options: ChangeOptions,
): Promise<{ readonly client: OperatorClient; readonly recordId: string; readonly reason: string }> {
  const client = connect(options);
  checkReason(options);
  const recordId = await pickRecord(client, id, options);
  return { client, recordId, reason: await readReason(options) };
}

/** Checked before the first question and the first call, so that a script fails at once. */
function checkReason({ reason = "" }: ChangeOptions): void {
  if (reason.trim() === "" && openDialogue() === null)
    throw new Failure(UNUSABLE, 'Missing --reason: write --reason "…"; the record keeps it.');
}

async function readReason(options: ChangeOptions): Promise<string> {
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
function releaseText({ attempt, lockedUntil, state }: RecordDetail, now: number): string {
  const when = Date.parse(lockedUntil) > now ? `, ${fromNow(lockedUntil, now)}, when the lock ends` : "";
  if (state === "waiting") return `released: the gateway makes attempt ${attempt + 1}${when || " as soon as possible"}`;
  return `released: a request with this key starts attempt ${attempt + 1}${when}`;
}

function report(record: RecordDetail, gist: string, { json }: OperatorOptions): void {
  const look = lookOf(process.stdout);
  console.log(
    json === true ? jsonLine(record) : `${look.paint("green", gist)}\n\n${recordText(record, Date.now(), look)}`,
  );
}

function readStatus(value: string): number {
  if (!/^[2-5]\d\d$/.test(value)) throw new InvalidArgumentError("Write a status from 200 to 599.");
  return Number(value);
}

function previewText({ status, headers, omittedHeaders, sizeBytes, body, warnings }: ResponsePreview): string {
  return [
    "Every retry gets this, marked as a replay:",
    `  ${status}`,
    ...headers.map(([name, value]) => `  ${printable(`${name}: ${value}`)}`),
    `  ${body === null ? `${formatSize(sizeBytes)} that are not text` : formatSize(sizeBytes)}`,
    ...(body === null || body === ""
      ? []
      : [
          "",
          ...printableLines(body)
            .split("\n")
            .map((line) => `  ${line}`),
        ]),
    "",
    ...(omittedHeaders.length === 0 ? [] : [`Its route omits from replays: ${printable(omittedHeaders.join(", "))}`]),
    ...warnings.map((warning) => `Warning: ${printable(warning)}`),
  ].join("\n");
}
