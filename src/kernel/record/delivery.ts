// Decides what becomes of one delivery of a queue's message, from what its record says. A message is acknowledged only when
// nothing is left to do: its record is completed or keeps the message, or its dead letter has been accepted. Pure: times and chance are passed in.

import type { ClientProblemCode } from "./problem.ts";
import type { UnknownRule } from "./record.ts";
import type { Verdict } from "./verdict.ts";

/** Why a message is not tried again. */
export const DEAD_REASONS = [
  /** The origin's result has a status that does not settle the message. */
  "rejected",
  /** The origin refused each attempt until the message was too old. */
  "exhausted",
  /** An attempt may have taken effect, and no other is made: its rule forbids that, or the message was too old. */
  "outcome-unknown",
  /** The message's object could not be reached, or could not write, until the message was too old: an earlier attempt may have taken effect. */
  "store-unavailable",
  /** The key has been used for a message with another content. */
  "key-reused",
  "key-missing",
  "message-invalid",
] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];

export const DELIVERY_DECISIONS = ["ack", "retry", "dead", "park"] as const;
export type DeliveryDecision = (typeof DELIVERY_DECISIONS)[number];

const PROBLEM_CODES: ReadonlySet<string> = new Set(
  Object.keys({
    "key-missing": true,
    "key-invalid": true,
    "request-invalid": true,
    "key-reused": true,
    "in-flight": true,
    "outcome-unknown": true,
    "response-not-kept": true,
    "key-expired": true,
    "key-abandoned": true,
    "repeated-content": true,
    "too-many-keys": true,
    "credential-invalid": true,
    "identity-unavailable": true,
    "body-too-large": true,
    "origin-unreachable": true,
    "origin-dropped": true,
    "origin-timeout": true,
    "store-unavailable": true,
    "configuration-invalid": true,
  } satisfies Record<ClientProblemCode, true>),
);

export function isProblemCode(code: string): code is ClientProblemCode {
  return PROBLEM_CODES.has(code);
}

/** What the shard said about the message's record. */
export type DeliveryAnswer =
  /** An answer of the origin, first or replayed. `isWhole`: it was read to its end, which the shard sends when the answer is durable. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly verdict: Verdict;
      readonly isWhole: boolean;
      readonly retryAfterMs: number | null;
    }
  /** A problem of the gateway. `originalStatus`: that of a result that was not kept. */
  | {
      readonly kind: "problem";
      readonly code: ClientProblemCode;
      readonly retryAfterMs: number | null;
      readonly originalStatus: number | null;
    }
  /** The outcome is unknown, and the message is stored with its record. */
  | { readonly kind: "parked" }
  /** Nobody could be asked. */
  | { readonly kind: "nothing" };

/** The message, and the rules of its queue. */
export interface Delivery {
  /** How often it has been delivered, this time included. */
  readonly attempts: number;
  readonly ageMs: number;
  /** In [0, 1): spreads messages that failed together. */
  readonly jitter: number;
  readonly giveUpAfterMs: number;
  /** What follows an attempt that may have taken effect. */
  readonly unknown: UnknownRule;
  /** The statuses of results that settle the message. */
  readonly done: readonly number[];
}

export type MessageDecision =
  | { readonly kind: "ack" }
  | { readonly kind: "retry"; readonly afterMs: number }
  /** Acknowledge: the record keeps the message, until an operator has decided. */
  | { readonly kind: "park" }
  /** Send the dead letter, then acknowledge. */
  | { readonly kind: "dead"; readonly reason: DeadReason; readonly status: number | null };

const SECOND_MS = 1000;

/** The platform delays a message by at most 12 hours. */
const LONGEST_DELAY_MS = 12 * 3600 * SECOND_MS;

/** Nothing shortens this wait: the configuration has to be deployed again. */
export const CONFIGURATION_RETRY_MS = 15 * 60 * SECOND_MS;

/**
 * Deliveries until the message is given up: 1 s, 2 s, 4 s … between them, and at most this part of the whole time. So a message is
 * delivered at most 60 times, whatever that time is, and the platform's `max_retries` (100) is not what ends it.
 */
const LONGEST_PAUSE_PART = 1 / 32;

/** `max_retries` of a consumer must not be below this. */
export const MIN_MAX_RETRIES = 60;

/** How long to wait before the next delivery. */
export function deliveryPauseMs({ attempts, jitter, giveUpAfterMs }: Delivery): number {
  const longest = Math.min(giveUpAfterMs * LONGEST_PAUSE_PART, LONGEST_DELAY_MS);
  // The exponent is bounded, because a power beyond all numbers would be Infinity, and 0 times that is no number.
  return Math.min(longest, SECOND_MS * 2 ** Math.min(attempts - 1, 40)) * (0.75 + jitter / 4);
}

/** Decides about one delivery. */
export function decideDelivery(answer: DeliveryAnswer, delivery: Delivery): MessageDecision {
  switch (answer.kind) {
    case "nothing":
      return unreached(delivery, null);
    case "answer":
      return afterAnswer(answer, delivery);
    case "problem":
      return afterProblem(answer, delivery);
    case "parked":
      return { kind: "park" };
  }
}

function afterAnswer(
  { status, verdict, isWhole, retryAfterMs }: Extract<DeliveryAnswer, { kind: "answer" }>,
  delivery: Delivery,
): MessageDecision {
  switch (verdict) {
    case "result":
      // The record may not be completed: the next delivery learns what became of it.
      return isWhole ? settled(status, delivery) : undecided(status, delivery, null);
    case "refused":
      return isTooOld(delivery) ? dead("exhausted", status) : again(delivery, retryAfterMs);
    case "ambiguous":
      return undecided(status, delivery, null);
  }
}

function afterProblem(
  { code, retryAfterMs, originalStatus }: Extract<DeliveryAnswer, { kind: "problem" }>,
  delivery: Delivery,
): MessageDecision {
  switch (code) {
    case "response-not-kept":
      return originalStatus === null ? undecided(null, delivery, null) : settled(originalStatus, delivery);
    case "key-expired":
      return originalStatus === null ? dead("outcome-unknown", null) : settled(originalStatus, delivery);
    case "origin-unreachable":
      return isTooOld(delivery) ? dead("exhausted", null) : again(delivery, null);
    case "outcome-unknown":
      // Without a time to come again, nobody asks the origin: an operator decides.
      return retryAfterMs === null || isTooOld(delivery)
        ? dead("outcome-unknown", null)
        : again(delivery, retryAfterMs);
    case "key-reused":
    // Only clients abandon keys or send none, and a message's record is none of theirs.
    case "key-abandoned":
    case "repeated-content":
      return dead("key-reused", null);
    case "key-missing":
      return dead("key-missing", null);
    case "key-invalid":
    case "request-invalid":
    case "body-too-large":
      return dead("message-invalid", null);
    case "configuration-invalid":
      return { kind: "retry", afterMs: CONFIGURATION_RETRY_MS };
    case "origin-dropped":
    case "origin-timeout":
      return undecided(null, delivery, retryAfterMs);
    // Nothing was sent. The last two are of routes with identities alone.
    case "too-many-keys":
    case "credential-invalid":
    case "identity-unavailable":
      return isTooOld(delivery) ? dead("exhausted", null) : again(delivery, retryAfterMs);
    // The next delivery finds the record in the state that follows.
    case "in-flight":
      return again(delivery, retryAfterMs);
    case "store-unavailable":
      return unreached(delivery, retryAfterMs);
  }
}

/** Deliveries with their pauses, some two minutes, after which a failure of the store is no moment's any more. */
const STORE_DELIVERIES = 8;

/** A message that comes late, because its queue was long, is not given up for a moment without its object. */
function unreached(delivery: Delivery, retryAfterMs: number | null): MessageDecision {
  const isLast = delivery.attempts >= STORE_DELIVERIES && isTooOld(delivery);
  return isLast ? dead("store-unavailable", null) : again(delivery, retryAfterMs);
}

function settled(status: number, { done }: Delivery): MessageDecision {
  return done.includes(status) ? { kind: "ack" } : dead("rejected", status);
}

/**
 * After an attempt that may have taken effect. The next delivery finds the record in the state that follows: under `hold` it leaves the
 * message with it, and otherwise it may make another attempt. So a handler that fails each time would never be done with a message: the
 * last attempt is one of a delivery that comes too late. If it is the first, the origin may still be asked about it.
 */
function undecided(status: number | null, delivery: Delivery, retryAfterMs: number | null): MessageDecision {
  const isLast = delivery.unknown !== "hold" && delivery.attempts > 1 && isTooOld(delivery);
  return isLast ? dead("outcome-unknown", status) : again(delivery, retryAfterMs);
}

function dead(reason: DeadReason, status: number | null): MessageDecision {
  return { kind: "dead", reason, status };
}

/** After the message's pause, or when the other side said, whichever is later. */
function again(delivery: Delivery, retryAfterMs: number | null): MessageDecision {
  return { kind: "retry", afterMs: Math.min(LONGEST_DELAY_MS, Math.max(deliveryPauseMs(delivery), retryAfterMs ?? 0)) };
}

function isTooOld({ ageMs, giveUpAfterMs }: Delivery): boolean {
  return ageMs >= giveUpAfterMs;
}
