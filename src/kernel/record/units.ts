// Branded types for numbers and strings, so that the compiler never lets a time pass for a duration, or one identity for
// another. Only the constructors below turn a plain value into a branded one.

declare const unit: unique symbol;

/** A point in time: milliseconds since the Unix epoch. */
export type EpochMs = number & { readonly [unit]: "EpochMs" };

/** A length of time in milliseconds. */
export type DurationMs = number & { readonly [unit]: "DurationMs" };

/** SHA-256 over what a request asks for, in hexadecimal. It distinguishes a retry from a reused key. */
export type Fingerprint = string & { readonly [unit]: "Fingerprint" };

/** The identity of one attempt: random, never a counter or a time. */
export type AttemptId = string & { readonly [unit]: "AttemptId" };

/**
 * The name of one record, in hexadecimal: 128 bits of the SHA-256 of its key, then 128 bits of the SHA-256 of its key, scope
 * and set of objects. So the records of one key sort together, and a record's name determines its shard.
 */
export type RecordId = string & { readonly [unit]: "RecordId" };

/** `draft-ietf-httpapi-idempotency-key-header` leaves the length open; this is Onceway's. */
export const MAX_KEY_LENGTH = 255;

/** The number of a stored body within its shard. No two bodies that exist at the same time have the same. */
export type BodyNumber = number & { readonly [unit]: "BodyNumber" };

/** The hexadecimal digits of a key's hash: 128 bits, so nobody finds two keys, or two scopes of one key, that share them. */
export const KEY_HASH_DIGITS = 32;

/** What stands for the key in logs: the first half of a record's name, or of any text that begins with it. */
export const keyHashOf = (id: string): string => id.slice(0, KEY_HASH_DIGITS);

/**
 * What stands for an exchange in logs, by a UUID of its own: the `instance` of the problem that its client may get (RFC 9457, section 3.1.5). It is
 * random, so it tells nothing about the record.
 */
export const instanceOf = (uuid: string): string => `urn:uuid:${uuid}`;

export const epochMs = (value: number): EpochMs => value as EpochMs;
export const durationMs = (value: number): DurationMs => value as DurationMs;
export const bodyNumber = (value: number): BodyNumber => value as BodyNumber;
export const fingerprint = (value: string): Fingerprint => value as Fingerprint;
export const attemptId = (value: string): AttemptId => value as AttemptId;
export const recordId = (value: string): RecordId => value as RecordId;

/** The end of the lock of an attempt that is certainly not running: it is over by whichever clock. */
export const NO_LOCK = epochMs(1);

/**
 * When something is due that was set for `at`. What is further away than it can ever be set was set by a clock that was ahead, and is due
 * now: otherwise a clock that was ahead for a second would stop work for as long as it was ahead.
 */
export const dueAt = (at: EpochMs, longest: DurationMs, now: EpochMs): EpochMs => (at <= now + longest ? at : now);
/** Whether a pause until then is not over yet. */
export const isPauseOn = (until: EpochMs, longest: DurationMs, now: EpochMs): boolean =>
  dueAt(until, longest, now) > now;

export const timeAfter = (time: EpochMs, by: DurationMs): EpochMs => epochMs(time + by);
export const earliestTime = (one: EpochMs, other: EpochMs): EpochMs => epochMs(Math.min(one, other));
export const latestTime = (one: EpochMs, other: EpochMs): EpochMs => epochMs(Math.max(one, other));
