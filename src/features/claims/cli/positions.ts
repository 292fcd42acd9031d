// `onceway positions`: the groups of consumers with their open claims, and how far each has read in its partitions.

import { type Command, InvalidArgumentError } from "commander";
import type { InferOutput } from "valibot";

import { LIST_LIMITS } from "../../../operator/request-schema.ts";
import { GROUP_NAME } from "../operator/position-request-schema.ts";
import { CommandFailure, EXIT_UNUSABLE } from "../../../cli/exit-codes.ts";
import { alignColumns, jsonLine, lookOf, paintHead, printableText } from "../../../cli/look.ts";
import { pageQuery } from "../../../cli/operator-client.ts";
import {
  connectOperator,
  operatorCommand,
  type OperatorOptions,
  readLimit,
  reportLeft,
} from "../../../cli/operator-options.ts";
import { fromNow } from "../../../cli/times.ts";
import {
  type positionChangeRequestSchema,
  positionPageSchema,
  positionSetSchema,
} from "../operator/positions-schema.ts";

type PositionPage = InferOutput<typeof positionPageSchema>;
type PositionSetting = InferOutput<typeof positionChangeRequestSchema>;

interface PositionsOptions extends OperatorOptions {
  readonly group?: string;
  readonly limit: number;
  readonly stream?: string;
  readonly partition?: number;
  readonly set?: number;
  readonly reason?: string;
}

export function definePositions(command: Command): Command {
  command
    .summary("list groups of consumers and their positions")
    .description("Lists every group of consumers with its open claims, and where it goes on reading in each partition.")
    .option("--group <NAME>", "only this group's", readGroup)
    .option("--limit <N>", "how many positions to list", readLimit, LIST_LIMITS.defaultLimit)
    .option(
      "--set <OFFSET>",
      "set where the group goes on; needs --group, --stream, --partition and --reason",
      readNumber,
    )
    .option("--stream <NAME>", "the stream whose position is set")
    .option("--partition <N>", "its partition", readNumber)
    .option("--reason <TEXT>", "why; the log keeps it")
    .addHelpText(
      "after",
      "\nThe open claims themselves are records: npx onceway ls --route claims:GROUP --state started,unknown,failed",
    );
  return operatorCommand(command, "print one JSON object per line: the groups, then each position").action(
    (options: PositionsOptions) => (options.set === undefined ? list(options) : set(options, options.set)),
  );
}

async function set(options: PositionsOptions, next: number): Promise<void> {
  const { group, stream, partition, reason } = options;
  if (group === undefined || stream === undefined || partition === undefined || reason === undefined) {
    throw new CommandFailure(EXIT_UNUSABLE, "--set needs --group, --stream, --partition and --reason.");
  }
  const setting: PositionSetting = { group, stream, partition, next, reason };
  await connectOperator(options).read(positionSetSchema, "/positions/set", setting);
  const done = { group, stream, partition, next };
  console.log(
    options.json === true ? jsonLine(done) : printableText(`${group} goes on at ${next} in ${stream}/${partition}`),
  );
}

async function list(options: PositionsOptions): Promise<void> {
  const client = connectOperator(options);
  const { group, limit } = options;
  const filter: Readonly<Record<string, string>> = group === undefined ? {} : { group };
  const positions: PositionPage["positions"] = [];
  let page: PositionPage | null = null;
  do {
    const query = pageQuery(filter, Math.min(limit - positions.length, LIST_LIMITS.maxLimit), page?.cursor ?? null);
    page = await client.read(positionPageSchema, `/positions?${query}`);
    positions.push(...page.positions);
  } while (page.cursor !== null && positions.length < limit);
  const { groups } = page;
  if (options.json === true) for (const line of [{ groups }, ...positions]) console.log(jsonLine(line));
  else console.log(positionsText(groups, positions, Date.now()));
  reportLeft(page, limit);
}

function positionsText(groups: PositionPage["groups"], positions: PositionPage["positions"], now: number): string {
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
