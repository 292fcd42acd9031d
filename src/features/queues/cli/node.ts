// Queues in Node: the variable `QUEUES`, what `check` finds about it, and how it shows queues.

import { sourceText } from "../../../kernel/config/key-source.ts";
import type { Queue } from "../../../kernel/config/resolved.ts";
import { formatDuration } from "../../../kernel/config/units.ts";
import type { DescribedEntry, NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { queueConsumerProblems } from "../settings/check-file.ts";
import { queueWarnings } from "../settings/queue-checks.ts";
import {
  giveUpEntries,
  giveUpTexts,
  QUEUE_INHERITS,
  queueDefaultEntries,
  queueDefaultTexts,
  queueOnlyEntries,
  queueOnlyTexts,
  queueSchema,
  queueTexts,
} from "../settings/queue-entries.ts";

const { queue, to, dead_letter } = queueSchema.entries;
const { to: _to, dead_letter: _deadLetter, ...optional } = queueOnlyEntries;

export const queuesVariable: NodeVariable = {
  name: "QUEUES",
  form: "list",
  entries: "queues",
  protects: true,
  definition: "queue",
  description: "A queue whose messages are processed.",
  schema: queueSchema,
  needed: { queue, to, dead_letter },
  optional: { ...optional, ...queueDefaultEntries },
  inherits: QUEUE_INHERITS,
  // The one member of `fingerprint` is described with it.
  tables: { give_up: giveUpEntries, fingerprint: {} },
  readme: new URL("../README.md", import.meta.url),
};

export const queuesNode: NodeFeature = {
  name: "queues",
  variable: queuesVariable,
  texts: [
    [{ queue }, queueTexts],
    [queueOnlyEntries, queueOnlyTexts],
    [queueDefaultEntries, queueDefaultTexts],
    [giveUpEntries, giveUpTexts],
  ],
  check: {
    warnings: ({ queues }) => queues.flatMap(queueWarnings),
    fileProblems: (prefix, own, { queues }) => queueConsumerProblems(prefix, own, queues),
  },
  entries: { noun: "queue", name: "queues", of: ({ queues }) => queues.map(describeQueue) },
};

function describeQueue(described: Queue): DescribedEntry {
  const { route, callHeaders, scopeParts, ...rest } = described;
  const key = [...route.keyFrom.map(sourceText), ...(rest.hasIdAsKey ? ["id"] : [])].join(" or ");
  const scope = scopeParts.map(sourceText);
  return {
    route,
    cells: { methods: "message", origin: rest.url, key, scope: ["queue", ...scope].join("+") },
    promise: promiseOf(described),
    json: { ...rest, scope, callHeaders: callHeaders.map(({ name }) => name) },
  };
}

/** What the queue's rule for unknown outcomes means for its messages. */
function promiseOf({ route: { rules }, deadLetter, giveUpAfterMs }: Queue): string {
  const until = `refused messages are tried for ${formatDuration(giveUpAfterMs)}, dead letters go to ${deadLetter}`;
  switch (rules.policy.unknown) {
    case "hold":
      return `no second effect: after an unknown outcome, the message waits with its record until an operator decides (unknown = "hold"); ${until}`;
    case "verify":
      return `no second effect: after an unknown outcome, the message is tried again only if the origin, asked, knows nothing of the first try (unknown = "verify"); ${until}`;
    case "retry":
      return `a second effect is possible: after an unknown outcome, the message is tried again when the lock has ended (unknown = "retry"), which only an origin that knows keys makes safe; ${until}`;
  }
}
