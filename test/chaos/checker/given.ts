// Answers that came to a record by other ways than an attempt's: what the origin said when it was asked (`unknown =
// "verify"`), and what an operator gave with `resolve`. From then on they are the answer (G2), to the byte.

import type { Answer, Decision, Exchange, Question } from "../history.ts";
import { contradiction } from "./answers.ts";
import { answersFrom, forgottenFrom, livesUntil, naming, SLACK_MS, toldAt } from "./facts.ts";
import { wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

type Given = Question | Decision;

const FIRST = "G2 first answer wins";

/** From when on it is the record's answer, for certain. */
function settledFrom(record: RecordHistory, given: Given): number {
  const told = answersFrom(record, given.seq)
    .filter(({ answer }) => answer.complete)
    .map(({ exchange }) => exchange.endAt);
  const isDone = given.type === "decision" && given.action === "resolve" && given.outcome === "changed";
  return Math.min(Infinity, isDone ? given.endAt : Infinity, ...told);
}

/** Until when it is, at least. */
function staysUntil(record: RecordHistory, given: Given): number {
  const from = given.type === "decision" ? given.sentAt : given.at;
  return Math.min(from + record.policy.retentionMs, forgottenFrom(record, from));
}

function allGiven({ questions, decisions }: RecordHistory): readonly Given[] {
  return [...questions, ...decisions.filter(({ action }) => action === "resolve")];
}

/** G2: nobody gets another answer after it, and the origin is not called any more. */
export function givenAnswerWins(world: World, record: RecordHistory): readonly Violation[] {
  const hasOthers = record.exchanges.some(({ print }) => print !== "first");
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
    const what = "the origin was called for a key that has been given its answer";
    return contradicted.concat(called.map((arrival) => ({ rule: FIRST, what, evidence: naming(given, arrival) })));
  });
}

/** G2: and what they get is that, as a replay. */
export function everyGivenByte(_world: World, record: RecordHistory): readonly Violation[] {
  return allGiven(record).flatMap((given) =>
    answersFrom(record, given.seq).flatMap(({ exchange, answer }) => {
      const what = difference(given, answer);
      return what === null ? [] : [{ rule: "G2 every byte", what, evidence: naming(given, exchange) }];
    }),
  );
}

function difference(given: Given, answer: Answer): string | null {
  if (answer.status !== given.status) return `status ${answer.status} instead of ${given.status}`;
  if (given.type === "question" && answer.headers !== given.headers) return "other headers than the origin's";
  if (answer.body === "other") return "other bytes than were given";
  if (answer.complete && answer.sha256 !== given.sha256) return "another body than was given";
  if (given.type === "question" && given.lastAt === null) return "an answer that never came whole";
  return answer.replayed ? null : "a replay does not say so";
}

/** An operator's release or resolution never takes the place of an answer that somebody has. */
export function decisionsLeaveAnswers(world: World, record: RecordHistory): readonly Violation[] {
  const answers = [
    ...record.arrivals.map((one) => ({
      one,
      from: toldAt(world, record, one),
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
          what: `an operator's ${decision.action} changed a record that has its answer`,
          evidence: naming(one, decision),
        })),
    );
}

/** What is forgotten begins anew, with attempt 1: nothing of the old record counts on. */
export function forgetBeginsAnew(world: World, record: RecordHistory): readonly Violation[] {
  return record.decisions
    .filter(({ action, outcome }) => action === "forget" && outcome === "changed")
    .flatMap((forget) => {
      const next = record.arrivals.find(({ request }) => (world.exchange(request)?.sentAt ?? 0) > forget.endAt);
      if (next === undefined) return [];
      // Attempts that never came to the origin count as well.
      const others = record.exchanges.filter(
        ({ id, sentAt, endAt }) => id !== next.request && sentAt <= next.at && endAt >= forget.sentAt,
      );
      if ((next.attempt ?? 0) <= 1 + others.length) return [];
      const what = `a forgotten record counted on, with attempt ${next.attempt}`;
      return [{ rule: "forget begins anew", what, evidence: naming(forget, next) }];
    });
}

/** What an operator is told is true, as far as it can be known from outside. */
export function honestRefusals(_world: World, record: RecordHistory): readonly Violation[] {
  const longestMs = Math.ceil(record.policy.lockMs / 1_000) * 1_000;
  return record.decisions.flatMap((decision) => {
    const { outcome, retryAfterMs } = decision;
    const evidence = naming(decision);
    if (outcome === "invalid") return [{ rule: "honest problems", what: "a good change was called invalid", evidence }];
    if (outcome !== "refused" || (retryAfterMs ?? 0) <= longestMs) return [];
    const what = `a change may be made after ${retryAfterMs} ms, the lock has ${longestMs} ms`;
    return [{ rule: "honest problems", what, evidence }];
  });
}

/** G8: a question ends, whatever the origin does with it. */
export function questionsEnd(world: World, record: RecordHistory): readonly Violation[] {
  const { timeoutMs, idleTimeoutMs } = record.policy;
  return record.questions
    .filter(({ at, closedAt }) => closedAt - at > timeoutMs + idleTimeoutMs + SLACK_MS)
    .filter(({ at, closedAt }) => !wasBroken(world, at, closedAt, ["stopped", "lag"]))
    .map((question) => ({
      rule: "G8 nothing wedges",
      what: `a question (${question.mode}) went on for ${question.closedAt - question.at} ms`,
      evidence: naming(question),
    }));
}
