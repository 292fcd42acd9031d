// `onceway positions`: the groups of consumers with their open claims, and how far each has read in its partitions.

import { type Command, InvalidArgumentError } from "commander";

import { GROUP_NAME, LIST_LIMITS } from "../operator/request-schema.ts";
import { columns, jsonLine, lookOf, paintHead, printable } from "./look.ts";
import type { PositionPage } from "./operator-client.ts";
import { connect, operatorCommand, type OperatorOptions, readLimit, reportLeft } from "./operator-options.ts";
import { fromNow } from "./times.ts";

interface PositionsOptions extends OperatorOptions {
  readonly group?: string;
  readonly limit: number;
}

export function definePositions(command: Command): Command {
  command
    .summary("list groups of consumers and their positions")
    .description("Lists every group of consumers with its open claims, and where it goes on reading in each partition.")
    .option("--group <NAME>", "only this group's", readGroup)
    .option("--limit <N>", "how many positions to list", readLimit, LIST_LIMITS.defaultLimit)
    .addHelpText(
      "after",
      "\nThe open claims themselves are records: npx onceway ls --route claims:GROUP --state started,unknown,failed",
    );
  return operatorCommand(command, "print one JSON object per line: the groups, then each position").action(list);
}

async function list(options: PositionsOptions): Promise<void> {
  const client = connect(options);
  const { group = null, limit } = options;
  const positions: PositionPage["positions"] = [];
  let page: PositionPage | null = null;
  do {
    page = await client.positions(
      group,
      Math.min(limit - positions.length, LIST_LIMITS.maxLimit),
      page?.cursor ?? null,
    );
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
  const summaries = columns([
    ["GROUP", "STARTED", "FAILED", "UNKNOWN", "PARTITIONS", "HELD SINCE"],
    ...groups.map(({ group, started, failed, unknown, atLeast, partitions, heldSince }) => [
      printable(group),
      ...[started, failed, unknown].map((count) => `${count}${atLeast ? "+" : ""}`),
      String(partitions),
      since(heldSince),
    ]),
  ]);
  const listed = columns([
    ["GROUP", "STREAM", "PARTITION", "NEXT", "OPEN", "HELD SINCE"],
    ...positions.map(({ group, stream, partition, next, openClaims, heldSince }) => [
      printable(group),
      printable(stream),
      String(partition),
      next === null ? "" : String(next),
      String(openClaims),
      since(heldSince),
    ]),
  ]);
  const lines = positions.length === 0 ? ["no positions"] : paintHead(look, listed);
  return [...(groups.length === 0 ? [] : [...paintHead(look, summaries), ""]), ...lines].join("\n");
}

function readGroup(value: string): string {
  if (!GROUP_NAME.test(value)) throw new InvalidArgumentError("Write the name of a group: billing.");
  return value;
}
