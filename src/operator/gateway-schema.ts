// The operator API's answers about the gateway as a whole: its health, the counts of its shards, its latest exchanges, its
// refusals. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";
import { OUTCOMES } from "../kernel/record/outcome.ts";
import { COUNTED_STATES } from "../kernel/record/record.ts";
import { HELD } from "../kernel/record/held-rows.ts";
import {
  A_TIME,
  withDescription,
  AN_ID,
  attemptNumber,
  countSchema,
  recordIdSchema,
  notAskedShards,
  unreachableShards,
  statusSchema,
  timeSchema,
  wordsSchema,
  type WrittenBy,
} from "./schema-members.ts";

const openCountEntries = {
  inFlight: withDescription(countSchema, "Attempts in flight.", 2),
  waiting: withDescription(countSchema, "Accepted requests that wait for their next attempt.", 0),
  failed: withDescription(countSchema, "Records whose next request starts another attempt.", 0),
  unknown: withDescription(countSchema, "Records whose outcome is unknown.", 1),
  atLeast: withDescription(
    v.array(wordsSchema(COUNTED_STATES)),
    "Which of these counts may be larger: a shard counts at most 10,000 records of a state.",
    [],
  ),
};

const layoutTitle = v.string();

export const shardCountsSchema = v.object({
  shard: withDescription(v.string(), "The shard.", "shard-3-of-64"),
  layout: withDescription(layoutTitle, "Its layout.", "64"),
  ...openCountEntries,
  oldestMs: withDescription(
    countSchema,
    "How long ago its oldest attempt in flight began, in milliseconds; 0 when none is in flight.",
    1200,
  ),
  oldestUnknownMs: withDescription(
    countSchema,
    "How long ago the attempt of its longest undecided record began, in milliseconds; 0 when no outcome is unknown.",
    60_000,
  ),
  oldestWaitingMs: withDescription(
    countSchema,
    "For how long the accepted request that is due longest has been due, in milliseconds; 0 when none is.",
    0,
  ),
  placesTaken: withDescription(countSchema, "How many attempts of accepted requests run: at most four at a time.", 0),
  bytes: withDescription(countSchema, "The size of its database.", 131_072),
  place: withDescription(v.nullable(v.string()), "Where it runs; null: nobody asked.", "IAD"),
});

/** What is open, in all shards together and in each. */
export const totalsSchema = v.object({
  ...openCountEntries,
  unreachable: unreachableShards,
  notAsked: notAskedShards,
  shards: withDescription(
    v.array(shardCountsSchema),
    "Those that answered. Of a layout with more than 128 shards, only those with the oldest attempts in flight and the oldest unknown outcomes.",
  ),
});

/** A set of objects that share the keys of routes, and how far the change from it to the next has come. */
export const layoutSchema = v.object({
  layout: withDescription(
    layoutTitle,
    "Its name: its shards, and its jurisdiction if it has one: 64, 64b-eu, per-key.",
    "64",
  ),
  shards: withDescription(v.union([countSchema, v.string()]), "Its value of shards.", 64),
  jurisdiction: withDescription(v.nullable(v.string()), "null: anywhere.", null),
  next: withDescription(
    v.nullable(layoutTitle),
    "The layout that follows it in the configuration; null for a layout in force.",
    "128",
  ),
  closedFor: withDescription(
    v.array(layoutTitle),
    "The layouts for which its closed objects were closed: keys begin there.",
    ["128"],
  ),
  routes: withDescription(v.array(v.string()), "The routes that use it: their methods and paths.", [
    "POST PATCH /v1/payments",
  ]),
  objects: withDescription(
    v.nullable(countSchema),
    "How many objects it has; null with one for each key, which cannot be counted.",
    64,
  ),
  open: withDescription(countSchema, "Objects in which keys may begin.", 0),
  closed: withDescription(countSchema, "Objects in which no key begins any more, and that still hold something.", 12),
  empty: withDescription(countSchema, "Objects that are closed and hold nothing.", 52),
  holds: withDescription(
    v.array(
      v.object({
        what: withDescription(
          wordsSchema(HELD),
          "What it is. Events are pending or dead ones, dead letters among them.",
          "events",
        ),
        count: withDescription(countSchema, "How many; of each object at most 100 of a kind are counted.", 6),
      }),
    ),
    "All that its closed objects hold. Without the layout nobody would find it.",
  ),
  ...openCountEntries,
  lastExpiresAt: withDescription(
    v.nullable(timeSchema),
    "By then every record has expired that is finished now; at most an eighth of its retention too late. null without any.",
    "2026-11-22T08:30:40.000Z",
  ),
  unused: withDescription(countSchema, "Objects that no client has used: they were not asked.", 0),
  places: withDescription(
    v.record(v.string(), countSchema),
    "How many of its objects run where, as far as they have said it.",
    { IAD: 27, EWR: 17 },
  ),
  mayGo: withDescription(
    v.boolean(),
    "Whether it can be taken out of previous_shards without losing anything that its objects hold.",
    false,
  ),
  reason: withDescription(v.string(), "Why it may go or not.", "12 objects still hold 531 records and 6 events."),
  unreachable: unreachableShards,
});

const runningRouteSchema = v.object({
  path: withDescription(v.string(), "Its path pattern.", "/v1/payments/*"),
  methods: withDescription(v.array(v.string()), "Its methods.", ["POST", "PATCH"]),
  scope: withDescription(v.array(v.string()), "What tells callers apart.", ["header:authorization"]),
  identities: withDescription(
    v.record(v.string(), v.record(v.string(), v.string())),
    "Where the identities of its scopes take a caller's name from: for each issuer its claim, or under an empty name the question to the origin, or the headers that name the keys of a signature.",
    { user: { "https://login.example.com": "sub" } },
  ),
  keyFrom: withDescription(v.array(v.string()), "Where its keys come from; names of headers in lower case.", [
    "header:x-request-id",
    "json:/id",
  ]),
  encryptResponses: withDescription(v.boolean(), "Whether responses of new attempts are encrypted.", true),
  async: withDescription(v.string(), "Which requests are answered before their result.", "prefer"),
  fingerprint: withDescription(
    v.string(),
    "What tells a retry from a reuse, as JSON. Compared as text.",
    '{"body":"bytes","query":"exact"}',
  ),
});

/** All layouts that the configuration lists. */
export const layoutsSchema = v.object({
  layouts: withDescription(v.array(layoutSchema), "Those in force first, then the previous ones."),
  routes: withDescription(v.array(runningRouteSchema), "The protected routes, in the order of matching."),
  notAsked: notAskedShards,
});

export const healthSchema = v.object({
  status: withDescription(v.literal("ok"), "The Worker answers.", "ok"),
  version: withDescription(v.string(), "The gateway's version.", "0.1.0"),
  warnings: withDescription(
    v.array(
      v.object({
        route: withDescription(v.string(), "The path of the route, as configured.", "/v1/payments/*"),
        message: withDescription(
          v.string(),
          "What is wrong, and what to write instead.",
          'Callers\' tokens expire before their records do. Set scope = ["identity:user"] and describe the identity.',
        ),
      }),
    ),
    "What operators should change, as far as requests have shown it lately. Empty too if the shard that collects it does not answer within a second.",
    [],
  ),
});

export const exchangeSchema = v.object({
  at: withDescription(timeSchema, "When the request came.", A_TIME),
  route: withDescription(v.string(), "The path of its route, as configured.", "/v1/payments/*"),
  keyHash: withDescription(
    v.nullable(v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/))),
    "The key's name in logs; null without a valid key.",
    AN_ID.slice(0, 32),
  ),
  recordId: withDescription(v.nullable(recordIdSchema), "The record; null without a valid key.", AN_ID),
  outcome: withDescription(wordsSchema(OUTCOMES), "What the client got.", "replay"),
  status: withDescription(countSchema, "The status that the client got.", 201),
  attempt: withDescription(
    v.nullable(attemptNumber),
    "The attempt that was started or answered; null when there is none.",
    1,
  ),
  durationMs: withDescription(countSchema, "Until the answer was ready.", 12),
  originMs: withDescription(
    v.nullable(countSchema),
    "From the call to the origin to the headers of its response; null when it was not called.",
    10,
  ),
});

/** The latest exchanges, or those since a cursor. */
export const recentSchema = v.object({
  exchanges: withDescription(v.array(exchangeSchema), "Oldest first."),
  cursor: withDescription(v.string(), "For the next call.", "1795250000000"),
  notAsked: withDescription(
    countSchema,
    "How many shards this call has not asked: a call asks at most 800, and the next one asks others.",
    0,
  ),
});

export const endedSchema = v.object({ ended: withDescription(v.literal(true), "Every session has ended.", true) });

/** A refusal (RFC 9457). Some have more members, such as limitBytes. */
export const problemSchema = v.pipe(
  v.looseObject({
    type: withDescription(
      v.string(),
      "A URI for the kind of problem.",
      "https://api.example.com/.well-known/idempotency",
    ),
    title: withDescription(v.string(), "The kind of problem, in words.", "No such record"),
    status: withDescription(statusSchema, "The status of the response.", 404),
    detail: withDescription(
      v.string(),
      "What is wrong, and what to do.",
      "There is no such record, or it keeps no body. It may have expired.",
    ),
    instance: withDescription(
      v.string(),
      "Names this occurrence. The gateway's log has it where it logs the request.",
      "urn:uuid:6b3c8f0e-5d0f-4b57-9d4e-0f8a4c1d2e3f",
    ),
    code: withDescription(v.string(), "The kind of problem, for programs.", "record-not-found"),
    retryable: withDescription(v.boolean(), "Whether the same request may succeed later.", false),
    error: withDescription(
      v.object({
        type: v.literal("idempotency_error"),
        code: withDescription(v.string(), "The same code.", "record-not-found"),
        message: withDescription(
          v.string(),
          "The same as detail.",
          "There is no such record, or it keeps no body. It may have expired.",
        ),
      }),
      "The same in the form that many API clients read.",
    ),
  }),
  v.description("RFC 9457."),
);

export type ShardCountsView = WrittenBy<typeof shardCountsSchema>;
export type TotalsView = WrittenBy<typeof totalsSchema>;
export type LayoutView = WrittenBy<typeof layoutSchema>;
export type LayoutsView = WrittenBy<typeof layoutsSchema>;
export type HealthView = WrittenBy<typeof healthSchema>;
export type ExchangeView = WrittenBy<typeof exchangeSchema>;
export type RecentView = WrittenBy<typeof recentSchema>;
export type EndedView = WrittenBy<typeof endedSchema>;
