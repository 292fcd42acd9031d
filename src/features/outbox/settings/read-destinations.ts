// Reads every variable whose name starts with `DESTINATIONS`: lists of places where events go. No message may ever show a secret.

import { durationMs } from "../../../kernel/record/units.ts";
import type { ConfigProblem, Destination } from "../../../kernel/config/resolved.ts";
import type { HasBinding } from "../../../kernel/config/in-force.ts";
import type { SettingEntries } from "../../../kernel/config/setting-kinds.ts";
import { readTables, variablesOf } from "../../../kernel/config/read-tables.ts";
import {
  DESTINATION_DEFAULTS,
  DESTINATION_GIVE_UP_DEFAULTS,
  type DestinationSettings,
  destinationSchema,
} from "./outbox-entries.ts";

const DESTINATIONS = {
  variable: "DESTINATIONS",
  plural: "destinations",
  advice: 'write [[vars.DESTINATIONS]] with name = "billing", and queue = "BILLING" or url = "https://…"',
  schema: destinationSchema,
  inherits: [],
  missing: { name: 'is missing: write name = "billing"' },
  nothingFor: "for destinations",
  named: { member: "name", what: "destination", of: ({ name }: DestinationSettings) => name },
};

export interface DestinationsReading {
  readonly destinations: readonly Destination[];
  /** Also those that have problems. */
  readonly names: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

type Env = Readonly<Record<string, unknown>>;

/** Names of the variables that hold destinations, in the order in which they are read. */
export function destinationVariables(env: Env): readonly string[] {
  return variablesOf(env, DESTINATIONS.variable);
}

/** `routeSettings`: all that routes may have. */
export function readDestinations(env: Env, hasBinding: HasBinding, routeSettings: SettingEntries): DestinationsReading {
  const { tables, names, problems } = readTables(env, DESTINATIONS, routeSettings);
  const found = tables.map(({ name, written }) => ({
    destination: resolveDestination(written),
    problems: targetProblems(written, name, env, hasBinding),
  }));
  return {
    destinations: found.filter((one) => one.problems.length === 0).map(({ destination }) => destination),
    names,
    problems: [...problems, ...found.flatMap((one) => one.problems)],
  };
}

function resolveDestination(written: DestinationSettings): Destination {
  const {
    name,
    queue,
    url = "",
    secret = [],
    give_up: giveUp,
    retention,
    alerts,
  } = {
    ...DESTINATION_DEFAULTS,
    ...written,
  };
  const giveUpAfterMs = durationMs({ ...DESTINATION_GIVE_UP_DEFAULTS, ...giveUp }.after);
  return {
    name,
    target: queue === undefined ? { kind: "webhook", url, secrets: secret } : { kind: "queue", binding: queue },
    giveUpAfterMs,
    keepDeadMs: durationMs(retention),
    alerts,
    console: written.console ?? null,
  };
}

function targetProblems(
  { queue, url, secret = [] }: DestinationSettings,
  path: string,
  env: Env,
  hasBinding: HasBinding,
): readonly ConfigProblem[] {
  if (queue !== undefined && url !== undefined) {
    return [{ path, message: "has both queue and url: leave one out, or write two destinations" }];
  }
  if (queue !== undefined) {
    if (secret.length > 0) return [{ path: `${path}.secret`, message: "is for a webhook: leave it out" }];
    if (hasBinding(queue, "queue")) return [];
    const message = `there is no queue binding "${queue}": write [[queues.producers]] with binding = "${queue}", or the name of one that exists`;
    return [{ path: `${path}.queue`, message }];
  }
  if (url === undefined) {
    return [{ path, message: `says nothing about where events go: ${DESTINATIONS.advice}` }];
  }
  if (secret.length === 0) {
    const message =
      'is missing: write secret = "HOOK_SECRET", because without a signature anybody could send the receiver events';
    return [{ path: `${path}.secret`, message }];
  }
  return secret.flatMap((name) => secretProblems(name, `${path}.secret`, env, hasBinding));
}

const MAKE = "write whsec_ and the output of `openssl rand -base64 32`";

/** Standard Webhooks: `whsec_` and 24 to 64 bytes in Base64. */
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

function secretProblems(name: string, path: string, env: Env, hasBinding: HasBinding): readonly ConfigProblem[] {
  if (!hasBinding(name, "secret")) {
    const message = `there is no secret ${name}: ${MAKE} to npx wrangler secret put ${name}`;
    return [{ path, message }];
  }
  const value = env[name];
  if (value === undefined || (typeof value === "string" && SECRET.test(value))) return [];
  return [{ path, message: `the secret ${name} is none for webhooks (Standard Webhooks): ${MAKE}` }];
}

const read = new WeakMap<Env, ReadonlyMap<string, Destination>>();

/** The destinations by their names, for a shard that has events. The Worker has checked them at its start. */
export function destinationsIn(env: Env): ReadonlyMap<string, Destination> {
  let known = read.get(env);
  if (known === undefined) {
    const { destinations } = readDestinations(env, () => true, {});
    known = new Map(destinations.map((one) => [one.name, one]));
    read.set(env, known);
  }
  return known;
}

/** What people call it, with where it leads. */
export function describeDestination({ name, target }: Destination): string {
  return target.kind === "queue" ? `${name} (queue binding ${target.binding})` : `${name} (${target.url})`;
}
