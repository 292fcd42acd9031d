// What is certain of one arrival, whatever the gateway did: bounds that hold for every gateway that keeps its guarantees.
//
//   client sends ─► claim ─► arrival ─► head ─► last byte ─► completed
//        └ the claim's time is unknown; it lies between these two ┘
//
// So a lock ends no earlier than `lock` after the client sent the request, and a record of an answered attempt lives at
// least `retention` from the origin's last byte on.

import type { Answer, Arrival, Decision, Exchange, Question } from "../history.ts";
import { bucketFailed, wasBroken } from "./records.ts";
import type { RecordHistory, World } from "./records.ts";

/** What an undisturbed gateway and network may take for one thing. */
export const SLACK_MS = 500;
/** Beyond this an answer came so late that a deadline may have been at work. */
const PROMPT_MS = 400;

const PROMPT_BYTES = 1_000_000;

/** The claim of this arrival was made no earlier. */
export function claimedFrom(world: World, arrival: Arrival): number {
  return world.exchange(arrival.request)?.sentAt ?? arrival.at;
}

/** The origin said that it did not act: the head of its answer says so, whatever becomes of the body. */
export function isRefused(world: World, { headAt, status }: Arrival): boolean {
  return headAt !== null && status !== null && world.meta.refused.includes(status);
}

/** The origin gave its answer to the end, and it was a result. */
export function isResult(world: World, { lastAt, status }: Arrival): boolean {
  if (lastAt === null || status === null) return false;
  return !world.meta.refused.includes(status) && !world.meta.ambiguous.includes(status);
}

/** A result that nothing disturbed on its way: the gateway has no excuse not to have it. */
export function isClean(world: World, arrival: Arrival): boolean {
  const { at, headAt, lastAt, maxGapMs, bytes } = arrival;
  if (!isResult(world, arrival) || lastAt === null || headAt === null) return false;
  // What the system holds of a huge one when the origin has written it, the gateway has yet to take.
  if (bytes !== null && bytes > PROMPT_BYTES) return false;
  const from = claimedFrom(world, arrival);
  const wasPrompt = at - from <= PROMPT_MS && headAt - at <= PROMPT_MS && maxGapMs <= PROMPT_MS;
  return wasPrompt && !wasBroken(world, from, lastAt + SLACK_MS);
}

/** Until when the origin was at work for the gateway, or the gateway still listened. */
export function busyUntil(world: World, arrival: Arrival): number {
  const { headAt, lastAt, closedAt } = arrival;
  const doneAt = isRefused(world, arrival) ? headAt : lastAt;
  return Math.min(doneAt ?? Infinity, closedAt);
}

/** An operator's change that was made, or may have been. */
export function mayHaveChanged({ outcome }: Decision): boolean {
  return outcome === "changed" || outcome === "lost";
}

/** The first time after `from` at which an operator may have erased the record. */
export function forgottenFrom({ decisions }: RecordHistory, from: number): number {
  const forgets = decisions.filter(
    (decision) => decision.action === "forget" && mayHaveChanged(decision) && decision.endAt >= from,
  );
  return Math.min(Infinity, ...forgets.map(({ sentAt }) => sentAt));
}

/** No record of this arrival may have gone before, unless an operator erased it. */
export function livesUntil(world: World, record: RecordHistory, arrival: Arrival): number {
  const { lockMs, retentionMs } = record.policy;
  const lockEnd = claimedFrom(world, arrival) + lockMs;
  const told = answersFrom(record, arrival.seq).map(({ answer }) => answer.expiresAt ?? 0);
  const expiresAt = Math.max(endOf(world, record, arrival, lockEnd) + retentionMs, ...told);
  return Math.min(expiresAt, forgottenFrom(record, claimedFrom(world, arrival)));
}

/** From when on the retention counts, at the earliest. */
function endOf(world: World, record: RecordHistory, arrival: Arrival, lockEnd: number): number {
  const { headAt, lastAt } = arrival;
  // A body too large to keep is settled while it still comes; a refusal before its body comes.
  if (isOutgrown(record, arrival) || isRefused(world, arrival)) return Math.min(headAt ?? lockEnd, lockEnd);
  const isCompleted = isClean(world, arrival) || toldAt(world, record, arrival) < Infinity;
  if (isCompleted) return lastAt ?? lockEnd;
  return Math.min(lastAt ?? lockEnd, lockEnd, ...givenFrom(record, claimedFrom(world, arrival)));
}

/** When the origin, asked about it, or an operator may have said after `from` what became of it. */
function givenFrom({ questions, decisions }: RecordHistory, from: number): readonly number[] {
  const known = questions.filter(({ status }) => status !== null && status >= 200 && status < 300).map(({ at }) => at);
  const decided = decisions
    .filter((decision) => decision.action !== "forget" && mayHaveChanged(decision))
    .map(({ sentAt }) => sentAt);
  return [...known, ...decided].filter((at) => at >= from);
}

/** Its body is larger than what the route keeps. */
export function isOutgrown({ policy }: RecordHistory, { bytes }: Arrival): boolean {
  return bytes !== null && bytes > policy.maxResponseBodyBytes;
}

/** There is no bucket for such a body, or it failed. */
export function mayBeUnkept(world: World, record: RecordHistory, arrival: Arrival): boolean {
  if (!isOutgrown(record, arrival)) return false;
  if (!record.policy.hasBucket) return true;
  const { at, closedAt } = arrival;
  // On its way into the bucket it stands still with the machine.
  let to = closedAt + SLACK_MS;
  for (const { kind, from, to: over } of world.outages) {
    if (kind !== "origin-refuses" && from <= to) to = Math.max(to, over + SLACK_MS);
  }
  return bucketFailed(world, record, at, to);
}

/** What the request that was forwarded asked for. */
export function printOf(world: World, arrival: Arrival): string | null {
  return world.exchange(arrival.request)?.print ?? null;
}

export interface Answered {
  readonly exchange: Exchange;
  readonly answer: Answer;
}

/** What clients got from one arrival. */
export function answersFrom(record: RecordHistory, seq: number): readonly Answered[] {
  return record.exchanges.flatMap((exchange) =>
    exchange.ending.kind === "answer" && exchange.ending.origin?.arrival === seq
      ? [{ exchange, answer: exchange.ending }]
      : [],
  );
}

/** When a client first had its whole result. */
export function toldAt(world: World, record: RecordHistory, arrival: Arrival): number {
  if (!isResult(world, arrival)) return Infinity;
  const times = answersFrom(record, arrival.seq)
    .filter(({ answer }) => answer.complete)
    .map(({ exchange }) => exchange.endAt);
  return Math.min(Infinity, ...times);
}

/** The next arrival of each one but the last. */
export function neighbours(arrivals: readonly Arrival[]): readonly (readonly [Arrival, Arrival])[] {
  return arrivals.slice(1).map((later, at) => [arrivals[at] ?? later, later] as const);
}

export function naming(...named: readonly (Arrival | Exchange | Question | Decision)[]): readonly string[] {
  return named.map((one) => {
    switch (one.type) {
      case "exchange":
        return one.id;
      case "arrival":
        return `arrival ${one.seq}`;
      case "question":
        return `question ${one.seq}`;
      case "decision":
        return `${one.action} ${one.seq}`;
    }
  });
}
