// `onceway records release --all`, `resolve --all` and `forget --all`: changes all records that a filter matches. Counts them first, and changes
// none that has begun or ended since: whoever has looked into those that were counted knows nothing of it.

import type { Command } from "commander";
import type { InferOutput } from "valibot";

import type { RecordAction } from "../../../operator/record-actions/action.ts";
import type { RecordActionName } from "../../../operator/record-actions/record-actions.ts";
import { readAsOf } from "../../../cli/arguments.ts";
import { askAfterPreview, checkPreview } from "../../../cli/ask.ts";
import type { BulkChanges, ChangeAllOptions } from "../../../cli/change-record.ts";
import { CommandFailure, EXIT_REFUSED, EXIT_UNUSABLE } from "../../../cli/exit-codes.ts";
import { inParts, type InParts, reportStopped, wholeOf } from "../../../cli/in-parts.ts";
import { jsonLine, lookOf, printableText } from "../../../cli/look.ts";
import { withFilter } from "../../../cli/list-records.ts";
import {
  conditionsOf,
  type OperatorClient,
  type RecordConditions,
  type ResolvedResponse,
  responseMember,
  type WrittenBody,
} from "../../../cli/operator-client.ts";
import { connectOperator, type OperatorOptions } from "../../../cli/operator-options.ts";
import { startProgress } from "../../../cli/read-pages.ts";
import { previewText } from "../../../cli/record-text.ts";
import { recordsTable } from "../../../cli/records-table.ts";
import type { allChangedSchema } from "../operator/bulk-schema.ts";
import { changeAllAction } from "../operator/openapi.ts";

type AllChanged = InferOutput<typeof allChangedSchema>;

function withAll(command: Command): Command {
  return withFilter(
    command
      .option("--all", "all records that match --state, --route and the like, instead of ID")
      .option(
        "--as-of <TIME>",
        "with --all --yes: the time that --dry-run printed; what has begun or ended since is left",
        readAsOf,
      ),
  );
}

/** Whether all records that match are meant. Throws a Failure if the arguments contradict each other. */
function meansAll(id: string | undefined, { all, yes, dryRun, asOf, ...options }: ChangeAllOptions): boolean {
  if (asOf !== undefined && (all !== true || yes !== true || dryRun === true)) {
    throw new CommandFailure(EXIT_UNUSABLE, "--as-of belongs to --all --yes: leave it out.");
  }
  const { key: _, ...withoutKey } = options;
  if (all !== true) {
    if (hasCondition(withoutKey))
      throw new CommandFailure(EXIT_UNUSABLE, "Write --all to change all records that match.");
    return false;
  }
  if (id !== undefined) throw new CommandFailure(EXIT_UNUSABLE, "Write either a record or --all.");
  if (hasCondition(options)) return true;
  throw new CommandFailure(
    EXIT_UNUSABLE,
    "--all needs a condition, or it would change every record: --state, --route, --since, --until, --caller, --status or --key.",
  );
}

function hasCondition(options: RecordConditions): boolean {
  return Object.keys(conditionsOf(options)).length > 0;
}

async function changeAll(
  { name: change, words }: RecordAction<RecordActionName>,
  reason: string,
  options: ChangeAllOptions,
  response: ResolvedResponse | null,
): Promise<void> {
  const { past } = words;
  const { dryRun, asOf } = options;
  checkPreview(
    options,
    "All records that match would be changed: count them with --dry-run, which prints what to add: --yes --as-of and its time.",
    asOf !== undefined,
  );
  const client = connectOperator(options);
  const given = response === null ? {} : responseMember(response);
  const request = { change, filter: conditionsOf(options), reason, ...given };
  let until = asOf;
  if (until === undefined) {
    const found = wholeOf(await forEachPart(client, { ...request, preview: true }));
    if (dryRun === true) {
      return report(
        found,
        options,
        `${foundText(past, found)}\n\nTo do it: --yes --as-of ${printableText(found.until)}`,
      );
    }
    await askAfterPreview(foundText(past, found), `${found.changed} to be ${past}. Go on?`);
    ({ until } = found);
  }
  const { sum: done, stopped } = await forEachPart(client, { ...request, confirm: true, until });
  report(done, options, `${past}: ${done.changed} of ${recordsText(done.matched)}`);
  reportStopped(
    stopped,
    `the other records that match were not counted, and some may have been changed. Run it again with --yes --as-of ${until}.`,
  );
}

/** Calls until all records have been looked at. A run that is killed can be repeated: what was changed stays so. */
async function forEachPart(
  client: OperatorClient,
  request: WrittenBody<typeof changeAllAction>,
): Promise<InParts<AllChanged>> {
  const progress = startProgress();
  let matched = 0;
  try {
    return await inParts(
      async (before: AllChanged | null) => {
        const cursor = before?.cursor ?? null;
        if (before === null || cursor === null) return client.perform(changeAllAction, request);
        matched += before.matched;
        progress.show(`${matched} records …`);
        return client.perform(changeAllAction, { ...request, until: before.until, cursor });
      },
      ({ cursor }) => cursor === null,
      added,
    );
  } finally {
    progress.clear();
  }
}

/** Records are those of the first part. */
function added(sum: AllChanged, part: AllChanged): AllChanged {
  const { states, refused } = sum;
  return {
    ...sum,
    matched: sum.matched + part.matched,
    states: {
      waiting: states.waiting + part.states.waiting,
      started: states.started + part.states.started,
      failed: states.failed + part.states.failed,
      unknown: states.unknown + part.states.unknown,
      completed: states.completed + part.states.completed,
      remembered: states.remembered + part.states.remembered,
    },
    changed: sum.changed + part.changed,
    refused: {
      inFlight: refused.inFlight + part.refused.inFlight,
      completed: refused.completed + part.refused.completed,
      remembered: refused.remembered + part.refused.remembered,
    },
    skipped: sum.skipped + part.skipped,
    unanswered: sum.unanswered + part.unanswered,
    routes: [...new Set([...sum.routes, ...part.routes])],
    preview: previewOfBoth(sum.preview, part.preview),
    unreachable: [...new Set([...sum.unreachable, ...part.unreachable])],
  };
}

/** What retries would get on the routes of both: each part knows its own. */
function previewOfBoth(one: AllChanged["preview"], other: AllChanged["preview"]): AllChanged["preview"] {
  if (one === null || other === null) return one;
  const omittedHeaders = [...new Set([...one.omittedHeaders, ...other.omittedHeaders])];
  return { ...one, headers: one.headers.filter(([name]) => !omittedHeaders.includes(name)), omittedHeaders };
}

function foundText(past: string, { matched, states, changed, records, preview }: AllChanged): string {
  const byState = Object.entries(states).filter(([, count]) => count > 0);
  const counts = byState.map(([state, count]) => `${count} ${state}`).join(", ");
  return [
    `${recordsText(matched)} match${matched === 1 ? "es" : ""}${counts === "" ? "" : `: ${counts}`}`,
    `${recordsText(changed)} would be ${past}`,
    ...(records.length === 0 ? [] : ["", recordsTable(records, Date.now(), lookOf(process.stderr))]),
    ...(records.length < matched ? ["…"] : []),
    ...(preview === null ? [] : ["", previewText(preview)]),
  ].join("\n");
}

function recordsText(count: number): string {
  return count === 1 ? "1 record" : `${count} records`;
}

/** Says what is left. The exit code is that of a refusal while a later run may change more. */
function report(sum: AllChanged, { json }: OperatorOptions, gist: string): void {
  const { cursor: _, ...totals } = sum;
  console.log(json === true ? jsonLine(totals) : gist);
  const { refused, skipped, unanswered, unreachable } = totals;
  const { inFlight, completed, remembered } = refused;
  const left = [
    ...(inFlight === 0 ? [] : [`${recordsText(inFlight)} in flight, or perhaps still running: run it again later.`]),
    ...(skipped === 0 ? [] : [`${recordsText(skipped)} ended or changed meanwhile: skipped.`]),
    ...(completed === 0 ? [] : [`${recordsText(completed)} completed: they can only be forgotten.`]),
    ...(remembered === 0
      ? []
      : [`${recordsText(remembered)} of which only the key is left: they can only be forgotten.`]),
    ...(unanswered === 0 ? [] : [`${recordsText(unanswered)} without an answer: they may have been changed.`]),
    ...(unreachable.length === 0 ? [] : [`Did not answer: ${unreachable.join(", ")}. Run it again later.`]),
  ];
  if (left.length > 0) process.stderr.write(`${left.map(printableText).join("\n")}\n`);
  if (inFlight + unanswered + unreachable.length > 0) process.exitCode = EXIT_REFUSED;
}

export const bulkChanges: BulkChanges = { withAll, meansAll, changeAll };
