// Answers that a record got otherwise than from an attempt: from the origin's report when it was asked (`unknown =
// "verify"`), and from an operator's `resolve`. From then on they are the record's answer (G2), byte for byte.

import type { Answer, Decision, Exchange, Verification } from "./history.ts";
import { contradiction } from "./answers.ts";
import {
  answersFrom,
  forgottenFrom,
  livesUntil,
  naming,
  saysDone,
  settledAnswer,
  SLACK_MS,
  answeredAt,
} from "./facts.ts";
import { VERIFIED_HEADER } from "./others.ts";
import { wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

type Given = Verification | Decision;

const FIRST = "G2 first answer wins";

/** When it has certainly become the record's answer. */
function settledFrom(record: RecordHistory, given: Given): number {
  const reported = answersFrom(record, given.seq)
    .filter(({ answer }) => answer.complete)
    .map(({ exchange }) => exchange.endAt);
  const isDone = given.type === "decision" && given.action === "resolve" && given.outcome === "changed";
  return Math.min(Infinity, isDone ? given.endAt : Infinity, ...reported);
}

/** How long it certainly stays the record's answer. */
function staysUntil(record: RecordHistory, given: Given): number {
  const from = given.type === "decision" ? given.sentAt : given.at;
  return Math.min(from + record.policy.retentionMs, forgottenFrom(record, from));
}

function allGiven({ verifications, decisions }: RecordHistory): readonly Given[] {
  return [...verifications, ...decisions.filter(({ action }) => action === "resolve")];
}

/** G2: after it no client gets another answer, and the origin is not called again. */
export function givenAnswerWins(world: World, record: RecordHistory): readonly Violation[] {
  const hasOthers = record.exchanges.some(({ fingerprint }) => fingerprint !== "first");
  return allGiven(record).flatMap((given): readonly Violation[] => {
    const from = settledFrom(record, given);
    const to = staysUntil(record, given);
    const later = record.exchanges.filter(({ sentAt, endAt }) => sentAt > from && endAt < to);
    const called = record.arrivals.filter(({ at }) => at > from && at < to);
    const isMismatch = ({ ending }: Exchange): boolean => ending.kind === "answer" && ending.code === "key-reused";
    const contradicted = later.flatMap((exchange) => {
      const what = hasOthers && isMismatch(exchange) ? null : contradiction(world, record, given.seq, exchange);
      return what === null ? [] : [{ rule: FIRST, what, evidence: naming(given, exchange) }];
    });
    const how = given.type === "verification" ? "the origin's report" : "an operator's resolve";
    const what = `expected a replay, but the origin was called for a key that ${how} had settled`;
    return contradicted.concat(called.map((arrival) => ({ rule: FIRST, what, evidence: naming(given, arrival) })));
  });
}

/** G2: clients get exactly that answer, marked as a replay. */
export function everyGivenByte(_world: World, record: RecordHistory): readonly Violation[] {
  return allGiven(record).flatMap((given) =>
    answersFrom(record, given.seq).flatMap(({ exchange, answer }) => {
      const what = difference(given, answer);
      return what === null ? [] : [{ rule: "G2 every byte", what, evidence: naming(given, exchange) }];
    }),
  );
}

/**
 * What clients get as verified is the state of that time: the answer says that the operation took effect, and the effect that it names is in the origin's
 * journal, before the answer, and was not undone before.
 */
export function verifiedIsSo(_world: World, record: RecordHistory): readonly Violation[] {
  return record.verifications.flatMap((verification) => {
    const given = verification.state === undefined ? [] : answersFrom(record, verification.seq);
    const what = given.length === 0 ? null : untruth(record, verification);
    const evidence = naming(verification, ...given.map(({ exchange }) => exchange));
    return what === null ? [] : [{ rule: "verified answers", what, evidence }];
  });
}

function untruth({ effects, foreign, undone }: RecordHistory, verification: Verification): string | null {
  const { effect, at, lastAt } = verification;
  if (!saysDone(verification)) return "a client got as verified what does not say that the operation took effect";
  const shown = [...effects, ...foreign].find(({ id }) => id === effect);
  if (shown === undefined || shown.at > (lastAt ?? at))
    return `a client got as verified effect ${effect}, which is not in the journal`;
  const isUndone = undone.some((undo) => undo.effect === effect && undo.at < at);
  return isUndone ? `a client got as verified effect ${effect}, which was undone before` : null;
}

function difference(given: Given, answer: Answer): string | null {
  const { status, headers, sha256 } = settledAnswer(given);
  if (answer.status !== status) return `expected status ${status}, got ${answer.status}`;
  if (given.type === "verification" && answer.headers !== headers)
    return "expected the origin's status text and headers, got different ones";
  if (answer.body === "other") return "expected the settled answer's body, got different bytes";
  if (answer.complete && answer.sha256 !== sha256) return "expected the settled answer's body, got a different digest";
  if (given.type === "verification" && !answer.gatewayHeaders.includes(VERIFIED_HEADER))
    return "expected the date at which the origin said so, but Idempotency-Verified is missing";
  if (given.type === "verification" && given.lastAt === null)
    return "the origin never sent the whole answer, but a client got it";
  return answer.replayed ? null : "expected Idempotent-Replayed: true on the replay, but it is missing";
}

/** An operator's release or resolve never replaces an answer that a client has received. */
export function decisionsLeaveAnswers(world: World, record: RecordHistory): readonly Violation[] {
  const answers = [
    ...record.arrivals.map((one) => ({
      one,
      from: answeredAt(world, record, one),
      to: livesUntil(world, record, one),
    })),
    ...allGiven(record).map((one) => ({ one, from: settledFrom(record, one), to: staysUntil(record, one) })),
  ];
  return record.decisions
    .filter(({ action, outcome }) => action !== "forget" && outcome === "changed")
    .flatMap((decision) =>
      answers
        .filter(({ one, from, to }) => one !== decision && from < decision.sentAt && decision.endAt < to)
        .map(({ one }) => ({
          rule: FIRST,
          what: `an operator's ${decision.action} was accepted for a record that already had its answer`,
          evidence: naming(one, decision),
        })),
    );
}

/** After a forget the key begins anew with attempt 1. A message that was parked and released has more attempts than deliveries. */
export function forgetBeginsAnew(world: World, record: RecordHistory): readonly Violation[] {
  return record.decisions
    .filter(({ action, outcome }) => action === "forget" && outcome === "changed")
    .flatMap((forget) => {
      const next = record.arrivals.find(({ request }) => (world.cause(request)?.sentAt ?? 0) > forget.endAt);
      if (next === undefined) return [];
      const isReleased = record.decisions.some(
        (one) => one.action === "release" && one.endAt >= forget.sentAt && one.sentAt <= next.at,
      );
      if (isReleased && record.deliveries.length > 0) return [];
      // Attempts that never reached the origin count too.
      const others = [...record.exchanges, ...record.deliveries].filter(
        ({ id, sentAt, endAt }) => id !== next.request && sentAt <= next.at && endAt >= forget.sentAt,
      );
      const most = (1 + others.length) * (record.policy.acceptedAttempts ?? 1);
      if ((next.attempt ?? 0) <= most) return [];
      const what = `expected attempt ${most} at most after a forget, got attempt ${next.attempt}`;
      return [{ rule: "forget begins anew", what, evidence: naming(forget, next) }];
    });
}

/** The operator API's refusals are true, as far as that can be known from outside. */
export function honestRefusals(_world: World, record: RecordHistory): readonly Violation[] {
  const longestMs = Math.ceil(record.policy.lockMs / 1_000) * 1_000;
  return record.decisions.flatMap((decision) => {
    const { outcome, retryAfterMs } = decision;
    const evidence = naming(decision);
    if (outcome === "invalid")
      return [{ rule: "honest problems", what: "a valid change was refused as invalid", evidence }];
    if (outcome !== "refused" || (retryAfterMs ?? 0) <= longestMs) return [];
    const what = `expected a Retry-After of at most ${longestMs} ms (the lock), got ${retryAfterMs} ms`;
    return [{ rule: "honest problems", what, evidence }];
  });
}

/** G8: a question to the origin ends, whatever the origin does. */
export function verificationsEnd(world: World, record: RecordHistory): readonly Violation[] {
  const { timeoutMs, idleTimeoutMs } = record.policy;
  return record.verifications
    .filter(({ at, closedAt }) => closedAt - at > timeoutMs + idleTimeoutMs + SLACK_MS)
    .filter(({ at, closedAt }) => !wasBroken(world, at, closedAt, ["stopped", "lag"]))
    .map((verification) => ({
      rule: "G8 nothing wedges",
      what: `a question to the origin (${verification.mode}) lasted ${verification.closedAt - verification.at} ms`,
      evidence: naming(verification),
    }));
}
