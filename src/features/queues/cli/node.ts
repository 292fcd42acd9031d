// Queues in Node: the variable `QUEUES`, and what `check` finds about it.

import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { consumerProblems } from "../settings/check-file.ts";
import { queueWarnings } from "../settings/checks.ts";
import {
  giveUpEntries,
  QUEUE_INHERITS,
  queueDefaultEntries,
  queueOnlyEntries,
  queueSchema,
} from "../settings/entries.ts";

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
  check: {
    warnings: ({ queues }) => queues.flatMap(queueWarnings),
    fileProblems: (prefix, own, { queues }) => consumerProblems(prefix, own, queues),
  },
};
