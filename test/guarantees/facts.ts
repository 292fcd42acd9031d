// Facts about one arrival that hold for every gateway that keeps its guarantees.
//
//   client sends ─► claim ─► arrival ─► head ─► last byte ─► completed
//        └ the claim is made between these two; its exact time is unknown ┘
//
// So a lock ends no earlier than `lock` after the client sent the request, and the record of an answered attempt lives at
// least `retention` after the origin's last byte.

import type { Answer, Arrival, DeadLetter, Decision, Exchange, KeyQuestion, Look, Verification } from "./history.ts";
import { bucketFailed, wasBroken } from "./records.ts";
import type { RecordHistory, World } from "./records.ts";

/** How long an undisturbed gateway and network may take for one action. */
export const SLACK_MS = 500;
/** Above this, an answer came so late that a deadline may have ended it. */
const PROMPT_MS = 400;

const PROMPT_BYTES = 1_000_000;

/** The earliest time of the claim for this arrival. The gateway claims each further attempt of an accepted request by itself. */
export function claimedFrom(world: World, arrival: Arrival): number {
  return Math.max(world.cause(arrival.request)?.sentAt ?? arrival.at, world.previousAt(arrival));
}

/**
 * The head of the origin's answer says that it did not act. What happens to the body does not matter, unless it is the body that says
 * so.
 */
export function isRefused({ meta }: World, { headAt, lastAt, status }: Arrival): boolean {
  if (headAt === null || status === null || !meta.refused.includes(status)) return false;
  return lastAt !== null || meta.byBody?.includes(status) !== true;
}

/** The origin sent its whole answer, and it is a result. */
export function isResult(world: World, { lastAt, status }: Arrival): boolean {
  if (lastAt === null || status === null) return false;
  return !world.meta.refused.includes(status) && !world.meta.ambiguous.includes(status);
}

/** A result that nothing disturbed on its way, so the gateway must have it. */
export function isClean(world: World, arrival: Arrival): boolean {
  const { at, headAt, lastAt, maxGapMs, bytes } = arrival;
  if (!isResult(world, arrival) || lastAt === null || headAt === null) return false;
  // The gateway may not yet have read a huge body that the origin has written into the network's buffers.
  if (bytes !== null && bytes > PROMPT_BYTES) return false;
  const from = claimedFrom(world, arrival);
  const wasPrompt = at - from <= PROMPT_MS && headAt - at <= PROMPT_MS && maxGapMs <= PROMPT_MS;
  return wasPrompt && !wasBroken(world, from, lastAt + SLACK_MS);
}

/** When the origin finished its work for the gateway, or the gateway closed the connection, whichever was first. */
export function busyUntil(world: World, arrival: Arrival): number {
  const { headAt, lastAt, closedAt } = arrival;
  const doneAt = isRefused(world, arrival) ? headAt : lastAt;
  return Math.min(doneAt ?? Infinity, closedAt);
}

/** Whether the operator's change was made or may have been made. */
export function mayHaveChanged({ outcome }: Decision): boolean {
  return outcome === "changed" || outcome === "lost";
}

/**
 * Whether another request may be the next attempt of the key, `by` this time: the origin has refused the last one, or an operator has released the
 * record.
 */
export function mayFollow(world: World, { policy, decisions }: RecordHistory, last: Arrival, by: number): boolean {
  if (policy.takesOthers !== true) return false;
  const isRelease = ({ action, sentAt, endAt }: Decision): boolean =>
    action === "release" && endAt >= last.at && sentAt <= by;
  return isRefused(world, last) || decisions.some((decision) => isRelease(decision) && mayHaveChanged(decision));
}

/** The client has cancelled the request, or may have. */
export function mayHaveCancelled({ method, isStranger, ending }: Look): boolean {
  if (method !== "DELETE" || isStranger) return false;
  return ending.kind === "none" || ending.status === 204 || ending.status >= 500;
}

/** The earliest time at which a client may have given the key up. */
export function givenUpFrom({ keyQuestions }: RecordHistory): number {
  const given = keyQuestions.filter(({ method, isStranger, ending }) => {
    if (method !== "DELETE" || isStranger) return false;
    return ending.kind === "none" || ending.status === 204 || ending.status >= 500;
  });
  return Math.min(Infinity, ...given.map(({ sentAt }) => sentAt));
}

/** The earliest time after `from` at which an operator or a cancelling client may have erased the record. */
export function forgottenFrom({ decisions, looks }: RecordHistory, from: number): number {
  const forgets = decisions.filter(
    (decision) => decision.action === "forget" && mayHaveChanged(decision) && decision.endAt >= from,
  );
  const cancels = looks.filter((look) => mayHaveCancelled(look) && look.endAt >= from);
  return Math.min(Infinity, ...[...forgets, ...cancels].map(({ sentAt }) => sentAt));
}

/** The record of this arrival lives at least until then, unless an operator erases it. */
export function livesUntil(world: World, record: RecordHistory, arrival: Arrival): number {
  const { lockMs, retentionMs } = record.policy;
  const lockEnd = claimedFrom(world, arrival) + lockMs;
  const reported = answersFrom(record, arrival.seq).map(({ answer }) => answer.expiresAt ?? 0);
  const expiresAt = Math.max(endOf(world, record, arrival, lockEnd) + retentionMs, ...reported);
  return Math.min(expiresAt, forgottenFrom(record, claimedFrom(world, arrival)));
}

/** The earliest time from which the retention counts. */
function endOf(world: World, record: RecordHistory, arrival: Arrival, lockEnd: number): number {
  const { headAt, lastAt } = arrival;
  // A body too large to keep is settled while it still arrives; a refusal is settled by its head.
  if (isOutgrown(record, arrival) || isRefused(world, arrival)) return Math.min(headAt ?? lockEnd, lockEnd);
  const isCompleted = isClean(world, arrival) || answeredAt(world, record, arrival) < Infinity;
  if (isCompleted) return lastAt ?? lockEnd;
  return Math.min(lastAt ?? lockEnd, lockEnd, ...givenFrom(record, claimedFrom(world, arrival)));
}

/** It says that the operation did not take effect. */
export function saysAbsent({ status, effect, state, lastAt }: Verification): boolean {
  if (state !== undefined) return state.says === "not-happened" && lastAt !== null;
  return status === 404 && effect === null;
}

/** It says that the operation took effect. */
export function saysDone({ status, state, lastAt }: Verification): boolean {
  if (state !== undefined) return state.says === "happened" && lastAt !== null;
  return status !== null && status >= 200 && status < 300;
}

/** What retries get because of it. Of a question about a state: what was read there, or nothing. */
export function settledAnswer(
  given: Verification | Decision,
): Pick<Verification | Decision, "status" | "headers" | "sha256"> {
  if (given.type === "decision" || given.state === undefined) return given;
  return given.state.given ?? { status: null, headers: null, sha256: null };
}

/** When a "no" about this attempt begins to count. */
export function absentFrom(world: World, { policy }: RecordHistory, attempt: Arrival): number {
  return claimedFrom(world, attempt) + policy.lockMs + (policy.settleMs ?? 0);
}

/** The times after `from` at which the origin's report or an operator may have settled the record. */
function givenFrom({ verifications, decisions }: RecordHistory, from: number): readonly number[] {
  const known = verifications.filter(saysDone).map(({ at }) => at);
  const decided = decisions
    .filter((decision) => decision.action !== "forget" && mayHaveChanged(decision))
    .map(({ sentAt }) => sentAt);
  return [...known, ...decided].filter((at) => at >= from);
}

/** Its body is larger than the route keeps. */
export function isOutgrown({ policy }: RecordHistory, { bytes }: Arrival): boolean {
  return bytes !== null && bytes > policy.maxResponseBodyBytes;
}

/** What keeps the bucket from taking anything for as long as `idle_timeout`, so that the upload is given up. */
const STANDSTILLS = ["stopped", "lag", "slow-disk"] as const;

/**
 * Its body may be missing: it is too large, and there is no bucket, or the bucket failed or stood still before a client
 * had all of it or was told that it is not kept. How long an upload takes is no rule: the machine may be busy.
 */
export function mayBeUnkept(world: World, record: RecordHistory, arrival: Arrival): boolean {
  if (!isOutgrown(record, arrival)) return false;
  if (!record.policy.hasBucket) return true;
  const { at } = arrival;
  const told = record.exchanges.filter((exchange) => exchange.endAt > at && isCode(exchange, "response-not-kept"));
  const to = Math.min(answeredAt(world, record, arrival), ...told.map(({ endAt }) => endAt));
  return to < Infinity && (bucketFailed(world, record, at, to) || wasBroken(world, at, to, STANDSTILLS));
}

/** Whether the gateway answered with this problem. */
export function isCode({ ending }: Exchange, code: string): boolean {
  return ending.kind === "answer" && ending.code === code;
}

/** The fingerprint of the request that was forwarded. */
export function fingerprintOf(world: World, arrival: Arrival): string | null {
  return world.cause(arrival.request)?.fingerprint ?? null;
}

export interface Answered {
  readonly exchange: Exchange;
  readonly answer: Answer;
}

/** What clients received from one arrival. */
export function answersFrom(record: RecordHistory, seq: number): readonly Answered[] {
  return record.exchanges.flatMap((exchange) =>
    exchange.ending.kind === "answer" && exchange.ending.origin?.arrival === seq
      ? [{ exchange, answer: exchange.ending }]
      : [],
  );
}

/** When the first client had received the whole result. */
export function answeredAt(world: World, record: RecordHistory, arrival: Arrival): number {
  if (!isResult(world, arrival)) return Infinity;
  const times = answersFrom(record, arrival.seq)
    .filter(({ answer }) => answer.complete)
    .map(({ exchange }) => exchange.endAt);
  return Math.min(Infinity, ...times);
}

/** Each arrival but the last, paired with the next one. */
export function neighbours(arrivals: readonly Arrival[]): readonly (readonly [Arrival, Arrival])[] {
  return arrivals.slice(1).map((later, at) => [arrivals[at] ?? later, later] as const);
}

export function naming(
  ...named: readonly (Arrival | Exchange | Verification | Decision | Look | KeyQuestion | DeadLetter)[]
): readonly string[] {
  return named.map((one) => {
    switch (one.type) {
      case "exchange":
      case "look":
      case "key-question":
        return one.id;
      case "arrival":
        return `arrival ${one.seq}`;
      case "verification":
        return `question ${one.seq}`;
      case "decision":
        return `${one.action} ${one.seq}`;
      case "dead-letter":
        return `letter of ${one.message}`;
    }
  });
}
