// Decides what an exchange does next, as plain data, from the life cycle's reply and the attempt that this instance runs for the
// record. It changes nothing and reads no clock. Only the life cycle decides whether the origin may be called
// (kernel/record/life-cycle.ts).

import { assertForClaimant, type OutcomeReply, type LifeCycleReply } from "../record/events.ts";
import type { BeginsElsewhere } from "../elsewhere.ts";
import type { ClientProblem } from "../record/problem.ts";
import { isAbandoned } from "../record/record.ts";
import type { Attempt, Completed, IdempotencyRecord, Policy, Started, Unknown } from "../record/record.ts";
import type { EpochMs } from "../record/units.ts";
import { isKeyed } from "../encryption/encryption.ts";
import type { ExchangeHead } from "../request/message.ts";
import type { KeyCount } from "../request/scope.ts";
import { POLL_MS } from "./answers.ts";
import type { AttemptInFlight } from "./attempts-in-flight.ts";
import type { Entry } from "../store/ledger.ts";
import type { KeptResponse } from "../store/response-rows.ts";

export type ExchangeAction =
  /** Take the request's body, then decide again. */
  | { readonly kind: "take-body" }
  /** Ask whether the caller may begin this new key, then decide again. */
  | { readonly kind: "count-key"; readonly count: KeyCount }
  /** Call the origin: the record has been claimed for this attempt. */
  | { readonly kind: "start"; readonly record: Started }
  | { readonly kind: "replay"; readonly record: Completed; readonly stored: KeptResponse }
  /** Follow the answer of the attempt in flight. If it cannot be followed, `waitFor` gives the action instead. */
  | { readonly kind: "attach"; readonly duplicate: DuplicateInFlight }
  /** Wait for the attempt in flight; `untilBegun`: only until its answer begins. `refusal` is the answer if the wait fails. */
  | {
      readonly kind: "wait";
      readonly duplicate: DuplicateInFlight;
      readonly untilBegun: boolean;
      readonly refusal: ClientProblem;
    }
  /** Store a message with its record, whose outcome is unknown. */
  | { readonly kind: "park"; readonly refusal: ClientProblem }
  /** Answer 202, or with the result if it comes in time. */
  | { readonly kind: "follow" }
  /** Ask the origin whether the last attempt took effect, then decide again. `refusal` is the answer if the wait fails. */
  | { readonly kind: "verify"; readonly policy: Policy; readonly refusal: ClientProblem }
  /** There is no record, and the key begins in another object. */
  | { readonly kind: "elsewhere"; readonly elsewhere: BeginsElsewhere }
  | Refusal;

interface Refusal {
  readonly kind: "refuse";
  readonly problem: ClientProblem;
}

/** A request that has met an attempt in flight for its record. */
export interface DuplicateInFlight {
  readonly inFlight: AttemptInFlight;
  /** Whether it is the same request that started the attempt, delivered again after the Worker lost the connection. */
  readonly isOwn: boolean;
  /** Whether its body has the same bytes as the attempt's, so that it need not hold its own. */
  readonly hasSameBody: boolean;
  readonly isBodyHere: boolean;
  readonly mayAttach: boolean;
  /** How long it may wait; Infinity for a request's own attempt, which has time limits of its own. */
  readonly waitMs: number;
  readonly refusal: ClientProblem;
}

/** Everything else that the decision depends on, as it is at the moment of the reply. */
export interface DecisionInputs {
  readonly head: ExchangeHead;
  readonly now: EpochMs;
  /** Whether the request's body is in this shard. */
  readonly isBodyHere: boolean;
  /** How long the request may still wait for another's attempt. */
  readonly leftMs: number;
  /** Whether the origin has already been asked for this request. */
  readonly hasVerified: boolean;
  /** The record before the reply. */
  readonly entry: Entry | null;
  /** The attempt that this instance runs for the record. */
  readonly inFlight: AttemptInFlight | undefined;
}

const TAKE_BODY: ExchangeAction = { kind: "take-body" };

/** The platform counts in periods of 10 or 60 seconds, and does not say when one ends. */
export const NEW_KEYS_RETRY_MS = 10_000;

/**
 * What comes before a claim, and needs time; `null`: nothing. Only a new key begins with attempt 1. `count` is set where new keys
 * are limited, and `mayBegin` says whether the caller may have this one; `null`: the limiter has not been asked.
 */
export function beforeStart(
  { number }: Pick<Attempt, "number">,
  isBodyHere: boolean,
  count: KeyCount | undefined,
  mayBegin: boolean | null,
): ExchangeAction | null {
  if (!isBodyHere) return TAKE_BODY;
  if (count === undefined || number > 1) return null;
  if (mayBegin === null) return { kind: "count-key", count };
  return refuseAction({ code: "too-many-keys", retryAfterMs: NEW_KEYS_RETRY_MS });
}

/** The longest advised wait: the client's next request asks the origin at once, and need not wait for the alarm's verification. */
export const VERIFY_AGAIN_MS = 10_000;

/** The action that follows from the life cycle's reply to a request. */
export function decideAction(reply: LifeCycleReply, situation: DecisionInputs): ExchangeAction {
  const { head, now, hasVerified, entry, inFlight } = situation;
  assertForClaimant(reply, "a request");
  if (isRefusedRepeat(reply, head)) return refuseAction({ code: "repeated-content" });
  switch (reply.type) {
    case "start":
      return { kind: "start", record: reply.record };
    case "accepted": {
      if (head.async !== undefined) return { kind: "follow" };
      // Its route no longer accepts requests, so an answer can name no monitor.
      const until = reply.record.state === "waiting" ? reply.record.startAt : reply.record.attempt.lockedUntil;
      return refuseAction({ code: "in-flight", retryAfterMs: Math.max(POLL_MS, until - now) });
    }
    case "in-flight": {
      const untilRetryMs = reply.retryFrom - now;
      if (inFlight === undefined) return refuseAction({ code: "in-flight", retryAfterMs: untilRetryMs });
      const duplicate = duplicateOf(situation, inFlight, untilRetryMs);
      return duplicate.mayAttach ? { kind: "attach", duplicate } : waitFor(duplicate);
    }
    case "outcome-unknown": {
      const { verifyAt, policy } = reply.record;
      const refusal = outcomeUnknown(reply.record, now);
      if (verifyAt !== null && !hasVerified) return { kind: "verify", policy, refusal };
      if (head.park !== true) return refuseAction(refusal);
      return situation.isBodyHere ? { kind: "park", refusal } : TAKE_BODY;
    }
    case "replay":
    case "not-kept":
    case "key-expired":
      return outcomeAction(reply, entry?.response ?? null, now);
    case "key-reused":
      return isIncomparable(reply, situation)
        ? incomparable(entry?.record ?? null)
        : refuseAction({ code: "key-reused", status: head.rules.keyReusedStatus });
    case "granted-again":
      throw new TypeError(`a request was answered with ${reply.type}`);
  }
}

/**
 * Whether the request repeats the content of one that took effect or is in flight, and its route refuses that. The same request may be delivered twice: it
 * is no repeat of itself. Where an outcome is unknown, or an attempt had none, the request is answered as any other.
 */
function isRefusedRepeat(reply: LifeCycleReply, { rules, request }: ExchangeHead): boolean {
  if (rules.contentKey?.repeat !== "refuse") return false;
  const isOfOne =
    reply.type === "replay" ||
    reply.type === "not-kept" ||
    (reply.type === "in-flight" && reply.record.state === "started") ||
    (reply.type === "accepted" && !reply.isNew);
  return isOfOne && reply.record.attempt.id !== request.attemptId;
}

/** What a request and a monitor are answered about a record that has no attempt in flight. */
export function outcomeAction(
  reply: OutcomeReply,
  stored: KeptResponse | null,
  now: EpochMs,
): Extract<ExchangeAction, { readonly kind: "replay" | "refuse" }> {
  switch (reply.type) {
    case "replay":
      return stored === null ? notKept(reply.record) : { kind: "replay", record: reply.record, stored };
    case "not-kept":
      return notKept(reply.record);
    case "outcome-unknown":
      return refuseAction(outcomeUnknown(reply.record, now));
    case "key-expired":
      return refuseAction(
        isAbandoned(reply.record)
          ? { code: "key-abandoned" }
          : { code: "key-expired", originalStatus: reply.record.status },
      );
  }
}

function outcomeUnknown({ verifyAt }: Unknown, now: EpochMs): Extract<ClientProblem, { code: "outcome-unknown" }> {
  return {
    code: "outcome-unknown",
    retryAfterMs: verifyAt === null ? null : Math.min(Math.max(0, verifyAt - now), VERIFY_AGAIN_MS),
  };
}

/** The record is of an `encrypt_responses` route and the request's route is not, so nobody knows whether it is the same request. */
export function isIncomparable(
  reply: LifeCycleReply,
  { head, entry }: Pick<DecisionInputs, "head" | "entry">,
): boolean {
  return reply.type === "key-reused" && head.encryption === undefined && isKeyed(entry?.record.fingerprint ?? null);
}

/** Nothing is sent. */
function incomparable(record: IdempotencyRecord | null): ExchangeAction {
  return record?.state === "completed" ? notKept(record) : refuseAction({ code: "store-unavailable" });
}

function duplicateOf(
  { head, leftMs, isBodyHere }: DecisionInputs,
  inFlight: AttemptInFlight,
  untilRetryMs: number,
): DuplicateInFlight {
  const isOwn = inFlight.attempt.id === head.request.attemptId;
  return {
    inFlight,
    isOwn,
    hasSameBody: isOwn || head.request.sameBytes,
    isBodyHere,
    mayAttach: isOwn || head.rules.duplicate === "attach",
    waitMs: isOwn ? Number.POSITIVE_INFINITY : leftMs,
    refusal: { code: "in-flight", retryAfterMs: Math.min(POLL_MS, untilRetryMs) },
  };
}

/** The action of a duplicate that cannot follow the answer: it waits, if it may. */
export function waitFor(duplicate: DuplicateInFlight): ExchangeAction {
  const { inFlight, hasSameBody, isBodyHere, mayAttach, waitMs, refusal } = duplicate;
  if (waitMs <= 0) return refuseAction(refusal);
  if (!hasSameBody && !isBodyHere) return TAKE_BODY;
  // If the answer has begun but cannot be followed, the wait lasts until the attempt has ended.
  return { kind: "wait", duplicate, untilBegun: mayAttach && !inFlight.attempt.hasBegun, refusal };
}

export function refuseAction(problem: ClientProblem): Refusal {
  return { kind: "refuse", problem };
}

export function notKept({ status }: Completed): Refusal {
  return refuseAction({ code: "response-not-kept", originalStatus: status });
}
