// Reads the bodies of the claims API. A body with anything wrong in it is refused whole, with the place and what to write, before
// anything is done; what one record says is no reason to refuse the others.

import * as v from "valibot";

import type { ClaimVerb } from "../../kernel/record/claim.ts";
import type { Position } from "../../kernel/record/events.ts";
import { MAX_KEY_LENGTH } from "../../kernel/record/units.ts";
import { CLAIM_EFFECTS, type ClaimEffect } from "./claim-message.ts";

/** The most entries of one request. */
export const MAX_CLAIMS = 100;

/** The most bytes of a result, as JSON. */
export const MAX_RESULT_BYTES = 64 * 1024;

/** The most bytes of a body: a few milliseconds of reading JSON. */
export const MAX_CLAIMS_BYTES = 1 << 20;

const MIN_LOCK_MS = 1000;

/** What is asked about one key, as it was written. */
export type RequestedClaim = {
  readonly key: string;
  readonly attemptId: string;
  readonly position: Position | null;
} & (
  | {
      readonly verb: "claim";
      readonly payloadHash: string;
      readonly lockMs: number | null;
      readonly holder: string | null;
    }
  | { readonly verb: "extend" }
  | { readonly verb: "complete"; readonly result: string | null }
  | { readonly verb: "release"; readonly effect: ClaimEffect; readonly reason: string }
);

export type ReadWishes =
  | { readonly ok: true; readonly wishes: readonly RequestedClaim[] }
  | { readonly ok: false; readonly reason: string };

/** Text that a log, a list and a header can show. */
const text = (max: number, what: string) =>
  v.pipe(
    v.string(`must be text: ${what}.`),
    v.regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, `must be ASCII without control characters: ${what}.`),
    v.maxLength(max, `must have at most ${max} characters: ${what}.`),
  );

const count = (max: number) => {
  const message = `must be a whole number from 0 to ${max}.`;
  return v.pipe(v.number(message), v.integer(message), v.minValue(0, message), v.maxValue(max, message));
};

const partition = {
  stream: text(255, "the stream's name"),
  partition: count(2 ** 31 - 1),
};

const position = v.strictObject({
  ...partition,
  // One more must still be exact.
  offset: count(Number.MAX_SAFE_INTEGER - 1),
  previous: v.optional(v.nullable(count(Number.MAX_SAFE_INTEGER - 1)), null),
});

const common = (maxKeyLength: number) => ({
  key: text(maxKeyLength, "the key of the operation"),
  attemptId: v.pipe(
    v.string("must be text: a new UUID for each attempt."),
    v.regex(/^[A-Za-z0-9_-]{16,64}$/, 'must be 16 to 64 letters, digits, "-" or "_": a new UUID for each attempt.'),
  ),
  position: v.optional(v.nullable(position), null),
});

const claim = ({ maxLockMs, maxKeyLength }: ClaimLimits) => {
  const lock = `must be a whole number of milliseconds from ${MIN_LOCK_MS} to ${maxLockMs}, the group's max_lock.`;
  return v.strictObject({
    ...common(maxKeyLength),
    payloadHash: text(128, "a digest of what the operation is about, such as SHA-256 in hexadecimal"),
    lockMs: v.optional(
      v.nullable(v.pipe(v.number(lock), v.integer(lock), v.minValue(MIN_LOCK_MS, lock), v.maxValue(maxLockMs, lock))),
      null,
    ),
    holder: v.optional(v.nullable(text(64, "which process of the consumer it is")), null),
  });
};

const extend = v.strictObject(common(MAX_KEY_LENGTH));

const complete = v.strictObject({ ...common(MAX_KEY_LENGTH), result: v.optional(v.unknown()) });

const release = v.strictObject({
  ...common(MAX_KEY_LENGTH),
  effect: v.picklist(CLAIM_EFFECTS, 'must be "none" if certainly nothing happened, otherwise "unknown".'),
  reason: v.optional(text(200, "why"), "no reason given"),
});

/** What the group's settings bound of its claims. */
export interface ClaimLimits {
  readonly maxLockMs: number;
  /** It leaves room for a step in `publish`. */
  readonly maxKeyLength: number;
}

export function readWishes(verb: ClaimVerb, body: unknown, limits: ClaimLimits): ReadWishes {
  switch (verb) {
    case "claim":
      return readAll(body, claim(limits), (one) => ({ ...one, verb }));
    case "extend":
      return readAll(body, extend, (one) => ({ ...one, verb }));
    case "complete":
      return readAll(body, complete, ({ result, ...one }) => ({ ...one, verb, result: textOf(result) }));
    case "release":
      return readAll(body, release, (one) => ({ ...one, verb }));
  }
}

export type ReadPartition =
  | { readonly ok: true; readonly partition: Pick<Position, "stream" | "partition"> }
  | { readonly ok: false; readonly reason: string };

export function readPartition(query: unknown): ReadPartition {
  const read = v.safeParse(v.strictObject(partition), query, { abortEarly: true });
  return read.success
    ? { ok: true, partition: read.output }
    : { ok: false, reason: reasonOf("The query", read.issues[0]) };
}

function readAll<Schema extends v.GenericSchema>(
  body: unknown,
  schema: Schema,
  wishOf: (one: v.InferOutput<Schema>) => RequestedClaim,
): ReadWishes {
  const list = typeof body === "object" && body !== null && "claims" in body ? body.claims : null;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_CLAIMS) {
    return { ok: false, reason: `The body must be JSON: { "claims": [ … ] } with 1 to ${MAX_CLAIMS} entries.` };
  }
  const wishes: RequestedClaim[] = [];
  for (const [at, value] of list.entries()) {
    const read = v.safeParse(schema, value, { abortEarly: true });
    if (!read.success) return { ok: false, reason: reasonOf(`claims[${at}]`, read.issues[0]) };
    const wish = wishOf(read.output);
    if (wish.position !== null && (wish.position.previous ?? -1) >= wish.position.offset) {
      return { ok: false, reason: `claims[${at}].position.previous must be below offset: the message before it.` };
    }
    if (wish.verb === "complete" && bytesOf(wish.result) > MAX_RESULT_BYTES) {
      return { ok: false, reason: `claims[${at}].result must have at most ${MAX_RESULT_BYTES} bytes as JSON.` };
    }
    wishes.push(wish);
  }
  return { ok: true, wishes };
}

function reasonOf(place: string, issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  const at = path === null ? place : `${place}.${path}`;
  if (issue.type !== "strict_object") return `${at} ${issue.message}`;
  return issue.expected === "never"
    ? `${at} is unknown: leave it out.`
    : `${at} ${path === null ? "must be a table." : "is missing."}`;
}

function textOf(result: unknown): string | null {
  return result === undefined ? null : JSON.stringify(result);
}

const encoder = new TextEncoder();

function bytesOf(result: string | null): number {
  return result === null ? 0 : encoder.encode(result).byteLength;
}
