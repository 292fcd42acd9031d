// `onceway records decide`: decides about many records, each as a line of a file says. The whole file is checked before the first call, shown
// before the first change, and can be run again after a failure.

import { buffer } from "node:stream/consumers";

import type { Command } from "commander";
import type { InferOutput } from "valibot";

import { readAsOf, readBytes } from "../../../cli/arguments.ts";
import { askAfterPreview, checkPreview, type PreviewOptions } from "../../../cli/ask.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE } from "../../../cli/exit-codes.ts";
import { inParts, type InParts, reportStopped, wholeOf } from "../../../cli/in-parts.ts";
import { alignColumns, jsonLine, lookOf, paintHead, printableText, shortenText } from "../../../cli/look.ts";
import type { OperatorClient } from "../../../cli/operator-client.ts";
import { connectOperator, operatorCommand, type OperatorOptions } from "../../../cli/operator-options.ts";
import { startProgress } from "../../../cli/read-pages.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { DECISIONS } from "../operator/decision-schema.ts";
import { type DecisionLine, parseDecisionLines } from "../operator/decision-lines.ts";
import type { decidedSchema } from "../operator/decisions-schema.ts";
import { decideManyAction } from "../operator/openapi.ts";
import { isSettled, outcomeText } from "../operator/decision-schema.ts";

type Result = InferOutput<typeof decidedSchema>["results"][number];

/** What has become of a line. */
interface DecidedLine extends Result {
  readonly line: number;
  readonly decision: DecisionLine["decision"]["action"];
}

interface DecideOptions extends OperatorOptions, PreviewOptions {
  readonly file: string;
  readonly reason?: string;
  readonly asOf?: string;
}

/** Of one call: far less than its limit, so that progress is seen and little is asked again after a failure. */
const LINES_PER_CALL = 100;
const BYTES_PER_CALL = 2 << 20;
/** How many a preview shows. */
const SHOWN = 10;

function defineDecide(command: Command): void {
  command
    .summary("decide about many, each as a line of a file says")
    .description(
      'Decides about many records, each as a line of a file says: {"key":"…","decision":"resolve","status":201,"headers":[["content-type","application/json"]],"body":"…","reason":"…"}, or with "id" instead of the key, and with "release" or "forget", which need no response. Checks all lines, shows what would become of each, and asks. Run again with the same --as-of after a failure, it goes on with the rest.',
    )
    .requiredOption("--file <FILE>", "JSON lines; -: the standard input")
    .option("--reason <TEXT>", "why, for lines without their own reason; each record keeps it")
    .option("--dry-run", "only show what would become of each line")
    .option("--yes", "do not ask for confirmation; needs --as-of")
    .option(
      "--as-of <TIME>",
      "the time that --dry-run printed, or of the list that the file was made from; what has begun, ended or been decided since is left",
      readAsOf,
    );
  operatorCommand(command, "print what has become of each line, as one JSON object").action(decide);
}

async function decide(options: DecideOptions): Promise<void> {
  const { dryRun, yes, asOf } = options;
  const lines = await readLines(options);
  checkPreview(
    options,
    `${linesText(lines.length)} would be carried out: look with --dry-run, which prints what to add: --yes --as-of and its time.`,
    asOf !== undefined,
  );
  const client = connectOperator(options);
  let until = asOf;
  if (dryRun === true || yes !== true) {
    const found = wholeOf(await forEachPart(client, lines, { preview: true, until: asOf }));
    ({ until } = found);
    if (dryRun === true) {
      return report(found, options, `${foundText(found)}\n\nTo do it: --yes --as-of ${printableText(found.until)}`);
    }
    const count = found.done.filter(({ outcome }) => outcome === "would-change").length;
    const shown = [foundText(found), ...leftTexts(found)].join("\n");
    await askAfterPreview(shown, `${linesText(count)} to be carried out. Go on?`);
  }
  const { sum, stopped } = await forEachPart(client, lines, { confirm: true, until });
  const changed = sum.done.filter(({ outcome }) => outcome === "changed").length;
  const before = sum.done.filter(({ outcome }) => outcome === "already").length;
  const earlier = before === 0 ? "" : `, ${before} had been before`;
  report(sum, options, `carried out: ${changed} of ${linesText(lines.length)}${earlier}`);
  reportStopped(
    stopped,
    `${lines.length - sum.done.length} of ${linesText(lines.length)} have no answer. Run it again with --yes --as-of ${until}: it goes on with the rest.`,
  );
}

async function readLines({ file, reason }: DecideOptions): Promise<readonly DecisionLine[]> {
  const reasonOfAll = reason?.trim() ?? "";
  const written = file === "-" ? await buffer(process.stdin) : readBytes(file);
  const parsed = await parseDecisionLines(written, reasonOfAll === "" ? undefined : reasonOfAll);
  if (parsed.ok) return parsed.lines;
  const problems = parsed.problems.map((problem) => `${file}:${problem.line}: ${problem.reason}`);
  throw new CommandFailure(EXIT_UNUSABLE, `${problems.join("\n")}\nNothing was asked or changed.`);
}

interface Decided {
  readonly until: string;
  readonly done: readonly DecidedLine[];
  readonly rest: readonly DecisionLine[];
}

interface Asked {
  readonly preview?: true;
  readonly confirm?: true;
  readonly until: string | undefined;
}

async function forEachPart(
  client: OperatorClient,
  lines: readonly DecisionLine[],
  asked: Asked,
): Promise<InParts<Decided>> {
  const progress = startProgress();
  try {
    return await inParts(
      (before: Decided | null) => {
        const { until = before?.until, ...mode } = asked;
        const rest = before?.rest ?? lines;
        progress.show(`${lines.length - rest.length} of ${linesText(lines.length)} …`);
        return decidePart(client, rest, { ...mode, ...(until === undefined ? {} : { until }) });
      },
      ({ rest }) => rest.length === 0,
      (sum, part) => ({ ...part, done: [...sum.done, ...part.done] }),
    );
  } finally {
    progress.clear();
  }
}

/** Sends the first of these lines. Those that the gateway did not get to are sent again. */
async function decidePart(client: OperatorClient, lines: readonly DecisionLine[], mode: object): Promise<Decided> {
  const sent = lines.slice(0, countOf(lines));
  const decisions = sent.map(({ decision: { written, reason } }) => ({ ...written, reason }));
  const { until, results } = await client.perform(decideManyAction, { decisions, ...mode });
  const done: DecidedLine[] = [];
  const again: DecisionLine[] = [];
  for (const [at, one] of sent.entries()) {
    const result = results[at];
    if (result === undefined || result.outcome === "not-reached") again.push(one);
    else done.push({ line: one.line, decision: one.decision.action, ...result });
  }
  if (done.length === 0) {
    throw new CommandFailure(EXIT_REFUSED, "The gateway had no time for any of the next lines. Try again later.");
  }
  return { until, done, rest: [...again, ...lines.slice(sent.length)] };
}

/** How many of these lines one call takes: at least one. */
function countOf(lines: readonly DecisionLine[]): number {
  let bytes = 0;
  const most = lines.slice(0, LINES_PER_CALL).findIndex(({ decision }, at) => {
    bytes += Buffer.byteLength(JSON.stringify(decision.written));
    return at > 0 && bytes > BYTES_PER_CALL;
  });
  return most === -1 ? Math.min(lines.length, LINES_PER_CALL) : most;
}

/** How many of each decision, the first ten, and what deserves a second look. */
function foundText({ done }: Decided): string {
  const toDo = done.filter(({ outcome }) => outcome === "would-change");
  const look = lookOf(process.stderr);
  const rows = done
    .slice(0, SHOWN)
    .map(({ line, decision, state, key, outcome }) => [
      String(line),
      decision,
      state ?? "",
      outcome === "would-change" ? "" : outcome,
      printableText(key ?? ""),
    ]);
  const table = paintHead(look, alignColumns([["LINE", "DECISION", "STATE", "", "KEY"], ...rows]));
  const warned = done.filter(({ warnings }) => warnings.length > 0);
  const warnings = [...new Set(warned.flatMap((one) => one.warnings))].map((warning) => {
    const its = warned.filter((one) => one.warnings.includes(warning)).map(({ line }) => line);
    return `${atLines(its)}: ${printableText(warning)}`;
  });
  return [
    `${linesText(done.length)}: ${decisionsText(done)}`,
    `${linesText(toDo.length)} would be carried out${toDo.length === 0 ? "" : `: ${decisionsText(toDo)}`}`,
    "",
    ...table.map((row) => shortenText(row, look.width)),
    ...(done.length > SHOWN ? ["…"] : []),
    ...(warnings.length === 0 ? [] : ["", ...warnings]),
  ].join("\n");
}

function decisionsText(lines: readonly DecidedLine[]): string {
  return DECISIONS.flatMap((change) => {
    const count = lines.filter(({ decision }) => decision === change).length;
    return count === 0 ? [] : [`${count} ${change}`];
  }).join(", ");
}

function linesText(count: number): string {
  return count === 1 ? "1 decision" : `${count} decisions`;
}

/** `line 7`, `lines 7, 9, 11 and 40 more`. */
function atLines(lines: readonly number[]): string {
  const shown = lines.slice(0, SHOWN).join(", ");
  const more = lines.length > SHOWN ? ` and ${lines.length - SHOWN} more` : "";
  return `${lines.length === 1 ? "line" : "lines"} ${shown}${more}`;
}

/** What was not done, and why. */
function leftTexts({ done }: Decided): readonly string[] {
  const left = done.filter(({ outcome }) => outcome !== "changed" && outcome !== "would-change");
  return [...Map.groupBy(left, ({ outcome }) => outcome)].flatMap(([outcome, its]) => {
    const ids = its.flatMap((one) => one.ids.map((id) => `  ${id}`));
    return [`${atLines(its.map(({ line }) => line))}: ${outcomeText(outcome)}`, ...ids].map(printableText);
  });
}

/** The exit code is that of a refusal while a line is left that somebody has to look at. */
function report(found: Decided, { json }: DecideOptions, gist: string): void {
  const { until, done } = found;
  console.log(
    json === true ? jsonLine({ until, results: done.toSorted((one, other) => one.line - other.line) }) : gist,
  );
  const left = leftTexts(found);
  if (left.length > 0) process.stderr.write(`${left.join("\n")}\n`);
  if (done.some(({ outcome }) => !isSettled(outcome))) process.exitCode = EXIT_REFUSED;
}

export const decisionsNode: NodeFeature = {
  name: "decisions",
  recordCommands: [{ name: "decide", define: defineDecide }],
};
