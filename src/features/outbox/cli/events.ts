// `onceway events`: lists the destinations of events and what is left for each, sends events again, drops them. What concerns all events
// of a destination is counted first.

import { type Command, InvalidArgumentError, Option } from "commander";
import type { InferOutput } from "valibot";

import { EVENT_STATES, type EventState } from "../../../kernel/record/outbox.ts";
import { LIST_LIMITS } from "../../../operator/request-schema.ts";
import { DESTINATION_NAME } from "../operator/events-request-schema.ts";
import { restText } from "../rest-text.ts";
import { askAfterPreview, checkPreview, type PreviewOptions } from "../../../cli/ask.ts";
import { CommandFailure, EXIT_REFUSED } from "../../../cli/exit-codes.ts";
import { inParts, reportStopped } from "../../../cli/in-parts.ts";
import { alignColumns, jsonLine, lookOf, paintHead, printableText } from "../../../cli/look.ts";
import { type OperatorClient, pageQuery } from "../../../cli/operator-client.ts";
import {
  connectOperator,
  operatorCommand,
  type OperatorOptions,
  readLimit,
  notAskedLines,
  reportLeft,
} from "../../../cli/operator-options.ts";
import { readList } from "../../../cli/read-pages.ts";
import { fromNow } from "../../../cli/times.ts";
import { EVENTS_ACTIONS, type OutboxChangedView, outboxPageSchema } from "../operator/outbox-schema.ts";

type OutboxPage = InferOutput<typeof outboxPageSchema>;
type OutboxEvent = OutboxPage["events"][number];

interface ListOptions extends OperatorOptions {
  readonly state?: string;
  readonly destination?: string;
  readonly limit: number;
}

interface ChangeOptions extends OperatorOptions, PreviewOptions {
  readonly state?: EventState;
  readonly id?: string;
  readonly reason: string;
}

type Action = keyof typeof EVENTS_ACTIONS;

const DONE: Readonly<Record<Action, string>> = { resend: "sent again", drop: "dropped" };

export function defineEvents(command: Command): Command {
  command
    .summary("list events that are left, send them again, drop them")
    .description("Shows which events their destinations have not taken yet, and lets an operator decide about them.");
  const list = command
    .command("list")
    .summary("list destinations and their events")
    .description("Lists every destination, and the events that it has not taken: pending ones, and dead ones.")
    .addOption(stateOption())
    .option("--destination <NAME>", "only those for this destination", readDestination)
    .option("--limit <N>", "how many events to list", readLimit, LIST_LIMITS.defaultLimit);
  operatorCommand(list, "print one JSON object per line: the destinations, then each event").action(listEvents);
  defineChange(command.command("resend"), "resend", "send events again, as if they had just been published");
  defineChange(command.command("drop"), "drop", "erase events, which cannot be undone");
  return command;
}

function defineChange(command: Command, action: Action, summary: string): void {
  command
    .summary(summary)
    .description(
      `For one destination: ${summary}. Without --id it concerns all of its events, which are counted first.`,
    )
    .argument("<DESTINATION>", "its name, as events list gives it", readDestination)
    .option("--id <ID>", "only the event with this id")
    .addOption(stateOption())
    .requiredOption("--reason <TEXT>", "why; the log keeps it")
    .option("--dry-run", "only count them")
    .option("--yes", "do not ask");
  operatorCommand(command, "print what the API answers").action((destination: string, options: ChangeOptions) =>
    change(action, destination, options),
  );
}

function stateOption(): Option {
  return new Option("--state <STATE>", "only these").choices(EVENT_STATES);
}

const EVENTS = { path: "/outbox", schema: outboxPageSchema, itemsOf: ({ events }: OutboxPage) => events };

async function listEvents(options: ListOptions): Promise<void> {
  const { state, destination, limit } = options;
  const { items, last } = await readList(connectOperator(options), EVENTS, { state, destination }, limit);
  const { destinations } = last;
  if (options.json === true) for (const line of [{ destinations }, ...items]) console.log(jsonLine(line));
  else console.log(outboxText(destinations, items, Date.now()));
  reportLeft(last, limit);
}

function outboxText(destinations: OutboxPage["destinations"], events: readonly OutboxEvent[], now: number): string {
  const look = lookOf(process.stdout);
  const summaries = alignColumns([
    ["DESTINATION", "PENDING", "DEAD", "OLDEST", "RESTS"],
    ...destinations.map(({ destination, target, pending, dead, atLeast, oldestPendingAt, oldestDeadAt, resting }) => {
      const oldest = oldestPendingAt ?? oldestDeadAt;
      return [
        printableText(target ?? `${destination} (not configured)`),
        `${pending}${atLeast.includes("pending") ? "+" : ""}`,
        `${dead}${atLeast.includes("dead") ? "+" : ""}`,
        oldest === null ? "" : fromNow(oldest, now),
        restOf(resting, now),
      ];
    }),
  ]);
  const listed = alignColumns([
    ["STATE", "TRIES", "PUBLISHED", "NEXT", "DESTINATION", "ID", "WHY"],
    ...events.map(({ state, tries, publishedAt, nextTryAt, destination, id, reason }) => [
      state,
      String(tries),
      fromNow(publishedAt, now),
      nextTryAt === null ? "" : fromNow(nextTryAt, now),
      printableText(destination),
      printableText(id),
      printableText(reason ?? ""),
    ]),
  ]);
  const eventLines = events.length === 0 ? ["no events"] : paintHead(look, listed);
  return [...(destinations.length === 0 ? [] : [...paintHead(look, summaries), ""]), ...eventLines].join("\n");
}

function restOf(resting: OutboxPage["destinations"][number]["resting"], now: number): string {
  const rest = restText(resting);
  return rest === null ? "" : printableText(`${rest.lanes} ${fromNow(rest.until, now)}: ${rest.why}`);
}

async function change(action: Action, destination: string, options: ChangeOptions): Promise<void> {
  const { id, state, reason, dryRun, yes } = options;
  const client = connectOperator(options);
  const asked = { destination, reason, ...(state === undefined ? {} : { state }) };
  if (id !== undefined) {
    const { shard, place } = await findEvent(client, destination, id);
    return report(
      action,
      await client.perform(EVENTS_ACTIONS[action], { destination, reason, event: { shard, place, id } }),
      options,
    );
  }
  checkPreview(options, "All these events would be changed: count them with --dry-run, then add --yes.");
  if (dryRun === true || yes !== true) {
    const found = await client.perform(EVENTS_ACTIONS[action], { ...asked, preview: true });
    const text = `${eventsText(found.events)}${found.more ? " or more" : ""} would be ${DONE[action]}`;
    if (dryRun === true) {
      console.log(options.json === true ? jsonLine(found) : text);
      return;
    }
    await askAfterPreview(text, "Go on?");
  }
  // A run that is killed can be repeated.
  const { sum, stopped } = await inParts(
    () => client.perform(EVENTS_ACTIONS[action], { ...asked, confirm: true }),
    ({ more }) => !more,
    (before, part) => ({ ...part, events: before.events + part.events }),
  );
  report(action, sum, options);
  reportStopped(stopped, "there may be more events, and some of them may have been changed. Run it again.");
}

async function findEvent(client: OperatorClient, destination: string, id: string): Promise<OutboxEvent> {
  let cursor: string | null = null;
  do {
    const page: OutboxPage = await client.read(
      EVENTS.schema,
      `${EVENTS.path}?${pageQuery({ destination }, LIST_LIMITS.maxLimit, cursor)}`,
    );
    const found = page.events.find((event) => event.id === id);
    if (found !== undefined) return found;
    ({ cursor } = page);
  } while (cursor !== null);
  throw new CommandFailure(
    EXIT_REFUSED,
    "The destination has no such event: it has been taken or dropped. See npx onceway events list.",
  );
}

function report(action: Action, changed: OutboxChangedView, { json }: OperatorOptions): void {
  console.log(json === true ? jsonLine(changed) : `${DONE[action]}: ${eventsText(changed.events)}`);
  for (const line of notAskedLines(changed.notAsked)) process.stderr.write(`${line}\n`);
  if (changed.unreachable.length === 0) return;
  process.stderr.write(`${printableText(`Did not answer: ${changed.unreachable.join(", ")}. Run it again later.`)}\n`);
  process.exitCode = EXIT_REFUSED;
}

function eventsText(count: number): string {
  return count === 1 ? "1 event" : `${count} events`;
}

function readDestination(value: string): string {
  if (!DESTINATION_NAME.test(value)) throw new InvalidArgumentError("Write the name of a destination: billing.");
  return value;
}
