// Claims in Node: the command `claims`, the variable `CONSUMERS`, and how `check` shows groups.

import type { ConsumerGroup } from "../../../kernel/config/resolved.ts";
import { formatDuration } from "../../../kernel/config/units.ts";
import type { NodeFeature, NodeVariable } from "../../../kernel/node-feature.ts";
import { consumerEntries, CONSUMER_INHERITS, consumerSchema, consumerTexts } from "../settings/consumer-entries.ts";
import { defineClaims } from "./claims.ts";

const { name, token } = consumerSchema.entries;

export const consumersVariable: NodeVariable = {
  name: "CONSUMERS",
  form: "list",
  entries: "groups",
  protects: true,
  definition: "consumer",
  description: "A group of consumers, which claims records and makes the attempts itself.",
  schema: consumerSchema,
  needed: { name, token },
  optional: consumerEntries,
  inherits: CONSUMER_INHERITS,
  readme: new URL("../README.md", import.meta.url),
};

export const claimsNode: NodeFeature = {
  name: "claims",
  commands: [{ name: "claims", after: "records", define: defineClaims }],
  variable: consumersVariable,
  texts: [[consumerSchema.entries, consumerTexts]],
  check: { secrets: ({ consumers }) => consumers.flatMap(({ tokens }) => tokens) },
  entries: {
    noun: "group",
    name: "consumers",
    of: ({ consumers, consumerPath }) =>
      consumers.map((consumer) => {
        const { route, ...json } = consumer;
        const cells = { methods: "claim", origin: `${consumerPath}/${json.group}`, key: "required", scope: "group" };
        return { route, cells, promise: promiseOf(consumer), json };
      }),
  },
};

/** What a claim of this group is worth. */
function promiseOf({ route, maxLockMs }: ConsumerGroup): string {
  const { unknown, lockMs } = route.rules.policy;
  const lease = `a claim holds its key for ${formatDuration(lockMs)}, at most ${formatDuration(maxLockMs)}`;
  return unknown === "hold"
    ? `${lease}; if its holder does not say how it ended, nobody gets the key until an operator decides (unknown = "hold")`
    : `${lease}; if its holder does not say how it ended, the next one gets the key, and a second effect is possible (unknown = "retry"): pass the attempt's number to what can refuse an older one`;
}
