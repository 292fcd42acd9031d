// The settings of each `[[vars.CONSUMERS]]`: a group of consumers, which claims records and makes the attempts itself. Checks single
// members; `consumer-checks.ts` checks the relations between them.

import type { RouteDraft } from "../../../kernel/config/cross-checks.ts";
import * as v from "valibot";

import { MAX_LOCK_MS, MAX_RETENTION_MS } from "../../../kernel/config/settings-attempt.ts";
import {
  choiceSetting,
  defaultsOf,
  durationSetting,
  secretNames,
  settingOf,
  type TextsOf,
} from "../../../kernel/config/setting-kinds.ts";
import { NAME_PATTERN } from "../../../kernel/config/values.ts";

/** Of those for routes: nobody can ask a consumer what became of an attempt. */
export const CONSUMER_UNKNOWN_RULES = ["hold", "retry"] as const;

const NAME_MESSAGE = 'must be small letters, digits and "-", at most 63: write name = "billing"';
/** The new one, and that before it while it changes. */
const MAX_TOKENS = 2;

/** The settings that only groups have, or have with a default of their own. None is inherited from `IDEMPOTENCY`. */
export const consumerEntries = {
  unknown: settingOf(choiceSetting(CONSUMER_UNKNOWN_RULES), "hold"),
  lock: settingOf(durationSetting(MAX_LOCK_MS), "60s"),
  max_lock: settingOf(durationSetting(MAX_LOCK_MS), "15m"),
  retention: settingOf(durationSetting(MAX_RETENTION_MS), "7d"),
};

/** Settings of routes that mean the same for groups, and are inherited from `IDEMPOTENCY`. */
export const CONSUMER_INHERITS: readonly string[] = [
  "shards",
  "previous_shards", // feature: previous-shards
  "location_hint",
  "jurisdiction",
  "unknown_retention",
  "publish",
];

/** One `[[vars.CONSUMERS]]`, without what it inherits. */
export const consumerSchema = v.strictObject({
  name: v.pipe(
    v.string(NAME_MESSAGE),
    v.metadata({ pattern: NAME_PATTERN, examples: ["billing"] }),
    v.check((name) => new RegExp(NAME_PATTERN).test(name), NAME_MESSAGE),
  ),
  token: secretNames(MAX_TOKENS, 'write token = "BILLING_TOKEN"'),
  ...consumerEntries,
});

export const consumerTexts: TextsOf<typeof consumerSchema.entries> = {
  name: {
    description: "The group. It is always part of a key's scope, and a part of its path.",
    takes: "small letters, digits and `-`",
    otherwise: "none: every group needs one",
    onChange: "**names other records**",
  },
  token: {
    description:
      "The secret whose value opens this group, and no other. While it changes, a list of two: both open it.",
    otherwise: "none: every group needs one",
    onChange: "applies at once",
  },
  unknown: {
    description:
      'What follows a lock that ends before its holder says how its attempt ended: `"hold"` grants no other until an operator ' +
      'decides, `"retry"` grants the next claim another attempt, **which may take effect a second time**, and may run beside the first.',
    onChange: "applies to new attempts",
  },
  lock: {
    description: "How long a claim holds its key, if it does not say. Each extension begins this time anew.",
    onChange: "applies to new attempts",
  },
  max_lock: {
    description: "The longest lock that a claim may ask for.",
    onChange: "applies to new attempts",
  },
  retention: {
    description: "How long a finished record is kept: longer than the consumer's broker can deliver the message again.",
    onChange: "applies to new attempts",
  },
};

/** What was written about a group, parsed. */
export type ConsumerSettings = v.InferOutput<typeof consumerSchema>;

/** What applies to a member that has a default of its own. */
export const CONSUMER_DEFAULTS = v.parse(v.required(v.strictObject(consumerEntries)), defaultsOf(consumerEntries));

/** A group as it was written. */
export interface ConsumerDraft extends RouteDraft {
  readonly written: ConsumerSettings;
}
