// `onceway records list`: lists records, newest first, as a table or as one JSON object per line.

import { type Command, InvalidArgumentError } from "commander";

import { epochMs } from "../kernel/record/units.ts";
import { parseMoment, totalText } from "../operator/list-texts.ts";
import { outagesIn, outageText } from "../operator/outages.ts";
import { ID_PREFIX, RECORD_STATES } from "../operator/request-schema.ts";
import { jsonLine, lookOf, printableText } from "./look.ts";
import type { RecordConditions, ShownSummary } from "./operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions, readLimit } from "./operator-options.ts";
import { readPages, type ReadToEnd } from "./read-pages.ts";
import { recordsTable } from "./records-table.ts";

const DEFAULT_LIMIT = 100;
/** More are no overview. */
const MAX_OUTAGES = 5;

interface LsOptions extends OperatorOptions, RecordConditions {
  readonly limit: number;
  readonly all?: boolean;
}

export function defineListRecords(command: Command): Command {
  command
    .summary("list records")
    .description("Lists the records that a gateway keeps, from all its shards, newest first.");
  withFilter(command)
    .option("--status <STATUS>", "only those whose result has this status: 201")
    .option("--key <KEY>", "only those of this idempotency key")
    .option(
      "--id <PREFIX>",
      "only those whose id starts with this: a log's keyHash, or the first 8 or more digits of an id",
      readIdPrefix,
    )
    .option("--limit <N>", "how many to list", readLimit, DEFAULT_LIMIT)
    .option("--all", "list them all");
  return operatorCommand(command, "print one JSON object per line, each a record as the API gives it").action(list);
}

/** The conditions that every command has; others use --key and --status for what they change. */
export function withFilter(command: Command): Command {
  return command
    .option(
      "--state <STATES>",
      `only these: ${RECORD_STATES.join(", ")}; separated by commas, may be repeated`,
      readStates,
    )
    .option("--route <PATH>", "only those of this route, its path as configured")
    .option(
      "--since <TIME>",
      "only those whose last attempt started then or later: 24h (ago), or 2026-11-23T08:30:00Z",
      readMoment,
    )
    .option("--until <TIME>", "only those whose last attempt started then or before: 5m (ago)", readMoment)
    .option("--caller <DIGEST>", "only those of this caller: the digest that show prints");
}

async function list(options: LsOptions): Promise<void> {
  const client = connectOperator(options);
  const pages = readPages(client, options, options.all === true ? Number.POSITIVE_INFINITY : options.limit);
  const records: ShownSummary[] = [];
  let read = 0;
  let page = await pages.next();
  for (; page.done !== true; page = await pages.next()) {
    read += page.value.length;
    // Written page by page: there may be millions.
    if (options.json === true) process.stdout.write(page.value.map((record) => `${jsonLine(record)}\n`).join(""));
    else records.push(...page.value);
  }
  const { hasMore, unreachable } = page.value;
  if (options.json !== true) {
    for (const line of outageLines(records, hasMore)) console.log(line);
    console.log(records.length === 0 ? "no records" : recordsTable(records, Date.now(), lookOf(process.stdout)));
  }
  if (unreachable.length > 0) process.stderr.write(`${unreachableText(unreachable)}\n`);
  if (hasMore || (options.json !== true && read > 0)) process.stderr.write(`${shownText(read, page.value)}\n`);
  if (hasMore) process.stderr.write(`There may be more: --limit ${options.limit * 10}, or --all.\n`);
}

/** What happened to those that need a decision. `hasMore`: to some of them. */
function outageLines(records: readonly ShownSummary[], hasMore: boolean): readonly string[] {
  const unknown = records.filter(({ state }) => state === "unknown");
  const outages = outagesIn(
    unknown.map(({ route, reason, startedAt, request }) => ({
      route,
      reason,
      startedAt: Date.parse(startedAt),
      request,
    })),
    hasMore,
  );
  const lines = outages
    .filter(({ count }) => count > 1)
    .map((one) => printableText(`unknown: ${outageText(one, Date.now())}`));
  return lines.length === 0 ? [] : [...lines.slice(0, MAX_OUTAGES), ""];
}

/** How many records these were, of how many, and in which order. */
function shownText(read: number, { hasMore, total, parts }: ReadToEnd): string {
  const shown = hasMore ? `${read} of ${totalText(total)}` : totalText({ count: read, isExact: true });
  const order = parts.count === 1 ? "newest first" : `in ${parts.count} parts, each with its newest first`;
  return read === 1 && !hasMore ? `${shown}.` : `${shown}, ${order}.`;
}

function unreachableText(unreachable: readonly string[]): string {
  const who = unreachable.length === 1 ? "A shard does not answer" : `${unreachable.length} shards do not answer`;
  return printableText(`${who}, and records there are not listed: ${unreachable.join(", ")}. Try again later.`);
}

function readStates(value: string, before: readonly string[] = []): readonly string[] {
  const states = value.split(",");
  const known: readonly string[] = RECORD_STATES;
  const wrong = states.find((state) => !known.includes(state));
  if (wrong !== undefined) throw new InvalidArgumentError(`Write one or more of ${RECORD_STATES.join(", ")}.`);
  return [...before, ...states];
}

function readIdPrefix(value: string): string {
  const prefix = value.toLowerCase();
  if (!ID_PREFIX.test(prefix)) throw new InvalidArgumentError("Write 8 to 64 digits of 0-9 and a-f.");
  return prefix;
}

function readMoment(value: string): string {
  if (parseMoment(value, epochMs(Date.now())) === null) {
    throw new InvalidArgumentError('Write a duration, such as "5m" or "24h" ago, or a time: 2026-11-23T08:30:00Z.');
  }
  return value;
}
