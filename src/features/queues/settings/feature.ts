// The settings of queues: those whose messages are processed (`QUEUES`).

import type { FeatureDraft, FeatureSettings, SettingsInput, ResolveRules } from "../../../kernel/feature-settings.ts";
import { queueProblems, NO_HOST, targetOf } from "./queue-checks.ts";
import type { StatusRule } from "../../../kernel/record/verdict.ts";
import {
  type QueueDraft,
  GIVE_UP_DEFAULTS,
  QUEUE_INHERITS,
  QUEUE_DEFAULTS,
  queueSchema,
  type QueueSettings,
} from "./queue-entries.ts";
import type { SettingEntries } from "../../../kernel/config/setting-kinds.ts";
import { readTables, variablesOf } from "../../../kernel/config/read-tables.ts";
import { scheduleWithin } from "../../../kernel/record/schedule.ts";
import type { ConfigProblem, Queue } from "../../../kernel/config/resolved.ts";
import type { WrittenSettings } from "../../../kernel/config/settings.ts";

export const queuesSettings: FeatureSettings = { name: "queues", read };

function read({ env, hasBinding, defaults, routeSettings }: SettingsInput): FeatureDraft {
  const { drafts, problems } = readQueues(env, routeSettings);
  return {
    problems,
    drafts,
    check: (rules) =>
      // Without known defaults, no relation that involves one is checked.
      defaults.faulty.size > 0
        ? []
        : drafts.flatMap((draft) =>
            rules
              .filter(({ place }) => place === draft.name)
              .flatMap(({ inForce }) => queueProblems(draft, inForce.all, hasBinding)),
          ),
    resolve: (resolveRules) => ({ queues: drafts.map((draft) => resolveQueue(draft, resolveRules)) }),
  };
}

// Reads every variable whose name starts with `QUEUES`: lists of queues whose messages are processed. A queue's rules are those
// of a route that no request matches, so that records, checks and lists need to know one kind of rules.

export interface QueuesReading {
  /** Those without a problem of their own. */
  readonly drafts: readonly QueueDraft[];
  readonly problems: readonly ConfigProblem[];
}

/** Names of the variables that hold queues, in the order in which they are read. */
export function queueVariables(env: Readonly<Record<string, unknown>>): readonly string[] {
  return variablesOf(env, QUEUES.variable);
}

const QUEUES = {
  variable: "QUEUES",
  plural: "queues",
  advice: 'write [[vars.QUEUES]] with queue = "orders"',
  schema: queueSchema,
  inherits: QUEUE_INHERITS,
  missing: {
    queue: 'is missing: write queue = "orders"',
    to: 'is missing: write to = "/internal/orders"',
    dead_letter: 'is missing: write dead_letter = { binding = "ORDERS_DEAD" }',
  },
  nothingFor: "for messages",
  named: { member: "queue", what: "queue", of: ({ queue }: QueueSettings) => queue },
};

/** `routeSettings`: all that routes may have. */
export function readQueues(env: Readonly<Record<string, unknown>>, routeSettings: SettingEntries): QueuesReading {
  const { tables, problems } = readTables(env, QUEUES, routeSettings);
  const drafts = tables.map(({ name, written, settings }) => ({
    name,
    inherits: QUEUE_INHERITS,
    route: null,
    settings: rulesOf(written, settings),
    faulty: new Set<string>(),
    written,
  }));
  return { drafts, problems };
}

/** What of a queue's settings a route has too, and what is fixed for queues. */
function rulesOf(written: QueueSettings, inherited: WrittenSettings): WrittenSettings {
  const { fingerprint, retention, ambiguous } = { ...QUEUE_DEFAULTS, ...written };
  return {
    ...inherited,
    fingerprint,
    retention,
    ambiguous,
    key: "required",
    scope: [],
    previous_scope: [],
    duplicate: "wait",
    on_store_failure: "closed",
  };
}

/** The queue's name among routes; no path begins like this. */
export function queueLabel(queue: string): string {
  return `queue:${queue}`;
}

/** How many attempts the gateway makes at most for a message that an operator has released. */
const RELEASED_ATTEMPTS = 20;

/** Every setting that applies to a queue. `written` has no problem. */
export function resolveQueue(draft: QueueDraft, resolveRules: ResolveRules): Queue {
  const { name, written } = draft;
  const settled = { ...QUEUE_DEFAULTS, ...written };
  const { queue, to, key, scope, headers, done, give_up: giveUp, dead_letter: deadLetter } = settled;
  const route = resolveRules(draft, queueLabel(queue));
  const { origin, url } = targetOf(route.origin, to);
  const giveUpAfterMs = { ...GIVE_UP_DEFAULTS, ...giveUp }.after;
  // For messages that an operator releases.
  const policy = { ...route.rules.policy, schedule: scheduleWithin(RELEASED_ATTEMPTS, giveUpAfterMs) };
  const deadLetters = { queue, binding: deadLetter.binding, done: statusRules(done) };
  return {
    name,
    queue,
    route: { ...route, ...NO_REQUEST, origin, keyFrom: key.sources, rules: { ...route.rules, policy, deadLetters } },
    url,
    target: targetPath(to),
    hasIdAsKey: key.hasIdAsKey,
    scopeParts: scope,
    callHeaders: headers,
    done,
    giveUpAfterMs,
    deadLetter: deadLetter.binding,
  };
}

const CLASSES = [1, 2, 3, 4, 5] as const;

/** Statuses as briefly as the settings write them: they are stored with each parked message. */
function statusRules(statuses: readonly number[]): readonly StatusRule[] {
  return CLASSES.flatMap((one): readonly StatusRule[] => {
    const own = statuses.filter((status) => Math.trunc(status / 100) === one);
    return own.length === 100 ? [`${one}xx`] : own;
  });
}

/** A message is no request: no method matches, and no host is part of its scope. */
const NO_REQUEST = { methods: ["QUEUE"], scope: [] };

/** What messages ask for, without what `origin` puts before it: the origin's address is no part of what a request is either. */
function targetPath(to: string): Queue["target"] {
  const { pathname, search } = new URL(to, NO_HOST);
  return { path: pathname, query: search };
}
