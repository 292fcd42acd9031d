// `onceway callers forget`: forgets all records of one caller. Counts them first. The caller's values are asked for at the terminal or
// read from stdin, because a shell's history and the list of processes would keep them; nothing here prints one.

import { text } from "node:stream/consumers";

import type { Command } from "commander";
import type { InferOutput } from "valibot";

import { collectValues } from "../../../cli/arguments.ts";
import { REASON_OPTION, readReason } from "../../../cli/reason.ts";
import {
  askAfterPreview,
  askSecret,
  checkPreview,
  openDialogue,
  type PreviewOptions,
  type TerminalDialogue,
} from "../../../cli/ask.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE } from "../../../cli/exit-codes.ts";
import { inParts, type InParts, reportStopped, wholeOf } from "../../../cli/in-parts.ts";
import { jsonLine, printableText } from "../../../cli/look.ts";
import type { OperatorClient, WrittenBody } from "../../../cli/operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "../../../cli/operator-options.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import type { scopeErasedSchema } from "../operator/callers-schema.ts";
import { forgetScope } from "../operator/openapi.ts";

type ScopeErased = InferOutput<typeof scopeErasedSchema>;

interface ForgetOptions extends OperatorOptions, PreviewOptions {
  /** `header:authorization`, or `header:authorization=VALUE`. */
  readonly scope?: readonly string[];
  /** Parts that the caller's requests lack. */
  readonly without?: readonly string[];
  readonly includeUnknown?: boolean;
  readonly reason?: string;
}

function defineCallers(command: Command): void {
  command.summary("erase all records of a caller").description("Erases what is kept of callers.");
  const forget = command
    .command("forget")
    .summary("erase all records of a caller")
    .description("Erases all records of one caller with their responses and events, after counting them.")
    .option(
      "--scope <PART>",
      "this part of a route's scope: header:authorization; its value is asked for, or read from stdin, a line each (header:authorization=VALUE stays in the shell's history); once for each part",
      collectValues,
    )
    .option("--without <PART>", "a part of the scope that the caller's requests lack", collectValues)
    .option(
      "--include-unknown",
      "also records with an unknown outcome, so that a retry may repeat what has taken effect",
    )
    .option("--dry-run", "only count them")
    .option("--yes", "do not ask for confirmation; required without a terminal")
    .option(...REASON_OPTION);
  operatorCommand(forget, "print what the API answers").action(forgetCaller);
}

export const callersNode: NodeFeature = {
  name: "callers",
  commands: [{ name: "callers", after: "records", define: defineCallers }],
};

async function forgetCaller(options: ForgetOptions): Promise<void> {
  if (options.scope === undefined && options.without === undefined) {
    throw new CommandFailure(
      EXIT_UNUSABLE,
      "Missing --scope: write a part of the route's scope, --scope header:authorization.",
    );
  }
  const reason = await readReason(options);
  checkPreview(options, "All records of the caller would be forgotten: count them with --dry-run, then add --yes.");
  const client = connectOperator(options);
  const scope = await readScope(options.scope ?? [], options.without ?? [], openDialogue());
  const request = { scope, reason, ...(options.includeUnknown === true ? { includeUnknown: true } : {}) };
  if (options.dryRun === true || options.yes !== true) {
    const found = wholeOf(await forEachPart(client, { ...request, preview: true }));
    if (options.dryRun === true) return report(found, options, previewText(found));
    await askAfterPreview(previewText(found), "Forget them?");
  }
  const { sum: erased, stopped } = await forEachPart(client, { ...request, confirm: true });
  report(erased, options, `forgotten: ${recordsText(erased.forgotten)} and ${eventsText(erased.events)}`);
  reportStopped(stopped, "the other records were not looked at, and some may have been forgotten. Run it again.");
}

/** Calls until the gateway has gone through all shards. A run that is killed can be repeated: what was forgotten stays so. */
function forEachPart(client: OperatorClient, request: WrittenBody<typeof forgetScope>): Promise<InParts<ScopeErased>> {
  return inParts(
    (before: ScopeErased | null) =>
      client.perform(forgetScope, {
        ...request,
        ...(before === null || before.cursor === null ? {} : { cursor: before.cursor }),
      }),
    ({ cursor }) => cursor === null,
    (sum, part) => ({
      ...part,
      forgotten: sum.forgotten + part.forgotten,
      inFlight: sum.inFlight + part.inFlight,
      unknown: sum.unknown + part.unknown,
      events: sum.events + part.events,
      unreachable: [...sum.unreachable, ...part.unreachable],
    }),
  );
}

async function readScope(
  written: readonly string[],
  without: readonly string[],
  dialogue: TerminalDialogue | null,
): Promise<Readonly<Record<string, string | null>>> {
  const parts = new Map<string, string | null>(without.map((name) => [name, null]));
  const asked: string[] = [];
  for (const one of written) {
    const equals = one.indexOf("=");
    if (equals === -1) asked.push(one);
    parts.set(equals === -1 ? one : one.slice(0, equals), equals === -1 ? "" : one.slice(equals + 1));
  }
  if (parts.size < written.length + without.length)
    throw new CommandFailure(EXIT_UNUSABLE, "A part of the scope is given twice.");
  const lines = dialogue === null && asked.length > 0 ? (await text(process.stdin)).split(/\r?\n/) : [];
  for (const [index, name] of asked.entries()) {
    const value = dialogue === null ? lines[index] : await askSecret(dialogue, `${name} of the caller`);
    if (value === undefined || value === "") {
      throw new CommandFailure(
        EXIT_UNUSABLE,
        `There is no value of ${printableText(name)}: write it to stdin, a line for each --scope without one.`,
      );
    }
    parts.set(name, value);
  }
  return Object.fromEntries(parts);
}

function previewText({ forgotten, inFlight, unknown, events }: ScopeErased): string {
  return [
    `${recordsText(forgotten)} to forget`,
    `${eventsText(events)} to erase, dead letters included`,
    `${recordsText(inFlight)} in flight: left, repeat later`,
    `${recordsText(unknown)} with an unknown outcome: left unless --include-unknown is given, because a retry may then repeat what has taken effect`,
  ].join("\n");
}

function recordsText(count: number): string {
  return count === 1 ? "1 record" : `${count} records`;
}

function eventsText(count: number): string {
  return count === 1 ? "1 event" : `${count} events`;
}

/** Says what is left, also by the exit code. */
function report(sum: ScopeErased, { json, dryRun, includeUnknown }: ForgetOptions, gist: string): void {
  const { cursor: _, ...totals } = sum;
  console.log(json === true ? jsonLine(totals) : gist);
  const { inFlight, unknown, unreachable, notListed } = totals;
  const isDecided = dryRun === true || includeUnknown === true;
  const left = [
    ...(dryRun === true || inFlight === 0 ? [] : [`${recordsText(inFlight)} in flight: run it again later.`]),
    ...(isDecided || unknown === 0
      ? []
      : [`${recordsText(unknown)} with an unknown outcome: settle them, or add --include-unknown.`]),
    ...(unreachable.length === 0 ? [] : [`Did not answer: ${unreachable.join(", ")}. Run it again later.`]),
    ...(notListed.length === 0
      ? []
      : [
          `Not searched, because every key has an object of its own: ${notListed.join(", ")}. Forget those by their keys.`,
        ]),
  ];
  if (left.length === 0) return;
  process.stderr.write(`${left.map(printableText).join("\n")}\n`);
  process.exitCode = EXIT_REFUSED;
}
