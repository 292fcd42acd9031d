// The outbox in Node: its command, the variable `DESTINATIONS` and what `check` finds about it.

import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { cronWarnings, destinationProblems } from "../settings/check-file.ts";
import { published, unusedDestinations } from "../settings/checks.ts";
import { destinationEntries, destinationGiveUpEntries, destinationSchema } from "../settings/entries.ts";
import { defineOutbox } from "./outbox.ts";

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
  commands: [{ name: "outbox", after: "forget", define: defineOutbox }],
  variable: destinationsVariable,
  check: {
    warnings: unusedDestinations,
    fileProblems: destinationProblems,
    fileWarnings: cronWarnings,
    secrets: ({ destinations }) =>
      destinations.flatMap(({ target }) => (target.kind === "webhook" ? target.secrets : [])),
  },
  promises: published,
};
