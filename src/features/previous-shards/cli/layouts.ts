// `onceway layouts list`: shows how far a change of the number of shards has come, and which previous number may go; closes a layout.
// Several self-hosted processes have records of their own, so it asks all that are named, and a number may go only when all
// of them say so.

import { type Command, InvalidArgumentError, Option } from "commander";

import { LAYOUT_TITLE_PATTERN } from "../../../kernel/config/layout.ts";
import { CommandFailure, EXIT_REFUSED } from "../../../cli/exit-codes.ts";
import { alignColumns, jsonLine, type TerminalLook, lookOf, printableText } from "../../../cli/look.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { previousShardsEntries, previousShardsTexts } from "../settings/entries.ts";
import { closeLayoutAction } from "../operator/openapi.ts";
import {
  type LayoutList,
  type LayoutState,
  type OperatorClient,
  GatewayRefusal,
} from "../../../cli/operator-client.ts";
import {
  connectOperator,
  notAskedLines,
  operatorCommand,
  type OperatorOptions,
  readGateway,
} from "../../../cli/operator-options.ts";
import { fromNow } from "../../../cli/times.ts";
import { layoutsForgotten } from "./check-against.ts";

interface LayoutsOptions extends Pick<OperatorOptions, "tokenFile" | "json"> {
  readonly url?: readonly URL[];
}

interface ListOptions extends LayoutsOptions {
  readonly all?: boolean;
}

interface CloseOptions extends LayoutsOptions {
  readonly dryRun?: boolean;
}

/** What one gateway says. */
export interface GatewayLayouts {
  readonly gateway: string;
  readonly layouts: readonly LayoutState[];
}

function defineLayouts(command: Command): void {
  command
    .summary("show the layouts in use, close a previous one")
    .description(
      "Shows the layouts that the running configuration lists (shards and previous_shards), and closes previous ones. With several self-hosted processes, write --url for each: each knows only its own records.",
    );
  const list = command
    .command("list")
    .summary("show the layouts in use, and which previous one may go")
    .description("Shows the layouts in use, and when a previous one may be taken out of previous_shards.");
  withGateways(list)
    .option("--all", 'also ask objects that no client has used (location_hint = "first-use"), which creates them')
    .action(({ all = false, ...options }: ListOptions) => askAll(options, (client) => showAll(client, all)));
  const close = command
    .command("close")
    .summary("close a previous layout")
    .description(
      "Closes the objects of a previous layout that are still open: no key begins in them any more, and it cannot be undone.",
    )
    .argument("<LAYOUT>", "as list shows it: 64", readLayout)
    .option("--dry-run", "only show how many of its objects are open");
  withGateways(close).action((layout: string, { dryRun, ...options }: CloseOptions) =>
    askAll(options, dryRun === true ? (client) => showOne(client, layout) : (client) => closeOne(client, layout), {
      isClosing: dryRun !== true,
    }),
  );
}

function withGateways(command: Command): Command {
  const url = new Option("--url <URL>", "the gateway, https://api.example.com; once for each of several processes")
    .env("ONCEWAY_URL")
    .argParser(readGateways);
  return operatorCommand(command, "print what the API answers, one line for each gateway", url);
}

function readLayout(text: string): string {
  if (new RegExp(LAYOUT_TITLE_PATTERN).test(text)) return text;
  throw new InvalidArgumentError('Write a previous layout as "npx onceway layouts list" shows it: 64.');
}

function readGateways(text: string, earlier: readonly URL[] | undefined): readonly URL[] {
  const url = readGateway(text);
  const others = earlier ?? [];
  if (others.some(({ href }) => href === url.href)) {
    throw new InvalidArgumentError("It is named twice: write the URL of each process once.");
  }
  return [...others, url];
}

/** Asks each gateway in turn, and shows what they say together. */
async function askAll(
  { url: gateways = [], ...options }: LayoutsOptions,
  ask: (client: OperatorClient) => Promise<Answered>,
  { isClosing } = { isClosing: false },
): Promise<void> {
  const isAlone = gateways.length < 2;
  const asked: GatewayLayouts[] = [];
  for (const url of gateways.length === 0 ? [undefined] : gateways) {
    const client = connectOperator({ ...options, ...(url === undefined ? {} : { url }) });
    const gateway = url?.href ?? "";
    const [shown, answer] = await ask(client).catch((error) => {
      // Its message names no gateway.
      throw error instanceof GatewayRefusal && !isAlone
        ? new CommandFailure(EXIT_REFUSED, `${gateway}: ${error.message}`)
        : error;
    });
    asked.push({ gateway, layouts: shown });
    if (options.json === true) console.log(jsonLine(isAlone ? answer : { gateway, ...answer }));
  }
  const look = lookOf(process.stdout);
  if (options.json !== true) {
    const [only = { layouts: [] }] = asked;
    console.log(isAlone ? layoutsTable(only.layouts, Date.now(), look) : tableOfAll(asked, Date.now(), look));
  }
  const shown = asked.flatMap(({ layouts: its }) => its);
  const silent = shown.flatMap(({ unreachable }) => unreachable);
  if (silent.length > 0) {
    process.stderr.write(`${printableText(`Did not answer: ${silent.join(", ")}. Run it again later.`)}\n`);
  }
  if (isClosing && shown.some((one) => notClosed(one) > 0 || silent.length > 0)) process.exitCode = EXIT_REFUSED;
}

/** The layouts to show, and what the API answered. */
type Answered = readonly [readonly LayoutState[], object];

async function showAll(client: OperatorClient, isAll: boolean): Promise<Answered> {
  const { layouts: all, notAsked } = await client.layouts(isAll);
  reportNotAsked(notAsked);
  return [all, { layouts: all, notAsked }];
}

function reportNotAsked(notAsked: LayoutList["notAsked"]): void {
  for (const line of notAskedLines(notAsked)) process.stderr.write(`${line}\n`);
}

async function showOne(client: OperatorClient, title: string): Promise<Answered> {
  const { layouts: all, notAsked } = await client.layouts();
  reportNotAsked(notAsked);
  const one = all.find(({ layout }) => layout === title);
  if (one !== undefined) return [[one], one];
  throw new CommandFailure(EXIT_REFUSED, `There is no layout ${title}: see npx onceway layouts list.`);
}

/** How many objects are open, or may be: one that has not been asked. */
function notClosed({ objects, closed, empty, unreachable }: LayoutState): number {
  return objects === null ? 0 : objects - closed - empty - unreachable.length;
}

async function closeOne(client: OperatorClient, layout: string): Promise<Answered> {
  // One request closes some hundred objects.
  let before = Number.POSITIVE_INFINITY;
  for (;;) {
    const one = await client.perform(closeLayoutAction, { layout });
    const left = notClosed(one);
    if (left === 0 || left >= before) return [[one], one];
    before = left;
  }
}

const HEADINGS = [
  "LAYOUT",
  "OBJECTS",
  "OPEN",
  "CLOSED",
  "EMPTY",
  "IN FLIGHT",
  "WAITING",
  "FAILED",
  "UNKNOWN",
  "LAST EXPIRES",
];

/** A line of numbers for each layout, then a sentence for each. */
export function layoutsTable(all: readonly LayoutState[], now: number, look: TerminalLook): string {
  const sentences = all.map(({ layout, next, mayGo, reason }) => sentence(look, next, mayGo, `${layout}: ${reason}`));
  return [...numbers(all, now, look), "", ...sentences].join("\n");
}

/** The numbers of each gateway, then what they mean for all of them together. */
export function tableOfAll(asked: readonly GatewayLayouts[], now: number, look: TerminalLook): string {
  const tables = asked.flatMap(({ gateway, layouts: its }) => [printableText(gateway), ...numbers(its, now, look), ""]);
  const titles = [...new Set(asked.flatMap(({ layouts: its }) => its.map(({ layout }) => layout)))];
  return [...tables, ...titles.flatMap((title) => judgeTogether(title, asked, look))].join("\n");
}

function judgeTogether(title: string, asked: readonly GatewayLayouts[], look: TerminalLook): readonly string[] {
  const said = asked.map(({ gateway, layouts: its }) => ({
    gateway,
    state: its.find(({ layout }) => layout === title),
  }));
  const next = said.find(({ state }) => state !== undefined && state.next !== null)?.state?.next ?? null;
  if (said.every(({ state }) => state?.mayGo === true)) {
    const text = `${title}: Closed and empty in all ${asked.length} gateways: take it out of previous_shards.`;
    return [sentence(look, next, true, text)];
  }
  const reasons = said.flatMap(({ gateway, state }) =>
    state?.mayGo === true ? [] : [{ gateway, reason: state?.reason ?? "Not in its configuration: give all the same." }],
  );
  const different = new Set(reasons.map(({ reason }) => reason));
  if (different.size === 1 && reasons.length === asked.length) {
    return [...different].map((reason) => sentence(look, next, false, `${title}: ${reason}`));
  }
  return reasons.map(({ gateway, reason }) => sentence(look, next, false, `${title}: ${gateway}: ${reason}`));
}

function numbers(all: readonly LayoutState[], now: number, look: TerminalLook): readonly string[] {
  // On a machine of one's own there is nothing to say.
  const isPlaced = all.some(({ places }) => Object.keys(places).some((place) => place !== "local"));
  const rows = all.map((one) => [
    printableText(one.layout),
    one.objects === null ? "per key" : String(one.objects),
    ...[one.open, one.closed, one.empty, one.inFlight].map(String),
    ...(["waiting", "failed", "unknown"] as const).map(
      (state) => `${one[state]}${one.atLeast.includes(state) ? "+" : ""}`,
    ),
    one.lastExpiresAt === null ? "" : fromNow(one.lastExpiresAt, now),
    ...(isPlaced ? [placesText(one.places)] : []),
  ]);
  const [headings = "", ...lines] = alignColumns([isPlaced ? [...HEADINGS, "RUN IN"] : HEADINGS, ...rows]);
  return [look.paint("dim", headings), ...lines];
}

/** `IAD 27 EWR 17`, the most first. */
function placesText(places: LayoutState["places"]): string {
  return printableText(
    Object.entries(places)
      .toSorted(([, one], [, other]) => other - one)
      .map(([place, objects]) => `${place} ${objects}`)
      .join(" "),
  );
}

function sentence(look: TerminalLook, next: string | null, mayGo: boolean, text: string): string {
  return next === null ? printableText(text) : look.paint(mayGo ? "green" : "yellow", printableText(text));
}

export const previousShardsNode: NodeFeature = {
  name: "previous-shards",
  texts: [[previousShardsEntries, previousShardsTexts]],
  check: { layoutsForgotten },
  commands: [{ name: "layouts", after: "tail", define: defineLayouts }],
};
