// `onceway audit`: lists what operators did, newest first, or writes all of it to a file.

import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { type Command, InvalidArgumentError } from "commander";
import type { InferOutput } from "valibot";

import { parseDuration } from "../../../kernel/config/units.ts";
import { LIST_LIMITS } from "../../../operator/request-schema.ts";
import { writePieces } from "../../../cli/arguments.ts";
import { alignColumns, jsonLine, type TerminalLook, lookOf, printableText, shortenText } from "../../../cli/look.ts";
import { queryText } from "../../../cli/operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions, readLimit } from "../../../cli/operator-options.ts";
import { readList } from "../../../cli/read-pages.ts";
import { readableTime } from "../../../cli/times.ts";
import { auditPageSchema } from "../operator/audit-schema.ts";

type AuditPage = InferOutput<typeof auditPageSchema>;
type AuditEntry = AuditPage["entries"][number];

interface AuditFilter extends OperatorOptions {
  readonly by?: string;
  readonly action?: string;
  readonly since?: string;
}

interface ListOptions extends AuditFilter {
  readonly limit: number;
}

function defineAudit(command: Command): void {
  command
    .summary("list what operators did, or export it")
    .description("Shows the audit log: who did what, when, from where, why, and what came of it.");
  const list = withFilter(command.command("list"))
    .summary("list what operators did")
    .description("Lists the audit log, newest first: who did what, when, from where, why, and what came of it.")
    .option("--limit <N>", "how many entries to show", readLimit, LIST_LIMITS.defaultLimit);
  operatorCommand(list, "print one JSON object per line, each an entry as the API gives it").action(listEntries);
  const whole = withFilter(command.command("export"))
    .summary("write all of it to a file")
    .description("Writes the whole audit log to a file, newest first, one JSON object per line.")
    .argument("[FILE]", "where it goes (default: the standard output)");
  operatorCommand(whole, "it is always JSON").action(exportEntries);
}

function withFilter(command: Command): Command {
  return command
    .option("--by <NAME>", "only what this operator did: a name, or an e-mail address")
    .option("--action <ACTION>", "only this, as entries have it: release, release-all, resend")
    .option("--since <TIME>", "only what was done within this time: 30m, 24h, 7d", readSince);
}

function readSince(text: string): string {
  if (parseDuration(text).ok) return text;
  throw new InvalidArgumentError('Write a duration, such as "24h".');
}

const ENTRIES = { path: "/audit", schema: auditPageSchema, itemsOf: ({ entries }: AuditPage) => entries };

async function exportEntries(file: string | undefined, options: AuditFilter): Promise<void> {
  const { by, action, since } = options;
  const path = `/audit/export?${queryText({ by, action, since })}`;
  const lines = await writePieces(file ?? null, await connectOperator(options).pieces(path));
  if (file !== undefined) process.stderr.write(`${lines} entries written to ${printableText(file)}\n`);
}

async function listEntries(options: ListOptions): Promise<void> {
  const { by, action, since, limit } = options;
  const { items, last } = await readList(connectOperator(options), ENTRIES, { by, action, since }, limit);
  if (options.json === true) for (const entry of items) console.log(jsonLine(entry));
  else console.log(auditTable(items, lookOf(process.stdout)));
  if (last.cursor !== null) process.stderr.write(`There may be more: --limit ${limit * 10}.\n`);
}

const HEADINGS = ["AT", "BY", "VIA", "FROM", "ACTION", "TARGET", "OUTCOME", "REASON"];
const TARGET_LENGTH = 24;

export function auditTable(entries: readonly AuditEntry[], look: TerminalLook): string {
  if (entries.length === 0) return "Nothing is in the log.";
  const rows = entries.map(({ at, by, via, address, action, target, key, label, outcome, reason }) =>
    [
      readableTime(at),
      by,
      via,
      address,
      action,
      shortenText(label ?? key ?? target ?? "", TARGET_LENGTH),
      outcome ?? "?",
      reason ?? "",
    ].map(printableText),
  );
  const [headings = "", ...lines] = alignColumns([HEADINGS, ...rows]);
  return [
    look.paint("dim", shortenText(headings, look.width)),
    ...lines.map((line) => shortenText(line, look.width)),
  ].join("\n");
}

export const auditNode: NodeFeature = {
  name: "audit",
  commands: [{ name: "audit", after: "tail", define: defineAudit }],
};
