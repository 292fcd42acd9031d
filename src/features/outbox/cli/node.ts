// The outbox in Node: its command, the variable `DESTINATIONS` and what `check` finds about it.

import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { describePublished, unusedDestinations } from "../settings/outbox-checks.ts";
import {
  destinationEntries,
  destinationGiveUpEntries,
  destinationGiveUpTexts,
  destinationSchema,
  destinationTexts,
  publicationEntries,
  publicationTexts,
  publishSettings,
  publishTexts,
} from "../settings/outbox-entries.ts";
import { defineEvents } from "./events.ts";
import { isTable, type SettingsTable } from "../../../kernel/config/table.ts";
import type { Config, ConfigProblem, Queue } from "../../../kernel/config/resolved.ts";

export const destinationsVariable: NodeVariable = {
  name: "DESTINATIONS",
  form: "list",
  entries: "destinations",
  protects: false,
  definition: "destination",
  description: "A place where events go.",
  schema: destinationSchema,
  needed: { name: destinationSchema.entries.name },
  optional: destinationEntries,
  tables: { give_up: destinationGiveUpEntries },
  readme: new URL("../README.md", import.meta.url),
};

export const outboxNode: NodeFeature = {
  name: "outbox",
  commands: [{ name: "events", after: "records", define: defineEvents }],
  variable: destinationsVariable,
  texts: [
    [destinationSchema.entries, destinationTexts],
    [destinationGiveUpEntries, destinationGiveUpTexts],
    [publishSettings, publishTexts],
    [publicationEntries, publicationTexts],
  ],
  check: {
    warnings: unusedDestinations,
    fileProblems: destinationProblems,
    fileWarnings: cronWarnings,
    secrets: ({ destinations }) =>
      destinations.flatMap(({ target }) => (target.kind === "webhook" ? target.secrets : [])),
  },
  promises: describePublished,
};

// Checks the destinations of a wrangler.toml against the rest of the file: queues that do not exist, and events that come back as
// messages of the queue that they are about. Of one environment.

export function destinationProblems(prefix: string, own: SettingsTable, config: Config): readonly ConfigProblem[] {
  const queues = isTable(own["queues"]) ? own["queues"]["producers"] : undefined;
  const producers = Array.isArray(queues) ? queues.filter(isTable) : [];
  /** What each queue that gets events is called, by its destination. */
  const led = new Map<string, unknown>();
  const problems: ConfigProblem[] = [];
  for (const { name, target } of config.destinations) {
    if (target.kind === "webhook") continue;
    const producer = producers.find(({ binding }) => binding === target.binding);
    if (producer === undefined) {
      const message = `the binding "${target.binding}" of "${name}" is no queue: write [[${prefix}queues.producers]] with binding = "${target.binding}"`;
      problems.push({ path: `${prefix}DESTINATIONS`, code: "binding-missing", message });
    } else led.set(name, producer["queue"]);
  }
  const consumed = new Set<unknown>(config.queues.map(({ queue }) => queue));
  const circles = config.destinations
    .filter(({ name, alerts }) => alerts.includes("dead-letter") && consumed.has(led.get(name)))
    .map(({ name }) => ({
      path: `${prefix}DESTINATIONS`,
      message: `"${name}" gets alerts of dead letters in "${String(led.get(name))}", which this gateway consumes, so that each alert could make the next one: write a destination with another queue`,
    }));
  return [...problems, ...circles, ...config.queues.flatMap((queue) => leadsBack(prefix, queue, led))];
}

/** A destination that would never get the alert that it asks for: only a cron trigger looks for silent shards. Environments inherit `triggers`. */
export function cronWarnings(
  { destinations }: Config,
  own: SettingsTable,
  top: SettingsTable,
): readonly ConfigProblem[] {
  const triggers = own["triggers"] ?? top["triggers"];
  const crons = isTable(triggers) ? triggers["crons"] : undefined;
  if (Array.isArray(crons) && crons.length > 0) return [];
  return destinations
    .filter(({ alerts }) => alerts.includes("silent-shard"))
    .map(({ name }) => ({
      path: "DESTINATIONS",
      code: "setting-unused" as const,
      message: `"${name}" never gets an alert of a silent shard, because no cron trigger looks for one: write [triggers] with crons = ["* * * * *"]`,
    }));
}

/** Each event would be a message whose result is an event again, for ever. */
function leadsBack(
  prefix: string,
  { name, queue, route }: Queue,
  led: ReadonlyMap<string, unknown>,
): readonly ConfigProblem[] {
  return (route.rules.policy.publish ?? [])
    .filter(({ to }) => led.get(to) === queue)
    .map(({ to }) => ({
      path: `${prefix}${name}.publish`,
      code: "settings-contradict",
      message: `"${to}" leads back to "${queue}", so that each event would make the next one: write a destination with another queue`,
    }));
}
