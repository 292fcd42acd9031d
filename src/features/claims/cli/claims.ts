// `onceway claims`: the groups of consumers with their open claims, and how far each has read in its partitions.

import { type Command, InvalidArgumentError } from "commander";
import type { InferOutput } from "valibot";

import { LIST_LIMITS } from "../../../operator/request-schema.ts";
import { GROUP_NAME, type RequestedPosition } from "../operator/position-request-schema.ts";
import { alignColumns, jsonLine, lookOf, paintHead, printableText } from "../../../cli/look.ts";
import {
  connectOperator,
  operatorCommand,
  type OperatorOptions,
  readLimit,
  reportLeft,
} from "../../../cli/operator-options.ts";
import { readList } from "../../../cli/read-pages.ts";
import { fromNow } from "../../../cli/times.ts";
import { positionPageSchema, setPositionAction } from "../operator/positions-schema.ts";

type PositionPage = InferOutput<typeof positionPageSchema>;

interface ListOptions extends OperatorOptions {
  readonly group?: string;
  readonly limit: number;
}

interface SetOptions extends OperatorOptions, RequestedPosition {
  readonly dryRun?: boolean;
}

export function defineClaims(command: Command): void {
  command
    .summary("list groups of consumers, set a position")
    .description("Shows how far groups of consumers are, and lets an operator set where one goes on reading.");
  const lists = command
    .command("list")
    .summary("list groups of consumers and their positions")
    .description("Lists every group of consumers with its open claims, and where it goes on reading in each partition.")
    .option("--group <NAME>", "only this group's", readGroup)
    .option("--limit <N>", "how many positions to list", readLimit, LIST_LIMITS.defaultLimit)
    .addHelpText(
      "after",
      "\nThe open claims themselves are records: npx onceway records list --route claims:GROUP --state started,unknown,failed",
    );
  operatorCommand(lists, "print one JSON object per line: the groups, then each position").action(list);
  const sets = command
    .command("set-position")
    .summary("set where a group goes on reading")
    .description(
      "Sets which message of a partition a group reads next. Earlier ones that are not completed are given up.",
    )
    .requiredOption("--group <NAME>", "the group", readGroup)
    .requiredOption("--stream <NAME>", "the stream")
    .requiredOption("--partition <N>", "its partition", readNumber)
    .requiredOption("--next <OFFSET>", "the first message that the group is to read", readNumber)
    .requiredOption("--reason <TEXT>", "why; the log keeps it")
    .option("--dry-run", "only show where it goes on now");
  operatorCommand(sets, "print what is set").action(set);
}

async function set(options: SetOptions): Promise<void> {
  const { group, stream, partition, next, reason, dryRun, json } = options;
  const client = connectOperator(options);
  const place = `${stream}/${partition}`;
  if (dryRun === true) {
    const { items } = await readList(client, POSITIONS, { group }, Number.POSITIVE_INFINITY);
    const now = items.find((one) => one.stream === stream && one.partition === partition)?.next ?? null;
    const text = `${group} goes on at ${now ?? "no position yet"} in ${place}, and would go on at ${next}`;
    console.log(json === true ? jsonLine({ group, stream, partition, now, next }) : printableText(text));
    return;
  }
  await client.perform(setPositionAction, { group, stream, partition, next, reason });
  const done = { group, stream, partition, next };
  console.log(json === true ? jsonLine(done) : printableText(`${group} goes on at ${next} in ${place}`));
}

const POSITIONS = {
  path: "/positions",
  schema: positionPageSchema,
  itemsOf: ({ positions }: PositionPage) => positions,
};

async function list(options: ListOptions): Promise<void> {
  const { group, limit } = options;
  const { items, last } = await readList(connectOperator(options), POSITIONS, { group }, limit);
  const { groups } = last;
  if (options.json === true) for (const line of [{ groups }, ...items]) console.log(jsonLine(line));
  else console.log(positionsText(groups, items, Date.now()));
  reportLeft(last, limit);
}

function positionsText(
  groups: PositionPage["groups"],
  positions: readonly PositionPage["positions"][number][],
  now: number,
): string {
  const look = lookOf(process.stdout);
  const since = (at: string | null): string => (at === null ? "" : fromNow(at, now));
  const summaries = alignColumns([
    ["GROUP", "STARTED", "FAILED", "UNKNOWN", "PARTITIONS", "HELD SINCE"],
    ...groups.map(({ group, started, failed, unknown, atLeast, partitions, heldSince }) => [
      printableText(group),
      ...[started, failed, unknown].map((count) => `${count}${atLeast ? "+" : ""}`),
      String(partitions),
      since(heldSince),
    ]),
  ]);
  const listed = alignColumns([
    ["GROUP", "STREAM", "PARTITION", "NEXT", "OPEN", "HELD SINCE"],
    ...positions.map(({ group, stream, partition, next, openClaims, heldSince, isUnclaimed }) => [
      printableText(group),
      printableText(stream),
      String(partition),
      next === null ? "" : String(next),
      String(openClaims),
      isUnclaimed ? "never claimed" : since(heldSince),
    ]),
  ]);
  const lines = positions.length === 0 ? ["no positions"] : paintHead(look, listed);
  return [...(groups.length === 0 ? [] : [...paintHead(look, summaries), ""]), ...lines].join("\n");
}

function readNumber(value: string): number {
  if (!/^\d{1,16}$/.test(value)) throw new InvalidArgumentError("Write a whole number: 42.");
  return Number(value);
}

function readGroup(value: string): string {
  if (!GROUP_NAME.test(value)) throw new InvalidArgumentError("Write the name of a group: billing.");
  return value;
}
