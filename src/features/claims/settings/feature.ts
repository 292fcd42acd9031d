// The settings of claims: groups of consumers (`CONSUMERS`), and the path of the claims API.

import type { FeatureDraft, FeatureSettings, SettingsInput, ResolveRules } from "../../../kernel/feature-settings.ts";
import { claimConsumerProblems, readConsumerTokens } from "./consumer-checks.ts";
import { CONSUMER_LABEL } from "../../../kernel/record/claim.ts";
import {
  type ConsumerDraft,
  CONSUMER_DEFAULTS,
  CONSUMER_INHERITS,
  consumerSchema,
  type ConsumerSettings,
} from "./consumer-entries.ts";
import type { SettingEntries } from "../../../kernel/config/setting-kinds.ts";
import { readTables, variablesOf } from "../../../kernel/config/read-tables.ts";
import type { ConfigProblem, ConsumerGroup } from "../../../kernel/config/resolved.ts";
import type { WrittenSettings } from "../../../kernel/config/settings.ts";

export const claimsSettings: FeatureSettings = {
  name: "claims",
  read,
  secretProblems: ({ consumers }, env, taken) => readConsumerTokens(env, consumers, taken).problems,
};

function read({ env, hasBinding, gateway, operators, routeSettings }: SettingsInput): FeatureDraft {
  const { drafts, problems } = readConsumers(env, routeSettings);
  const path = gateway.consumer_path;
  return {
    problems,
    drafts,
    // Without groups it is a path as any other.
    ...(drafts.length === 0
      ? {}
      : { ownPath: { setting: "consumer_path", path, whom: "consumers", example: "/_claims" } }),
    check: () => claimConsumerProblems(drafts, hasBinding, operators),
    resolve: (resolveRules) => ({
      consumers: drafts.map((draft) => resolveConsumer(draft, resolveRules)),
      consumerPath: drafts.length === 0 ? null : path,
    }),
  };
}

// Reads every variable whose name starts with `CONSUMERS`: lists of groups of consumers. A group's rules are those of a route that no
// request matches, so that records, checks and lists need to know one kind of rules.

export interface ConsumersReading {
  /** Those without a problem of their own. */
  readonly drafts: readonly ConsumerDraft[];
  readonly problems: readonly ConfigProblem[];
}

const CONSUMERS = {
  variable: "CONSUMERS",
  plural: "groups of consumers",
  advice: 'write [[vars.CONSUMERS]] with name = "billing" and token = "BILLING_TOKEN"',
  schema: consumerSchema,
  inherits: CONSUMER_INHERITS,
  missing: {
    name: 'is missing: write name = "billing"',
    token: 'is missing: write token = "BILLING_TOKEN", the name of a secret',
  },
  nothingFor: "for claims",
  named: { member: "name", what: "group", of: ({ name }: ConsumerSettings) => name },
};

/** Names of the variables that hold groups, in the order in which they are read. */
export function consumerVariables(env: Readonly<Record<string, unknown>>): readonly string[] {
  return variablesOf(env, CONSUMERS.variable);
}

/** `routeSettings`: all that routes may have. */
export function readConsumers(env: Readonly<Record<string, unknown>>, routeSettings: SettingEntries): ConsumersReading {
  const { tables, problems } = readTables(env, CONSUMERS, routeSettings);
  const drafts = tables.map(({ name, written, settings }) => ({
    name,
    inherits: CONSUMER_INHERITS,
    hasResponses: false,
    route: null,
    settings: rulesOf(written, settings),
    faulty: new Set<string>(),
    written,
  }));
  return { drafts, problems };
}

/** Nothing is called, so that what is about calls means nothing: it is set so that it is in nobody's way. */
const NO_CALL: WrittenSettings = {
  timeout: 1,
  wait: 0,
  duplicate: "reject",
  key: "required",
  scope: [],
  previous_scope: [],
  on_store_failure: "closed",
  remember: null,
  encrypt_responses: false,
  key_format: {},
  forward_key: { kind: "client" },
};

/** What of a group's settings a route has too, what it inherits, and what is fixed for groups. */
function rulesOf(written: ConsumerSettings, inherited: WrittenSettings): WrittenSettings {
  const { unknown, lock, retention } = { ...CONSUMER_DEFAULTS, ...written };
  return { ...inherited, ...NO_CALL, unknown, lock, retention };
}

/** Every setting that applies to a group. `written` has no problem. */
export function resolveConsumer(draft: ConsumerDraft, resolveRules: ResolveRules): ConsumerGroup {
  const { name, written } = draft;
  const { name: group, token: tokens, max_lock: maxLockMs } = { ...CONSUMER_DEFAULTS, ...written };
  const route = resolveRules(draft, CONSUMER_LABEL + group);
  return {
    name,
    group,
    route: { ...route, methods: ["CLAIM"], scope: [] },
    maxLockMs,
    tokens,
  };
}
