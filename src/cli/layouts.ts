// `onceway layouts`: shows how far a change of the number of shards has come, and which older number may go; seals what nobody has
// asked yet.

import type { Command } from "commander";

import { REFUSED } from "./exit-codes.ts";
import { columns, jsonLine, type Look, lookOf, printable } from "./look.ts";
import type { LayoutState } from "./operator-client.ts";
import { connect, operatorCommand, type OperatorOptions } from "./operator-options.ts";
import { fromNow } from "./times.ts";

interface LayoutsOptions extends OperatorOptions {
  readonly close?: string;
}

export function defineLayouts(command: Command): Command {
  command
    .summary("show the layouts in use, and which older one may go")
    .description(
      "Shows the layouts that the running configuration lists (shards and previous_shards), and when an older one may be taken out.",
    )
    .option(
      "--close <LAYOUT>",
      "seal every object of an older layout that nobody has asked yet: no new key begins there, and it cannot be undone",
    );
  return operatorCommand(command, "print what the API answers").action(layouts);
}

async function layouts({ close, ...options }: LayoutsOptions): Promise<void> {
  const client = connect(options);
  const [shown, answer] =
    close === undefined
      ? await client.layouts().then(({ layouts }) => [layouts, { layouts }] as const)
      : await client.closeLayout(close).then((one) => [[one], one] as const);
  console.log(options.json === true ? jsonLine(answer) : layoutsTable(shown, Date.now(), lookOf(process.stdout)));
  const silent = shown.flatMap(({ unreachable }) => unreachable);
  if (silent.length > 0) {
    process.stderr.write(`${printable(`Did not answer: ${silent.join(", ")}. Run it again later.`)}\n`);
  }
  if (close !== undefined && shown.some(({ open }) => open > 0 || silent.length > 0)) process.exitCode = REFUSED;
}

const HEADINGS = ["LAYOUT", "OBJECTS", "OPEN", "SEALED", "EMPTY", "IN FLIGHT", "FAILED", "UNKNOWN", "LAST EXPIRES"];

/** A line of numbers for each layout, then a sentence for each. */
export function layoutsTable(all: readonly LayoutState[], now: number, look: Look): string {
  const rows = all.map((one) => [
    printable(one.layout),
    one.objects === null ? "per key" : String(one.objects),
    ...[one.open, one.sealed, one.empty, one.inFlight].map(String),
    ...(["failed", "unknown"] as const).map((state) => `${one[state]}${one.atLeast.includes(state) ? "+" : ""}`),
    one.lastExpiresAt === null ? "" : fromNow(one.lastExpiresAt, now),
  ]);
  const [headings = "", ...lines] = columns([HEADINGS, ...rows]);
  const sentences = all.map(({ layout, left, mayGo, reason }) => {
    const text = printable(`${layout}: ${reason}`);
    return left === null ? text : look.paint(mayGo ? "green" : "yellow", text);
  });
  return [look.paint("dim", headings), ...lines, "", ...sentences].join("\n");
}
