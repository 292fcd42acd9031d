// `onceway report`: what enforcing would have done with the requests of routes that are only observed.

import { type Command, InvalidArgumentError } from "commander";
import type { InferOutput } from "valibot";

import { alignColumns, jsonLine, lookOf, printableText, type TerminalLook } from "../../../cli/look.ts";
import {
  connectOperator,
  notAskedLines,
  operatorCommand,
  type OperatorOptions,
} from "../../../cli/operator-options.ts";
import { readableTime } from "../../../cli/times.ts";
import { parseDuration } from "../../../kernel/config/units.ts";
import { reportSchema } from "../operator/report-schema.ts";
import { KIND_TITLES, modeText } from "../operator/report-lines.ts";

export type ShownReport = InferOutput<typeof reportSchema>;
type ShownRoute = ShownReport["routes"][number];

interface ReportOptions extends OperatorOptions {
  readonly since: string;
}

export function defineReport(command: Command): void {
  command
    .summary("say what observed routes would have done")
    .description(
      'Says of each route with mode = "observe" what took effect twice, what enforcing would have answered, and what it would break, with the setting that decides it.',
    )
    .option("--since <TIME>", "how far back, in whole days: 24h, 7d", readSince, "7d");
  operatorCommand(command, "print what the API answers").action(showReport);
}

function readSince(text: string): string {
  const parsed = parseDuration(text);
  if (parsed.ok && parsed.value <= 7 * 86_400_000) return text;
  throw new InvalidArgumentError('Write a duration of at most 7d, such as "24h".');
}

async function showReport({ since, ...options }: ReportOptions): Promise<void> {
  const report = await connectOperator(options).read(reportSchema, `/report?since=${encodeURIComponent(since)}`);
  if (options.json === true) console.log(jsonLine(report));
  else console.log(reportText(report, lookOf(process.stdout)));
  for (const line of notAskedLines(report.notAsked)) process.stderr.write(`${line}\n`);
  const silent = report.unreachable;
  if (silent.length > 0) process.stderr.write(`${printableText(`Did not answer: ${silent.join(", ")}.`)}\n`);
}

export function reportText({ since, routes }: ShownReport, look: TerminalLook): string {
  if (routes.length === 0) return 'No route is observed: write mode = "observe" in a route.';
  return [`Since ${readableTime(since)}`, ...routes.flatMap((route) => ["", ...routeLines(route, look)])].join("\n");
}

function routeLines(route: ShownRoute, look: TerminalLook): readonly string[] {
  const { lines, examples, seen } = route;
  const rows = lines.map(({ kind, count, text, setting }) =>
    [titleOf(kind), count === null ? "" : String(count), text, setting ?? ""].map(printableText),
  );
  const shown = examples.map(({ kind, at, earlierAt, method, status, key, keyHash }) =>
    [
      kind,
      readableTime(at),
      earlierAt === null ? "" : `after ${readableTime(earlierAt)}`,
      `${method} ${status ?? "no answer"}`,
      key ?? `hash ${keyHash.slice(0, 12)}`,
    ].map(printableText),
  );
  return [
    look.paint("bold", printableText(route.route)),
    `${modeText(route)} ${seen} requests were looked at.`,
    ...(rows.length === 0 ? [] : alignColumns([["", "REQUESTS", "", "SETTING"], ...rows])),
    ...(shown.length === 0 ? [] : ["", look.paint("dim", "Examples"), ...alignColumns(shown)]),
  ];
}

/** A newer gateway may have other kinds. */
function titleOf(kind: string): string {
  const titles: Readonly<Record<string, string>> = KIND_TITLES;
  return titles[kind] ?? kind;
}
