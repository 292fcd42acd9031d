// The operator API's requests and answers about records: each member with its meaning and an example. The Worker's views have
// these types, the command line parses with these schemas, and the OpenAPI components are made from them
// (src/cli/write-openapi.ts). The Worker imports only types from here, so that no description is in its bundle.

import * as v from "valibot";

import { UNKNOWN_RULES } from "../kernel/record/record.ts";
import { CHANGES, RECORD_STATES } from "./request-schema.ts";
import {
  A_TIME,
  withDescription,
  AN_ID,
  attemptNumber,
  countSchema,
  headerPairs,
  recordIdSchema,
  unreachableShards,
  statusSchema,
  timeSchema,
  wordsSchema,
  type WrittenBy,
} from "./schema-members.ts";
import { eventSchema } from "./timeline-schema.ts";

export const stateSchema = v.picklist(RECORD_STATES);

const summaryEntries = {
  id: withDescription(recordIdSchema, "128 bits of the key's SHA-256, then 128 of that of key and scope.", AN_ID),
  shard: withDescription(v.string(), "The shard that keeps the record.", "shard-3-of-64"),
  layout: withDescription(v.string(), "The layout of that shard.", "64"),
  key: withDescription(
    v.string(),
    "The idempotency key; of an encrypted record, what is stored instead: the first half of the id.",
    "8e03978e-40d5-43e8-bc93-6894a57f9324",
  ),
  encrypted: withDescription(
    v.boolean(),
    "Whether the record is of an `encrypt_responses` route: nobody but the caller can read its key, and the response if the origin gave it.",
    false,
  ),
  route: withDescription(
    v.string(),
    "The path of its route, as configured when the record was claimed.",
    "/v1/payments/*",
  ),
  request: withDescription(
    v.nullable(
      v.object({
        method: withDescription(v.string(), "The method.", "POST"),
        target: withDescription(
          v.nullable(v.string()),
          "Path and query, or the path alone, as the route notes it (`note.request`); null: neither, or the route is encrypted.",
          "/v1/payments?source=app",
        ),
        sizeBytes: withDescription(v.nullable(countSchema), "The size of the body; null if it is not known.", 57),
        caller: withDescription(
          v.nullable(v.string()),
          "A short digest of the values of the scope: equal for requests of one caller; null for anonymous ones.",
          "3f9a0c51d2be",
        ),
        label: withDescription(
          v.nullable(v.string()),
          "The value that the route takes for a label; null: none.",
          "order-1042",
        ),
        fromContent: v.exactOptional(
          withDescription(
            v.literal(true),
            "It had no key: its key is made from its content, and equal requests of its caller are the same operation until the record expires. Absent: the key was sent.",
            true,
          ),
        ),
      }),
    ),
    "What the request was, as the client sent it; null if nothing is noted, as of records of claims.",
  ),
  state: stateSchema,
  reason: withDescription(
    v.nullable(v.string()),
    "Of an unknown outcome, how its attempt ended: origin-dropped, origin-timeout, status-504; attempt-lost: its lock ended. null in every other state.",
    "origin-dropped",
  ),
  attempt: withDescription(
    countSchema,
    "The number of the last attempt; 0 before the first attempt of an accepted request.",
    1,
  ),
  startedAt: withDescription(
    timeSchema,
    "When the last attempt started; before the first, when the request was accepted.",
    A_TIME,
  ),
  lockedUntil: withDescription(timeSchema, "No other attempt starts before this time.", "2026-11-21T08:30:40.000Z"),
  accepted: withDescription(
    v.boolean(),
    "Whether the gateway has accepted the request: it makes the attempts by itself, and nobody waits for them.",
    false,
  ),
  nextAttemptAt: withDescription(
    v.nullable(timeSchema),
    "When a waiting record's next attempt begins; null in every other state.",
    null,
  ),
  expiresAt: withDescription(
    v.nullable(timeSchema),
    "null while an attempt is in flight or waits for its turn.",
    "2026-11-22T08:30:40.000Z",
  ),
  status: withDescription(
    v.nullable(statusSchema),
    "The status of the result; null when none is known, and when it is encrypted.",
    201,
  ),
  responseKept: withDescription(
    v.nullable(v.boolean()),
    "Whether the response is replayed; null when there is none.",
    true,
  ),
};

/** A record as a list shows it, in the state that it has now: a lock that has ended is not shown as held. */
export const summarySchema = v.object(summaryEntries);

const descriptionSchema = v.object({
  headline: withDescription(v.string(), "What is known.", "Outcome unknown: attempt 1 may have succeeded."),
  retry: withDescription(
    v.string(),
    "What the next request with the key gets.",
    "A retry waits or gets 409 in-flight.",
  ),
  advice: withDescription(v.string(), "What an operator must or may do.", "Nothing to decide."),
  changes: withDescription(
    v.array(wordsSchema(CHANGES)),
    "The changes that are allowed and useful, the likeliest first.",
    ["resolve", "release"],
  ),
});

const policySchema = v.object({
  unknown: withDescription(wordsSchema(UNKNOWN_RULES), "What follows an attempt with an unknown outcome.", "hold"),
  lockMs: withDescription(countSchema, "How long an attempt owns its key, in milliseconds.", 40_000),
  retentionMs: withDescription(countSchema, "How long a finished record is kept, in milliseconds.", 86_400_000),
  unknownRetentionMs: withDescription(
    countSchema,
    "How long a record whose outcome is unknown waits for a decision, in milliseconds.",
    31_536_000_000,
  ),
  rememberMs: v.exactOptional(
    withDescription(
      countSchema,
      "How long the key is remembered after its operation took effect, or may have, in milliseconds; absent: no longer than its record is kept.",
      2_592_000_000,
    ),
  ),
  schedule: v.exactOptional(
    withDescription(
      v.object({
        attempts: withDescription(countSchema, "The most attempts.", 5),
        firstPauseMs: withDescription(
          countSchema,
          "The pause after the first, in milliseconds; it doubles with each.",
          1000,
        ),
        longestPauseMs: withDescription(countSchema, "The longest pause, in milliseconds.", 60_000),
        giveUpAfterMs: withDescription(countSchema, "For how long attempts are begun, in milliseconds.", 3_600_000),
      }),
      "How the gateway tries a request that it has accepted; absent: it has not.",
    ),
  ),
});

export const responseSchema = v.object({
  status: withDescription(statusSchema, "The status that retries get.", 201),
  statusText: withDescription(v.string(), "The reason phrase; may be empty.", "Created"),
  headers: withDescription(headerPairs, "As stored.", [["content-type", "application/json"]]),
  sizeBytes: withDescription(countSchema, "The size of the body.", 57),
});

/** One record with its history, without the bytes of its response. */
export const recordSchema = v.object({
  ...summaryEntries,
  description: withDescription(
    descriptionSchema,
    "What state and history mean, in words, and which changes would change something.",
  ),
  giveUpAt: withDescription(
    v.nullable(timeSchema),
    "Of an accepted request: no attempt begins later, except the first; null of any other, and of one that has its end.",
    "2026-11-22T08:30:00.000Z",
  ),
  lastAttempt: withDescription(
    v.nullable(attemptNumber),
    "Of an accepted request: the number of the last attempt that may be made; null as above.",
    5,
  ),
  fingerprint: withDescription(
    v.string(),
    "SHA-256 of what the request asks for, in hexadecimal; of an encrypted record, of that and the caller's values.",
    "ab".repeat(32),
  ),
  policy: withDescription(policySchema, "The rules under which the last attempt was claimed."),
  replays: withDescription(
    v.nullable(
      v.object({
        count: withDescription(countSchema, "How often.", 3),
        lastAt: withDescription(timeSchema, "When last.", A_TIME),
      }),
    ),
    "How often the response was replayed or attached to in the last 24 hours, as far as it was counted; null: never.",
    null,
  ),
  excerpt: withDescription(
    v.nullable(
      v.object({
        text: withDescription(v.string(), "The beginning of the body, as text.", '{"amount":100'),
        keptUntil: withDescription(timeSchema, "When it is erased.", A_TIME),
      }),
    ),
    "What the route keeps of the request's body (`note.excerpt`); null: nothing, or no longer.",
    null,
  ),
  timeline: withDescription(v.array(eventSchema), "Oldest first; the last 50 events, and the last ten notes."),
  response: withDescription(v.nullable(responseSchema), "null when no response is kept, and when it is encrypted."),
});

/** One page of a list. It may be short, or empty, and not be the last. */
export const recordPageSchema = v.object({
  records: withDescription(
    v.array(summarySchema),
    "At most as many as limit; in each part the last attempt that started latest first.",
  ),
  cursor: withDescription(v.nullable(v.string()), "For the next page; null on the last.", null),
  previous: withDescription(v.nullable(v.string()), "The cursor of the page before; null on the first.", null),
  total: withDescription(
    v.object({
      count: withDescription(countSchema, "How many.", 12_400),
      isExact: withDescription(
        v.boolean(),
        "false: an estimate from the parts that were read for this page, or some shards did not answer.",
        true,
      ),
    }),
    "How many records match, on all pages.",
  ),
  parts: withDescription(
    v.object({
      first: withDescription(attemptNumber, "The first part that was read for this page.", 1),
      last: withDescription(attemptNumber, "The last one.", 1),
      count: withDescription(attemptNumber, "How many parts the list has.", 1),
    }),
    "A list of more than about 4,000 records a shard is read in parts: random ones of equal size, and each part is in order.",
  ),
  unreachable: unreachableShards,
});

export type SummaryView = WrittenBy<typeof summarySchema>;
export type RecordView = WrittenBy<typeof recordSchema>;
export type RecordPageView = WrittenBy<typeof recordPageSchema>;
export type EventView = WrittenBy<typeof eventSchema>;
export type ResponseView = WrittenBy<typeof responseSchema>;
