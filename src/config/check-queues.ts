// Checks the queues of a wrangler.toml against its consumers and producers: messages that nobody processes, retries that end
// before the gateway gives up, and messages that the platform deletes. Of one environment, which inherits none of them.

import { MIN_MAX_RETRIES } from "../core/delivery.ts";
import { isTable, type Table, tablesOf } from "./read-settings.ts";
import type { ConfigProblem, Queue } from "./resolved.ts";

export function consumerProblems(prefix: string, own: Table, queues: readonly Queue[]): readonly ConfigProblem[] {
  const declared = isTable(own["queues"]) ? own["queues"] : {};
  const consumers = tablesOf(declared["consumers"]);
  const producers = tablesOf(declared["producers"]);
  return [
    ...queues.flatMap((queue) => problemsOf(queue, consumers, producers, prefix)),
    ...consumers.flatMap((consumer, index) =>
      unknownQueue(consumer, `${prefix}queues.consumers[${index}]`, prefix, queues),
    ),
  ];
}

function problemsOf(
  { name, queue, deadLetter }: Queue,
  consumers: readonly Table[],
  producers: readonly Table[],
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
  } else if (producer["queue"] === queue) {
    problems.push({
      path: at,
      code: "queue-invalid",
      message: `leads back to "${queue}", so that dead letters would be processed: write another queue`,
    });
  }
  return problems;
}

/** What a consumer's own settings would do to the messages. */
function settingsOf(consumer: Table, path: string, queue: string): readonly ConfigProblem[] {
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
  } else if (lost === queue) {
    problems.push({
      path: `${path}.dead_letter_queue`,
      code: "queue-invalid",
      message: `must be another queue: write "${queue}-lost"`,
    });
  }
  return problems;
}

function unknownQueue(
  { queue }: Table,
  path: string,
  prefix: string,
  queues: readonly Queue[],
): readonly ConfigProblem[] {
  if (queues.some((one) => one.queue === queue)) return [];
  const name = typeof queue === "string" ? queue : "";
  const message = `"${name}" has no entry in QUEUES, so its messages are delivered and never processed: write [[${prefix}vars.QUEUES]] with queue = "${name}"`;
  return [{ path: `${path}.queue`, code: "queue-invalid", message }];
}
