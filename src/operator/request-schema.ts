// Requests to the operator API: their words, their limits, and the schemas with which the Worker parses a change. Each feature has its own.
// record-schema.ts describes each member for the OpenAPI document. Imports nothing that needs the Worker, because the command
// line uses this file too.

import * as v from "valibot";

import type { RecordState } from "../kernel/record/record.ts";
import type { OperatorChange } from "../kernel/record/timeline.ts";
import { type EpochMs, epochMs, MAX_KEY_LENGTH } from "../kernel/record/units.ts";

/** What a request asks, or what to write instead. */
export type ParsedRequest<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

export const RECORD_STATES = [
  "waiting",
  "started",
  "failed",
  "unknown",
  "completed",
  "remembered",
] as const satisfies readonly RecordState[];

export const CHANGES = ["release", "resolve", "forget"] as const satisfies readonly OperatorChange[];

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

const MAX_REASON_LENGTH = 1000;
const MAX_HEADERS = 100;

const STATUS = "response.status must be a whole number from 200 to 599.";
const HEADERS = 'response.headers must be a list of pairs: write [["content-type","application/json"]].';

/** The member of a request that says why, or what is noted. */
export function whyText(name: string) {
  return v.pipe(
    v.string(`${name} must be text: write {"${name}":"…"}.`),
    v.trim(),
    v.nonEmpty(`${name} must not be empty.`),
    v.maxLength(MAX_REASON_LENGTH, `${name} must have at most ${MAX_REASON_LENGTH} characters.`),
  );
}

export const reasonSchema = whyText("reason");

const UNTIL = "until must be the time in the answer of the preview.";

/** The members of a change that is previewed before it is made. */
export const previewOrConfirm = {
  preview: v.exactOptional(v.boolean("preview must be true or false.")),
  confirm: v.exactOptional(v.boolean("confirm must be true or false.")),
};

/** The same of many records. */
export const previewStepEntries = {
  ...previewOrConfirm,
  until: v.exactOptional(v.pipe(v.string(UNTIL), v.isoTimestamp(UNTIL))),
};

type WrittenStep = v.InferOutput<v.ObjectSchema<typeof previewStepEntries, undefined>>;

export interface PreviewStep {
  readonly isPreview: boolean;
  /** When the records were previewed, so that nothing newer is changed. */
  readonly until: EpochMs;
}

/** How much another Worker's clock may differ. */
export const CLOCKS_MS = 60_000;

function refuse(reason: string): ParsedRequest<never> {
  return { ok: false, reason };
}

/** `both`: what to write if it is neither a preview nor confirmed. `isFurther`: it goes on with what an earlier call has begun. */
export function parsePreviewStep(
  { preview: isPreview = false, confirm = false, until: time }: WrittenStep,
  now: EpochMs,
  both: string,
  isFurther = false,
): ParsedRequest<PreviewStep> {
  if (isPreview === confirm) return refuse(both);
  if (time === undefined && (confirm || isFurther)) {
    return refuse("until is missing: give the time in the answer of the preview, so that nothing newer is changed.");
  }
  const until = time === undefined ? now : epochMs(Date.parse(time));
  // The schema lets offsets through that nothing can read: "+05". A list until no time has no end.
  if (Number.isNaN(until)) return refuse(UNTIL);
  if (until > now + CLOCKS_MS) {
    return refuse("until must not be in the future: give the time in the answer of the preview.");
  }
  return { ok: true, value: { isPreview, until } };
}

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

export function decodeBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
