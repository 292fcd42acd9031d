// Requests to the operator API: their words, their limits, and the schemas with which the Worker parses a change.
// record-schema.ts describes each member for the OpenAPI document. Imports nothing that needs the Worker, because the command
// line uses this file too.

import * as v from "valibot";

import { EVENT_STATES } from "../kernel/record/outbox.ts";
import type { RecordState } from "../kernel/record/record.ts";
import type { Change } from "../kernel/record/timeline.ts";
import { MAX_KEY_LENGTH } from "../kernel/record/units.ts";

export const RECORD_STATES = [
  "waiting",
  "started",
  "failed",
  "unknown",
  "completed",
  "remembered",
] as const satisfies readonly RecordState[];

export const CHANGES = ["release", "resolve", "forget"] as const satisfies readonly Change[];

/** Limits of a list request. A route travels in a header, where a character may take six, so its length counts in characters. */
export const LIST_LIMITS = {
  defaultLimit: 50,
  maxLimit: 500,
  maxRouteLength: 512,
  maxKeyLength: MAX_KEY_LENGTH,
} as const;

/** The first eight digits name the shard. */
export const ID_PREFIX = /^[0-9a-f]{8,64}$/;
export const RECORD_ID = /^[0-9a-f]{64}$/;

/** As in the configuration. */
export const GROUP_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
export const DESTINATION_NAME = /^(?:dead-letters:)?[A-Za-z0-9_-]{1,64}$/;

const MAX_REASON_LENGTH = 1000;
const MAX_HEADERS = 100;

const STATUS = "response.status must be a whole number from 200 to 599.";
const HEADERS = 'response.headers must be a list of pairs: write [["content-type","application/json"]].';

export const reasonSchema = v.pipe(
  v.string('reason must be text: write {"reason":"…"}, why this is done.'),
  v.trim(),
  v.nonEmpty("reason must not be empty: write why this is done."),
  v.maxLength(MAX_REASON_LENGTH, `reason must have at most ${MAX_REASON_LENGTH} characters.`),
);

export const givenResponseEntries = {
  status: v.pipe(v.number(STATUS), v.integer(STATUS), v.minValue(200, STATUS), v.maxValue(599, STATUS)),
  headers: v.pipe(
    v.array(v.strictTuple([v.string(HEADERS), v.string(HEADERS)], HEADERS), HEADERS),
    v.maxLength(MAX_HEADERS, `response.headers must have at most ${MAX_HEADERS} entries.`),
  ),
  body: v.string("response.body must be text: for bytes write bodyBase64."),
  bodyBase64: v.string("response.bodyBase64 must be text in base64."),
};

export const givenResponseSchema = v.strictObject(
  {
    status: givenResponseEntries.status,
    headers: v.exactOptional(givenResponseEntries.headers),
    body: v.exactOptional(givenResponseEntries.body),
    bodyBase64: v.exactOptional(givenResponseEntries.bodyBase64),
  },
  "response must be an object with status, headers, and body or bodyBase64.",
);

export const changeSchema = v.strictObject(
  { reason: reasonSchema },
  'The body must be JSON with nothing but a reason: write {"reason":"…"}.',
);

const SCOPE = 'scope must map each part of one scope to its value: write {"header:authorization":"Bearer …"}.';
const MAX_PARTS = 16;

/** `null`: the caller's requests lack the part. No message repeats a value. */
export const scopeValuesSchema = v.record(v.string(SCOPE), v.nullable(v.string(SCOPE)), SCOPE);

const namedCallerSchema = v.pipe(
  scopeValuesSchema,
  v.check((scope) => Object.values(scope).some((value) => value !== null), SCOPE),
  v.check((scope) => Object.keys(scope).length <= MAX_PARTS, SCOPE),
);

export const forgetScopeEntries = {
  preview: v.boolean("preview must be true or false."),
  confirm: v.boolean("confirm must be true or false."),
  includeUnknown: v.boolean("includeUnknown must be true or false."),
  cursor: v.string("cursor must be text from an answer before."),
};

export const forgetScopeSchema = v.strictObject(
  {
    scope: namedCallerSchema,
    reason: reasonSchema,
    preview: v.exactOptional(forgetScopeEntries.preview),
    confirm: v.exactOptional(forgetScopeEntries.confirm),
    includeUnknown: v.exactOptional(forgetScopeEntries.includeUnknown),
    cursor: v.exactOptional(forgetScopeEntries.cursor),
  },
  'The body must be JSON: write {"scope":{"header:authorization":"Bearer …"},"reason":"…","preview":true}.',
);

export const resolveSchema = v.strictObject(
  {
    reason: reasonSchema,
    response: givenResponseSchema,
    preview: v.exactOptional(v.boolean("preview must be true or false.")),
    confirm: v.exactOptional(v.boolean("confirm must be true or false.")),
  },
  'The body must be JSON: write {"reason":"…","response":{"status":201,"headers":[],"body":""},"preview":true}.',
);

const FILTER =
  'filter must have the conditions of a list, each as text: write {"state":"unknown","route":"/v1/payments"}.';

export const changeAllEntries = {
  change: v.picklist(CHANGES, `change must be one of ${CHANGES.join(", ")}.`),
  filter: v.record(v.string(FILTER), v.string(FILTER), FILTER),
  preview: v.boolean("preview must be true or false."),
  confirm: v.boolean("confirm must be true or false."),
  until: v.pipe(
    v.string("until must be the time in the answer of the preview."),
    v.isoTimestamp("until must be the time in the answer of the preview."),
  ),
  cursor: v.string("cursor must be text from an answer before."),
};

/** All records that a filter matches. */
export const changeAllSchema = v.strictObject(
  {
    change: changeAllEntries.change,
    filter: changeAllEntries.filter,
    reason: reasonSchema,
    response: v.exactOptional(givenResponseSchema),
    preview: v.exactOptional(changeAllEntries.preview),
    confirm: v.exactOptional(changeAllEntries.confirm),
    until: v.exactOptional(changeAllEntries.until),
    cursor: v.exactOptional(changeAllEntries.cursor),
  },
  'The body must be JSON: write {"change":"release","filter":{"state":"unknown"},"reason":"…","preview":true}.',
);

const TRIAL = 'The body must be JSON: write {"body":…} with any JSON value, or {"bodyBase64":"…"} for bytes.';

/** Any JSON value is a message; a member that is missing is no value. */
export const queueTrialSchema = v.union(
  [v.strictObject({ body: v.unknown() }), v.strictObject({ bodyBase64: v.string(TRIAL) })],
  TRIAL,
);

const ONE_EVENT = "event must name an event as the list does: its shard, place and id.";
const eventMember = v.string(ONE_EVENT);

export const outboxChangeEntries = {
  destination: v.string('destination must be text: write {"destination":"billing","reason":"…","preview":true}.'),
  event: v.strictObject({ shard: eventMember, place: eventMember, id: eventMember }, ONE_EVENT),
  state: v.picklist(EVENT_STATES, `state must be one of ${EVENT_STATES.join(", ")}.`),
  preview: v.boolean("preview must be true or false."),
  confirm: v.boolean("confirm must be true or false."),
};

/** One event, or all of a destination. */
export const outboxChangeSchema = v.strictObject(
  {
    destination: v.pipe(
      outboxChangeEntries.destination,
      v.regex(DESTINATION_NAME, "destination must be the name of a destination, as the list gives it."),
    ),
    reason: reasonSchema,
    event: v.exactOptional(outboxChangeEntries.event),
    state: v.exactOptional(outboxChangeEntries.state),
    preview: v.exactOptional(outboxChangeEntries.preview),
    confirm: v.exactOptional(outboxChangeEntries.confirm),
  },
  'The body must be JSON: write {"destination":"billing","reason":"…","preview":true}.',
);

const whole = (name: string, max: number) => {
  const message = `${name} must be a whole number from 0 to ${max}.`;
  return v.pipe(v.number(message), v.integer(message), v.minValue(0, message), v.maxValue(max, message));
};

const STREAM = "stream must be the name of a stream, as the list gives it.";

export const positionChangeEntries = {
  group: v.pipe(v.string("group must be text."), v.regex(GROUP_NAME, "group must be the name of a group.")),
  stream: v.pipe(v.string(STREAM), v.regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/, STREAM)),
  partition: whole("partition", 2 ** 31 - 1),
  next: whole("next", Number.MAX_SAFE_INTEGER - 1),
};

export const positionChangeSchema = v.strictObject(
  { ...positionChangeEntries, reason: reasonSchema },
  'The body must be JSON: write {"group":"billing","stream":"orders","partition":3,"next":42,"reason":"…"}.',
);
