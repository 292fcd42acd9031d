// Checks the queues of a wrangler.toml against its consumers and producers: messages that nobody processes, retries that end
// before the gateway gives up, and messages that the platform deletes. Of one environment, which inherits none of them.

import { MIN_MAX_RETRIES } from "../../../kernel/record/delivery.ts";
import { isTable, type SettingsTable, tablesOf } from "../../../kernel/config/table.ts";
import type { ConfigProblem, Queue } from "../../../kernel/config/resolved.ts";

export function queueConsumerProblems(
  prefix: string,
  own: SettingsTable,
  queues: readonly Queue[],
): readonly ConfigProblem[] {
  const declared = isTable(own["queues"]) ? own["queues"] : {};
  const consumers = tablesOf(declared["consumers"]);
  const producers = tablesOf(declared["producers"]);
  return [
    ...rings(prefix, queues, consumers, producers),
    ...queues.flatMap((queue) => problemsOf(queue, consumers, producers, prefix)),
    ...consumers.flatMap((consumer, index) =>
      unknownQueue(consumer, `${prefix}queues.consumers[${index}]`, prefix, queues),
    ),
  ];
}

function problemsOf(
  { name, queue, deadLetter }: Queue,
  consumers: readonly SettingsTable[],
  producers: readonly SettingsTable[],
  prefix: string,
): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const index = consumers.findIndex((one) => one["queue"] === queue);
  const consumer = consumers[index];
  if (consumer === undefined) {
    const message =
      `has no consumer, so its messages are not processed: write [[${prefix}queues.consumers]] with queue = "${queue}", ` +
      `max_retries = 100 and dead_letter_queue = "${queue}-lost"`;
    problems.push({ path: `${prefix}${name}.queue`, code: "queue-invalid", message });
  } else problems.push(...settingsOf(consumer, `${prefix}queues.consumers[${index}]`, queue));
  const producer = producers.find((one) => one["binding"] === deadLetter);
  const at = `${prefix}${name}.dead_letter.binding`;
  if (producer === undefined) {
    // A binding of another kind: it exists, but takes no messages.
    const message = `"${deadLetter}" is no queue: write [[${prefix}queues.producers]] with binding = "${deadLetter}"`;
    problems.push({ path: at, code: "queue-invalid", message });
  }
  return problems;
}

/** A way that a message, or its dead letter, can take to another queue. */
interface DeadLetterWay {
  readonly from: string;
  readonly to: string;
  /** Where it is configured. */
  readonly path: string;
}

/**
 * The ways on which a message that nobody can process comes back to where it was, over one queue or several: it would go round for
 * ever. Dead letters of the gateway and those of the platform count alike.
 */
function rings(
  prefix: string,
  queues: readonly Queue[],
  consumers: readonly SettingsTable[],
  producers: readonly SettingsTable[],
): readonly ConfigProblem[] {
  const ways: readonly DeadLetterWay[] = [
    ...queues.flatMap(({ name, queue, deadLetter }) => {
      const to = producers.find((one) => one["binding"] === deadLetter)?.["queue"];
      return typeof to === "string" ? [{ from: queue, to, path: `${prefix}${name}.dead_letter.binding` }] : [];
    }),
    ...consumers.flatMap(({ queue: from, dead_letter_queue: to }, index) => {
      const path = `${prefix}queues.consumers[${index}].dead_letter_queue`;
      return typeof from === "string" && typeof to === "string" ? [{ from, to, path }] : [];
    }),
  ];
  return ways.flatMap(({ from, to, path }) => {
    const between = wayBack(to, from, ways);
    if (between === null) return [];
    const over = between.length === 0 ? "" : `, by way of ${between.map((one) => `"${one}"`).join(", ")}`;
    const message = `leads back to "${from}"${over}, so that a message that cannot be processed goes round for ever: write another queue`;
    return [{ path, code: "queue-invalid" as const, message }];
  });
}

/** The queues over which what is at `at` comes to `goal`, `at` first; empty if it is there; `null` if it does not. */
function wayBack(
  at: string,
  goal: string,
  ways: readonly DeadLetterWay[],
  seen: readonly string[] = [],
): readonly string[] | null {
  if (at === goal) return seen;
  if (seen.includes(at)) return null;
  for (const { to } of ways.filter(({ from }) => from === at)) {
    const found = wayBack(to, goal, ways, [...seen, at]);
    if (found !== null) return found;
  }
  return null;
}

/** What a consumer's own settings would do to the messages. */
function settingsOf(consumer: SettingsTable, path: string, queue: string): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  // The platform's default.
  const retries = consumer["max_retries"] ?? 3;
  if (typeof retries !== "number" || retries < MIN_MAX_RETRIES) {
    const message = `must be ${MIN_MAX_RETRIES} or more, because the gateway decides when to give up, and the platform may not do so before: write max_retries = 100`;
    problems.push({
      path: `${path}.max_retries`,
      code: "queue-invalid",
      message,
      fix: { replace: "value", text: "100" },
    });
  }
  const lost = consumer["dead_letter_queue"];
  if (lost === undefined) {
    const message = `is missing, so the platform deletes messages that the gateway could not decide about: write dead_letter_queue = "${queue}-lost"`;
    problems.push({ path: `${path}.dead_letter_queue`, code: "queue-invalid", message });
  }
  return problems;
}

function unknownQueue(
  { queue }: SettingsTable,
  path: string,
  prefix: string,
  queues: readonly Queue[],
): readonly ConfigProblem[] {
  if (queues.some((one) => one.queue === queue)) return [];
  const name = typeof queue === "string" ? queue : "";
  const message = `"${name}" has no entry in QUEUES, so its messages are delivered and never processed: write [[${prefix}vars.QUEUES]] with queue = "${name}"`;
  return [{ path: `${path}.queue`, code: "queue-invalid", message }];
}
