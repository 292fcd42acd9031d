// The gateway's configuration in a run: one route for each combination of `unknown` and `duplicate`, with times so short
// that locks end, records expire and alarms fire all the time.

import { DEFAULT_AMBIGUOUS, DEFAULT_REFUSED } from "../../src/kernel/config/settings-attempt.ts";
import { BUILT_IN } from "../../src/kernel/config/settings.ts";
import { shareOf } from "../../src/features/observe/key-share.ts"; // feature: observe
import type { VariableValue } from "../../src/serve/workerd-config.ts";
import type { GatewayVars } from "../support/gateway.ts";
import { AUDIENCE, type Issuer } from "../support/issuer.ts";
import type { ChaosAgents } from "./agents.ts";
import { CONSUMERS } from "./consumers.ts";
import { LIST_PATH, RESOURCE_PATH, VERIFICATION_PATH, TENANT_HEADER } from "./steps.ts";
import { ALL, type Dimension, type Dimensions } from "./dimensions.ts";
import type { RoutePolicy } from "../guarantees/history.ts";
import { queuePolicies, queueSettings } from "./queues.ts";
import { type ChaosReceiver, PUBLICATIONS, PUBLISH } from "./receiver-client.ts";

/** Few, so that some requests are given up. The pauses between them are about a second. */
const ACCEPTED_ATTEMPTS = 4;
const GIVE_UP = { attempts: ACCEPTED_ATTEMPTS, after: "60s" };

const TIMES = { timeoutMs: 800, idleTimeoutMs: 800, lockMs: 1_500, unknownRetentionMs: 30_000, waitMs: 600 } as const;

/** Of every route and queue. */
export const TIMEOUT_MS = TIMES.timeoutMs;

/** Smaller than the largest body that the origin generates. */
const SMALL_BYTES = 100_000;

/** Used in chaos runs only. */
const ENCRYPTION_SECRET = "chaos-seal-0123456789abcdef-0123456789";

/** Here the origin says whose a credential is. */
export const CALLER_PATH = "/caller";

/** Here bodies say what answers mean: these statuses alone would make them results. */
export const VERDICTS_PATH = "/hold-verdicts";
export const SAID = { refused: 290, ambiguous: 291 } as const;

/** Here requests are calls of JSON-RPC. */
export const CALLS_PATH = "/hold-calls";

/** Here callers sign their requests. */
export const SIGNED_PATH = "/hold-signed";

/** Here callers take turns. */
export const TURNS_PATH = "/accepted-turns";

/** Requests to it pass, and are looked at. Its objects can be listed in each run. */
export const OBSERVED_PATH = "/observed";
const OBSERVED_ROUTE: { readonly [setting: string]: VariableValue } = {
  path: OBSERVED_PATH,
  mode: "observe",
  observe: { effect: "/id" },
  retention: "1h",
  unknown_retention: "1h",
  shards: "4o",
};

/** Requests to it pass as well, but for this share of its keys. */
export const PARTIAL_PATH = "/hold-share";
const ENFORCED = 0.5;
/** What the keys of its observed requests begin with; no other key does. */
export const OBSERVED_KEYS = "observed-";

export type StateKind = "resource" | "list";

/** How far reads of a state may lag, and from when on a "no" counts. */
export const SETTLE_MS: Readonly<Record<StateKind, number>> = { resource: 1_500, list: 3_000 };

const STATE_SETTINGS: Readonly<Record<StateKind, { readonly [setting: string]: VariableValue }>> = {
  resource: {
    path: `${RESOURCE_PATH}{key}`,
    happened: { "/status": ["done"] },
    not_happened: { "/status": ["open"] },
    once: true,
    answer: "resource",
  },
  list: {
    path: `${LIST_PATH}?reference={json:/key}&amount={json:/amount}`,
    list: "/data",
    match: { "/reference": ["{json:/key}"], "/amount": ["{json:/amount}"], "/status": ["done"] },
    complete: { "/has_more": [false] },
    answer: { body: "item", status: 201, location: "/orders/{/id}" },
  },
};

export interface ChaosRoute {
  readonly path: string;
  readonly unknown: RoutePolicy["unknown"];
  readonly duplicate: RoutePolicy["duplicate"];
  readonly retentionMs: number;
  /** How long keys are remembered after their records' retention. */
  readonly rememberMs?: number;
  readonly json?: boolean;
  /** JSON is compared without its member `timestamp`. */
  readonly selected?: boolean;
  readonly small?: boolean;
  /** Request bodies are not compared. */
  readonly none?: boolean;
  /** The key is in the body, and in no header. */
  readonly bodyKey?: boolean;
  /** Responses are encrypted for their callers. */
  readonly encrypted?: boolean;
  /** The origin is asked about the state of a resource, or about a list. */
  readonly state?: StateKind;
  /** Several credentials share a scope. */
  readonly shared?: boolean;
  /** Callers have many credentials, and the origin says whose one is. */
  readonly identity?: boolean;
  /** Callers prove who they are with tokens of an issuer. */
  readonly tokens?: boolean;
  /** Which requests are accepted and tried later. */
  readonly accepts?: "prefer" | "always";
  /** Its callers have a lane each, in an object of their own. */
  readonly takesTurns?: boolean;
  /** What its answers mean, their bodies say; and a key whose attempts were all refused takes another request. */
  readonly verdicts?: boolean;
  /** Its requests are calls of JSON-RPC, and its problems are responses. */
  readonly calls?: boolean;
  /** Callers sign their requests. */
  readonly signed?: boolean;
  /** Only some of its keys are protected. Requests with others are sent by `observed.ts`. */
  readonly isPartial?: boolean;
  /** How often it is chosen, relative to the others; 1 by default. */
  readonly weight?: number;
  readonly of?: Dimension;
  /** Its results have events, if the run has any. */
  readonly publishes?: boolean;
}

const ROUTES: readonly ChaosRoute[] = [
  { path: "/hold", unknown: "hold", duplicate: "reject", retentionMs: 20_000 },
  { path: "/hold-wait", unknown: "hold", duplicate: "wait", retentionMs: 6_000, publishes: true },
  { path: "/hold-json", unknown: "hold", duplicate: "reject", retentionMs: 9_000, json: true },
  { path: "/hold-selected", unknown: "hold", duplicate: "wait", retentionMs: 12_000, json: true, selected: true },
  { path: "/hold-body-key", unknown: "hold", duplicate: "wait", retentionMs: 10_000, bodyKey: true }, // feature: key-sources
  { path: "/hold-small", unknown: "hold", duplicate: "attach", retentionMs: 15_000, small: true, publishes: true },
  {
    path: "/hold-late",
    unknown: "hold",
    duplicate: "wait",
    retentionMs: 3_000,
    rememberMs: 600_000,
    weight: 2,
    publishes: true,
  },
  { path: "/retry", unknown: "retry", duplicate: "reject", retentionMs: 7_000, publishes: true },
  { path: "/retry-wait", unknown: "retry", duplicate: "wait", retentionMs: 20_000 },
  { path: "/retry-attach", unknown: "retry", duplicate: "attach", retentionMs: 12_000, publishes: true },
  { path: "/encrypted", unknown: "retry", duplicate: "attach", retentionMs: 11_000, encrypted: true },
  { path: "/encrypted-hold", unknown: "hold", duplicate: "wait", retentionMs: 10_000, encrypted: true },
  {
    path: "/verify",
    unknown: "verify",
    duplicate: "reject",
    retentionMs: 15_000,
    weight: 2,
    of: "verify",
    publishes: true,
  },
  {
    path: "/verify-shared",
    unknown: "verify",
    duplicate: "wait",
    retentionMs: 12_000,
    shared: true,
    weight: 2,
    of: "foreign",
    publishes: true,
  },
  // Keys are used once: what an earlier life of a key has done would be taken for what a later one does.
  {
    path: "/state-resource",
    unknown: "verify",
    duplicate: "wait",
    retentionMs: 600_000,
    state: "resource",
    weight: 3,
    of: "states",
  },
  {
    path: "/state-list",
    unknown: "verify",
    duplicate: "reject",
    retentionMs: 600_000,
    state: "list",
    shared: true,
    weight: 3,
    of: "states",
  },
  {
    path: "/accepted-state",
    unknown: "verify",
    duplicate: "wait",
    retentionMs: 600_000,
    state: "resource",
    accepts: "prefer",
    of: "states",
  },
  { path: "/none", unknown: "hold", duplicate: "wait", retentionMs: 10_000, none: true, of: "none" },
  {
    path: "/identity",
    unknown: "hold",
    duplicate: "wait",
    retentionMs: 10_000,
    identity: true,
    weight: 2,
    of: "identities",
  },
  {
    path: "/accepted-hold",
    unknown: "hold",
    duplicate: "wait",
    retentionMs: 15_000,
    accepts: "prefer",
    of: "accepted",
  },
  {
    path: "/accepted-retry",
    unknown: "retry",
    duplicate: "wait",
    retentionMs: 12_000,
    accepts: "always",
    weight: 2,
    of: "accepted",
    publishes: true,
  },
  {
    path: "/accepted-verify",
    unknown: "verify",
    duplicate: "reject",
    retentionMs: 14_000,
    accepts: "prefer",
    of: "accepted",
    publishes: true,
  },
  {
    path: "/accepted-token",
    unknown: "hold",
    duplicate: "wait",
    retentionMs: 13_000,
    tokens: true,
    accepts: "prefer",
    of: "tokens",
  },
  // feature: verdicts begins
  {
    path: VERDICTS_PATH,
    unknown: "hold",
    duplicate: "wait",
    retentionMs: 9_000,
    verdicts: true,
    weight: 2,
    of: "verdicts",
  },
  // feature: verdicts ends
  // feature: json-rpc begins
  { path: CALLS_PATH, unknown: "hold", duplicate: "wait", retentionMs: 8_000, calls: true, weight: 2, of: "calls" },
  // feature: json-rpc ends
  {
    path: SIGNED_PATH,
    unknown: "hold",
    duplicate: "reject",
    retentionMs: 8_000,
    signed: true,
    weight: 2,
    of: "signatures",
  },
  {
    path: PARTIAL_PATH,
    unknown: "hold",
    duplicate: "wait",
    // As that of the observed route.
    retentionMs: 3_600_000,
    isPartial: true,
    weight: 3,
    of: "observe",
  },
  {
    path: TURNS_PATH,
    unknown: "retry",
    duplicate: "wait",
    // What became of each request is asked at the end of a run.
    retentionMs: 600_000,
    accepts: "always",
    takesTurns: true,
    // Only for those who have a lane of their own.
    weight: 0,
    of: "lanes",
  },
];

export function routesOf(dimensions: Dimensions): readonly ChaosRoute[] {
  return ROUTES.filter(({ of }) => of === undefined || dimensions.has(of));
}

/** By path: which keys its route protects. All others protect each. */
const SHARES: ReadonlyMap<string, (key: string) => boolean> = new Map([
  [PARTIAL_PATH, (key: string) => shareOf("enforce", key) < ENFORCED], // feature: observe
]);

export function isProtected(path: string, key: string): boolean {
  return SHARES.get(path)?.(key) ?? true;
}

/** The gateway says what became of a key only where all keys are protected. */
export function hasLookUps(path: string): boolean {
  return !SHARES.has(path);
}

/** What the origin is asked about a request to this path; `undefined`: about its key, or nothing. */
export function stateOf(path: string): StateKind | undefined {
  return ROUTES.find((route) => route.path === path)?.state;
}

/** Whether a request to this path has its key in the body, and in no header. */
export function isKeyInBody(path: string): boolean {
  return ROUTES.some((route) => route.path === path && route.bodyKey === true);
}

export function policiesOf(dimensions: Dimensions): Readonly<Record<string, RoutePolicy>> {
  const hasBucket = dimensions.has("bucket");
  const ofQueues = dimensions.has("deliveries") ? queuePolicies(TIMES, BUILT_IN.max_response_body, hasBucket) : {};
  const ofRoutes = Object.fromEntries(
    routesOf(dimensions).map(
      ({
        path,
        unknown,
        duplicate,
        retentionMs,
        rememberMs,
        small,
        none,
        state,
        accepts,
        publishes,
        takesTurns,
        verdicts,
      }) => {
        const maxResponseBodyBytes = small === true ? SMALL_BYTES : BUILT_IN.max_response_body;
        const comparesNone = none === true;
        const kept = {
          retentionMs,
          ...(rememberMs === undefined ? {} : { rememberMs }),
          ...(state === undefined ? {} : { settleMs: SETTLE_MS[state] }),
          ...(publishes === true && dimensions.has("events") ? { publishes: PUBLICATIONS } : {}),
          ...(accepts === undefined ? {} : { acceptedAttempts: ACCEPTED_ATTEMPTS }),
          ...(takesTurns === true ? { takesTurns } : {}),
          ...(verdicts === true ? { takesOthers: true } : {}),
          maxResponseBodyBytes,
          hasBucket,
        };
        const unknownRetentionMs = unknownRetentionOf(retentionMs);
        return [path, { unknown, duplicate, ...kept, comparesNone, ...TIMES, unknownRetentionMs }];
      },
    ),
  );
  return { ...ofRoutes, ...ofQueues };
}

export const POLICIES = policiesOf(ALL);

export const REFUSED = [...DEFAULT_REFUSED, SAID.refused];
export const AMBIGUOUS = [...DEFAULT_AMBIGUOUS, SAID.ambiguous];

/** `issuer`: signs the tokens of the routes that want some. `destinations`: of the events; none if nothing is published. */
export function gatewayVars(
  originUrl: string,
  shards: number | "per-key",
  dimensions: Dimensions,
  issuer: Pick<Issuer, "name" | "jwks"> | null = null,
  destinations: ChaosReceiver["destinations"] = [],
  agents: Pick<ChaosAgents, "trust"> | null = null,
): GatewayVars {
  const ms = (value: number): string => `${value}ms`;
  const { timeoutMs, idleTimeoutMs, lockMs, unknownRetentionMs, waitMs } = TIMES;
  const times = {
    timeout: ms(timeoutMs),
    idle_timeout: ms(idleTimeoutMs),
    lock: ms(lockMs),
    unknown_retention: ms(unknownRetentionMs),
    wait: ms(waitMs),
  };
  return {
    IDEMPOTENCY: { origin: originUrl, shards, ...times },
    IDENTITIES: {
      caller: { ask: { path: CALLER_PATH, pointer: "/id", cache: "500ms", timeout: "2s" } },
      ...(agents === null ? {} : { agent: { signature: { trust: [agents.trust] } } }),
      ...(issuer === null ? {} : { user: { jwt: { issuer: issuer.name, audience: AUDIENCE, jwks: issuer.jwks } } }),
    },
    ROUTES: [
      ...routesOf(dimensions).map((route) => routeSettings(route, destinations.length > 0)),
      ...(dimensions.has("observe") ? [OBSERVED_ROUTE] : []),
    ],
    ...(dimensions.has("claims") ? { CONSUMERS } : {}),
    ...(dimensions.has("deliveries") ? { QUEUES: queueSettings(DEFAULT_AMBIGUOUS) } : {}),
    ...(destinations.length > 0 ? { DESTINATIONS: destinations } : {}),
    ENCRYPTION_SECRET,
  };
}

/** An unknown outcome is kept for as long as a result at least. */
function unknownRetentionOf(retentionMs: number): number {
  return Math.max(TIMES.unknownRetentionMs, retentionMs);
}

function routeSettings(route: ChaosRoute, hasEvents: boolean): { [setting: string]: VariableValue } {
  const { path, unknown, duplicate, retentionMs, json, selected, small, none, shared } = route;
  const { state, bodyKey, identity, encrypted, rememberMs, accepts, tokens, publishes, takesTurns } = route;
  const settings: { [setting: string]: VariableValue } = { path, unknown, duplicate, retention: `${retentionMs}ms` };
  if (retentionMs > TIMES.unknownRetentionMs) settings["unknown_retention"] = `${unknownRetentionOf(retentionMs)}ms`;
  if (rememberMs !== undefined) settings["remember"] = `${rememberMs}ms`;
  if (json === true) settings["fingerprint"] = { body: "json" };
  if (selected === true) settings["fingerprint"] = { body: "json", except: ["/timestamp"] };
  if (none === true) settings["fingerprint"] = { body: "none" };
  if (bodyKey === true) settings["key_from"] = ["json:/key"];
  if (small === true) settings["max_response_body"] = SMALL_BYTES;
  if (accepts !== undefined) Object.assign(settings, { async: accepts, give_up: GIVE_UP });
  // feature: verdicts begins
  if (route.verdicts === true) {
    const rules = [
      { at: "/says", equals: "refused", is: "refused" },
      { at: "/says", equals: "ambiguous", is: "ambiguous" },
    ];
    Object.assign(settings, { verdicts: rules, after_refusal: "any" });
  }
  // feature: verdicts ends
  // feature: json-rpc begins
  if (route.calls === true) settings["jsonrpc"] = true;
  // feature: json-rpc ends
  // feature: problem-shapes begins
  if (route.calls === true) settings["problems"] = "jsonrpc";
  // feature: problem-shapes ends
  if (route.signed === true) settings["scope"] = ["identity:agent"];
  if (route.isPartial === true) Object.assign(settings, OBSERVED_ROUTE, { path, enforce: `${ENFORCED * 100}%` });
  if (takesTurns === true) settings["shards"] = "1t";
  if (hasEvents && publishes === true) settings["publish"] = PUBLISH;
  if (encrypted === true) settings["encrypt_responses"] = true;
  if (unknown === "verify") settings["verify"] = `${VERIFICATION_PATH}{key}`;
  if (state !== undefined) settings["verify"] = { ...STATE_SETTINGS[state], settle: `${SETTLE_MS[state]}ms` };
  if (shared === true) settings["scope"] = [`header:${TENANT_HEADER.toLowerCase()}`];
  if (identity === true) settings["scope"] = ["identity:caller"];
  if (tokens === true) settings["scope"] = ["identity:user"];
  return settings;
}
