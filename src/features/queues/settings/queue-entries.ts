// The settings of each `[[vars.QUEUES]]`: those of its own, and those of routes that apply to messages too. Checks single
// members; `queue-checks.ts` checks the relations between them.

import type { RouteDraft } from "../../../kernel/config/cross-checks.ts";
import * as v from "valibot";

import { type KeyPart, MAX_SOURCES } from "../../../kernel/config/key-source.ts";
import {
  choiceSetting,
  defaultsOf,
  durationSetting,
  parsedSetting,
  settingOf,
  type TextsOf,
  statusesSetting,
} from "../../../kernel/config/setting-kinds.ts";
import { DAY_MS } from "../../../kernel/config/units.ts";
import {
  HEADER_VALUE_PATTERN,
  type MessageKey,
  parseDone,
  parseHeaderTable,
  parseMessageKey,
  parseMessageScope,
  parseTo,
} from "./values.ts";
import { BINDING_PATTERN, NAME_PATTERN } from "../../../kernel/config/values.ts";

/** A queue keeps a message for at most 14 days. */
const MAX_GIVE_UP_MS = 14 * DAY_MS;

const MESSAGE_PART_PATTERN = "^json:/.*$";
const MESSAGE_MEMBER_PATTERN = "^(?:text:.+|cloudevent|json:/.*)$";
const MESSAGE_KEY_PATTERN = "^(?:json:/.*|cloudevent|id)$";

/** How a message's body may be compared: it is no form of a browser's. */
const MESSAGE_FORMS = ["bytes", "json", "none"] as const;

const QUEUE_MESSAGE = 'must be the name of a queue: write queue = "orders"';

export const giveUpEntries = {
  after: settingOf(durationSetting(MAX_GIVE_UP_MS), "24h"),
};

export const giveUpTexts: TextsOf<typeof giveUpEntries> = {
  after: {
    description: "The age of a message at which a refused attempt is the last.",
    onChange: "applies at once",
  },
};

/** The settings that only queues have. */
export const queueOnlyEntries = {
  to: v.pipe(
    v.string('must be text: write to = "/internal/orders"'),
    v.metadata({
      pattern: "^(?:/|https?://)[^#]*$",
      examples: ["/internal/orders"],
    }),
    parsedSetting(parseTo),
  ),
  key: settingOf(
    v.pipe(
      v.array(
        v.union(
          [
            v.pipe(v.string(), v.metadata({ pattern: MESSAGE_KEY_PATTERN })),
            v.array(v.pipe(v.string(), v.metadata({ pattern: MESSAGE_MEMBER_PATTERN }))),
            v.strictObject({ template: v.string() }),
          ],
          'must be text, a list of texts or a template: write "json:/id", ["json:/a", "json:/b"] or { template = "order-{json:/id}" }',
        ),
        'must be a list: write ["json:/id"]',
      ),
      v.metadata({ minItems: 1, maxItems: MAX_SOURCES }),
      v.minLength(1, 'must name at least one place: write ["json:/id"]'),
      v.maxLength(MAX_SOURCES, `must have at most ${MAX_SOURCES} entries: leave some out`),
      parsedSetting<(string | string[] | { template: string })[], MessageKey>(parseMessageKey),
    ),
    ["id"],
  ),
  scope: settingOf(
    v.pipe(
      v.array(
        v.pipe(v.string('must be text: write "json:/tenant"'), v.metadata({ pattern: MESSAGE_PART_PATTERN })),
        'must be a list of places: write ["json:/tenant"]',
      ),
      v.metadata({ maxItems: MAX_SOURCES }),
      v.maxLength(MAX_SOURCES, `must have at most ${MAX_SOURCES} entries: leave some out`),
      parsedSetting<string[], readonly KeyPart[]>(parseMessageScope),
    ),
    [],
  ),
  headers: settingOf(
    v.pipe(
      v.record(
        v.string(),
        v.pipe(
          v.string('must be text: write { authorization = "secret:ORDERS_AUTH" }'),
          v.metadata({ pattern: HEADER_VALUE_PATTERN }),
        ),
        'must be a table: write { authorization = "secret:ORDERS_AUTH" }',
      ),
      parsedSetting(parseHeaderTable),
    ),
    {},
  ),
  done: settingOf(
    v.pipe(
      v.array(v.union([v.number(), v.string()]), 'must be a list of statuses: write ["2xx", "3xx", 409]'),
      v.metadata({ minItems: 1 }),
      parsedSetting<(number | string)[], readonly number[]>(parseDone),
    ),
    ["2xx", "3xx"],
  ),
  give_up: settingOf(v.strictObject(giveUpEntries, 'must be a table: write { after = "24h" }'), {}),
  dead_letter: v.strictObject(
    { binding: v.pipe(v.string(), v.metadata({ pattern: BINDING_PATTERN })) },
    'must be a table: write dead_letter = { binding = "ORDERS_DEAD" }',
  ),
};

export const queueOnlyTexts: TextsOf<typeof queueOnlyEntries> = {
  to: {
    description: "Where each message is sent with `POST`.",
    takes: "a path at the origin, or a URL",
    otherwise: "none: every queue needs one",
    onChange: "**makes redeliveries of older messages look like reuse: dead letters `key-reused`**",
  },
  key: {
    description:
      "Where a message's key may be, in the order in which it is looked for, as in `key_from` of routes. `id` is the message's own " +
      "id, which is another one if its producer sends it twice; it comes last.",
    takes:
      'a list of `"json:/POINTER"`, `"cloudevent"`, `"id"`, of lists of places, or of `{ template = "order-{json:/POINTER}" }`',
    onChange: "**names other records**: a message that is delivered again is processed again",
  },
  scope: {
    description: "Whose key it is, besides the queue: places in the body.",
    takes: 'a list of `"json:/POINTER"`',
    onChange: "**names other records**: a message that is delivered again is processed again",
  },
  headers: {
    description: "Headers that the origin gets with each message. `secret:NAME` stands for the value of a secret.",
    takes: "a table of headers",
    onChange: "applies to new attempts: the next attempt of a message that has failed has the new headers",
  },
  done: {
    description: "The statuses of results that settle a message. Any other result makes a dead letter `rejected`.",
    takes: 'a list of statuses, and of `"2xx"` to `"5xx"`',
    onChange: "applies at once",
  },
  give_up: {
    description:
      "When a message that the origin never takes becomes a dead letter: `exhausted` if it was refused, `outcome-unknown` if the outcome of the last attempt is unknown, `store-unavailable` if its object could not be reached.",
    takes: "a table of the member below",
    onChange: "applies at once",
  },
  dead_letter: {
    description: "The queue that gets the dead letters, as a producer binding of this Worker.",
    takes: '`{ binding = "ORDERS_DEAD" }`',
    otherwise: "none: every queue needs one",
    onChange: "applies at once",
  },
};

/** Those of routes whose default is another for queues. They are not inherited from `IDEMPOTENCY`, whose values are for clients. */
export const queueDefaultEntries = {
  fingerprint: settingOf(
    v.strictObject({ body: choiceSetting(MESSAGE_FORMS) }, 'must be a table: write { body = "json" }'),
    { body: "json" },
  ),
  retention: settingOf(durationSetting(365 * DAY_MS), "7d"),
  ambiguous: settingOf(statusesSetting(), [408, 500, 502, 504, 520, 522, 524]),
};

export const queueDefaultTexts: TextsOf<typeof queueDefaultEntries> = {
  fingerprint: {
    description: "How a message's body counts in its fingerprint. Producers write JSON in any order.",
    takes: '`{ body = "json" }`, `"bytes"` or `"none"`',
    onChange: "**makes redeliveries of older messages look like reuse: dead letters `key-reused`**",
  },
  retention: {
    description: "How long a finished record is kept: longer than its queue can deliver the message again.",
    onChange: "applies to new attempts",
  },
  ambiguous: {
    description:
      "Statuses that leave open whether the origin acted. 500 is one of them, because nobody reads it as an answer.",
    onChange: "applies at once",
  },
};

/** Settings of routes that mean the same for queues, and are inherited from `IDEMPOTENCY`. */
export const QUEUE_INHERITS: readonly string[] = [
  "origin",
  "shards",
  "previous_shards", // feature: previous-shards
  "location_hint",
  "jurisdiction",
  "timeout",
  "idle_timeout",
  "lock",
  "unknown",
  "unknown_retention",
  "verify",
  "refused",
  "wait",
  "max_response_body",
  "forward_key",
  "remember",
  "verdicts", // feature: verdicts
  "publish",
  "note",
  "log",
];

/** The name of a queue, as wrangler accepts it. */
const queueName = v.pipe(
  v.string(QUEUE_MESSAGE),
  v.metadata({ pattern: NAME_PATTERN, examples: ["orders"] }),
  v.check((name) => new RegExp(NAME_PATTERN).test(name), QUEUE_MESSAGE),
);

export const queueTexts: TextsOf<{ queue: unknown }> = {
  queue: {
    description: "The queue whose messages are processed. It is always part of a key's scope.",
    takes: "the name of a queue",
    otherwise: "none: every entry needs one",
    onChange: "**names other records**",
  },
};

/** One `[[vars.QUEUES]]`, without what it inherits. */
export const queueSchema = v.strictObject({
  queue: queueName,
  ...queueOnlyEntries,
  ...queueDefaultEntries,
});

/** What was written about a queue, parsed. */
export type QueueSettings = v.InferOutput<typeof queueSchema>;

/** What applies to a member that has a default of its own. */
export const QUEUE_DEFAULTS = v.parse(
  v.required(v.strictObject({ ...defaultedEntries(), ...queueDefaultEntries })),
  defaultsOf({ ...defaultedEntries(), ...queueDefaultEntries }),
);

export const GIVE_UP_DEFAULTS = v.parse(v.required(v.strictObject(giveUpEntries)), defaultsOf(giveUpEntries));

function defaultedEntries() {
  const { key, scope, headers, done, give_up } = queueOnlyEntries;
  return { key, scope, headers, done, give_up };
}

/** A queue as it was written. */
export interface QueueDraft extends RouteDraft {
  readonly written: QueueSettings;
}
