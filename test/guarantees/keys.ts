// What clients are told of their keys: where a new key is said to be safe, no attempt of the old one has acted, may have, or is in flight; after a key was
// given up none begins; and an operation that is begun afresh with a new key has no effect with the old one.

import type { Arrival, KeyQuestion } from "./history.ts";
import { absence } from "./attempts.ts";
import {
  answeredAt,
  forgottenFrom,
  givenUpFrom,
  isRefused,
  livesUntil,
  mayHaveChanged,
  naming,
  settledAnswer,
} from "./facts.ts";
import { wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

const GIVEN_UP = "a key that was given up";
const SAFE = "a new key is safe";
const REPORTS = "true reports of keys";

/** A whole answer to the key's own caller. */
function answeredQuestions({ keyQuestions }: RecordHistory, method: KeyQuestion["method"]): readonly KeyQuestion[] {
  return keyQuestions.filter(
    ({ method: asked, isStranger, ending }) =>
      asked === method && !isStranger && ending.kind === "answer" && ending.complete,
  );
}

function wasGivenUp({ ending }: KeyQuestion): boolean {
  return ending.kind === "answer" && ending.status === 204;
}

/** After the 204 no attempt of the key starts as long as the key is known to be given up. */
export function attemptsStayAway(_world: World, record: RecordHistory): readonly Violation[] {
  return answeredQuestions(record, "DELETE")
    .filter(wasGivenUp)
    .flatMap((question) => {
      const until = Math.min(question.sentAt + record.policy.retentionMs, forgottenFrom(record, question.sentAt));
      return record.arrivals
        .filter(({ at }) => at > question.endAt && at < until)
        .map((arrival) => ({
          rule: GIVEN_UP,
          what: `an attempt started ${arrival.at - question.endAt} ms after the key was given up`,
          evidence: naming(question, arrival),
        }));
    });
}

/** The attempts that began before `by`, of which the gateway must know at `at` that they may have acted. */
function mayHaveActed(world: World, record: RecordHistory, by: number, at: number): readonly Arrival[] {
  return record.arrivals.filter((arrival) => {
    if (arrival.at >= by || isRefused(world, arrival) || livesUntil(world, record, arrival) <= at) return false;
    // A person or the origin has said since that it did not act.
    const isReleased = record.decisions.some(
      (one) => one.action !== "resolve" && mayHaveChanged(one) && one.endAt >= arrival.at && one.sentAt <= at,
    );
    return !isReleased && absence(world, record, arrival, { at }) === undefined;
  });
}

/** A key is not given up beside an attempt that is in flight or may have acted. */
export function givenUpHadNoEffect(world: World, record: RecordHistory): readonly Violation[] {
  return answeredQuestions(record, "DELETE")
    .filter(wasGivenUp)
    .flatMap((question) =>
      mayHaveActed(world, record, question.endAt, question.endAt).map((arrival) => ({
        rule: GIVEN_UP,
        what: "the key was given up, although an attempt may have acted",
        evidence: naming(question, arrival),
      })),
    );
}

/** In reports and in problems, `safeNewKey: true` is so. What begins at the same time belongs to other requests with the key. */
export function newKeysAreSafe(world: World, record: RecordHistory): readonly Violation[] {
  const questions = answeredQuestions(record, "GET").filter(({ report }) => report?.safeNewKey === true);
  const problems = [...record.exchanges, ...record.looks].filter(
    ({ ending }) => ending.kind === "answer" && ending.safeNewKey === true,
  );
  return [...questions, ...problems].flatMap((said) =>
    mayHaveActed(world, record, said.sentAt, said.endAt).map((arrival) => ({
      rule: SAFE,
      what: "a client was told that a new key is safe, although an attempt may have acted",
      evidence: naming(said, arrival),
    })),
  );
}

/** An operation that was begun afresh with a new key has no effect with the old one: not before, and not after. */
export function newKeysNeverDouble(world: World, record: RecordHistory): readonly Violation[] {
  const { retentionMs } = record.policy;
  return record.newKeys.flatMap(({ to, why, at }) => {
    // A key that was given up is held back as long as records are kept, or until an operator forgets it.
    const asked = record.keyQuestions.findLast((one) => wasGivenUp(one) && one.endAt <= at);
    const heldUntil = Math.min((asked?.sentAt ?? at) + retentionMs, forgottenFrom(record, asked?.sentAt ?? at));
    const until = why === "safe" ? Infinity : heldUntil;
    return record.effects.flatMap((effect) => {
      const arrival = world.arrival(effect.arrival);
      if (effect.at >= until || arrival === undefined) return [];
      if (livesUntil(world, record, arrival) <= at && effect.at < at) return [];
      if (absence(world, record, arrival, { at }) !== undefined) return [];
      const isReleased = record.decisions.some((one) => one.action !== "resolve" && mayHaveChanged(one));
      if (isReleased) return [];
      const what = `the operation was begun afresh with the key ${to}, and the old key has an effect, ${effect.at - at} ms later`;
      return [{ rule: "a new key never doubles", what, evidence: naming(arrival) }];
    });
  });
}

/** What a report says of the key is so, as far as that can be known from outside. */
export function trueReports(world: World, record: RecordHistory): readonly Violation[] {
  return answeredQuestions(record, "GET").flatMap((question) => {
    const what = untruth(world, record, question);
    return what === null ? [] : [{ rule: REPORTS, what, evidence: naming(question) }];
  });
}

function untruth(world: World, record: RecordHistory, question: KeyQuestion): string | null {
  const { sentAt, endAt, ending, report } = question;
  if (ending.kind === "none") return null;
  const known = record.arrivals.filter((arrival) => arrival.at < sentAt && livesUntil(world, record, arrival) > endAt);
  if (report === null) {
    switch (ending.code ?? "") {
      case "key-not-known":
        return known.length === 0 ? null : "key-not-known, although an attempt of the key had begun";
      case "store-unavailable":
      case "identity-unavailable":
        return wasBroken(world, sentAt, endAt) ? null : `${ending.code}, although no fault was active`;
      default:
        return `unexpected answer to a look-up: ${ending.status} ${ending.code ?? ""}`;
    }
  }
  const { state, next, safeNewKey, status } = report;
  if (safeNewKey !== (state === "not-done" || state === "abandoned"))
    return `state ${state} with safeNewKey: ${safeNewKey}`;
  if (known.some((arrival) => answeredAt(world, record, arrival) < sentAt) && state !== "completed")
    return `state ${state}, although a client had the result`;
  switch (state) {
    case "completed":
      return status === null || statusesOf(record).has(status)
        ? null
        : `status ${status}, which no answer of the key had`;
    case "unknown": {
      const wanted = { hold: "ask-operator", verify: "wait", retry: "send-same" }[record.policy.unknown];
      // A request that cannot be asked about waits for a person.
      const isHeld = record.policy.unknown === "verify" && next === "ask-operator";
      return next === wanted || isHeld
        ? null
        : `state unknown, and next: ${next} with unknown = "${record.policy.unknown}"`;
    }
    case "abandoned":
      return givenUpFrom(record) < endAt ? null : "abandoned, although no client has given the key up";
    case "expired":
      return record.policy.rememberMs === undefined ? "expired on a route that remembers no keys" : null;
    case "in-flight":
    case "not-done":
      return null;
    default:
      return `a state that the contract does not name: ${state}`;
  }
}

function statusesOf({ arrivals, verifications, decisions }: RecordHistory): ReadonlySet<number | null> {
  return new Set([
    ...arrivals.map(({ status }) => status),
    ...[...verifications, ...decisions].map((one) => settledAnswer(one).status),
  ]);
}

/** Another caller gets what anybody gets for an unused key, and cannot give it up. */
export function questionsLearnNothing(world: World, { keyQuestions }: RecordHistory): readonly Violation[] {
  const rule = "G7 nobody else's answer";
  const asked = keyQuestions.filter(({ isStranger }) => isStranger);
  const told = asked.flatMap((question) => {
    const { ending, sentAt, endAt } = question;
    if (ending.kind === "none" || !ending.complete || ending.code === "key-not-known") return [];
    const isAway = ending.code === "store-unavailable" || ending.code === "identity-unavailable";
    if (isAway && wasBroken(world, sentAt, endAt)) return [];
    const what = `a stranger who asked about the key got ${ending.status} ${ending.code ?? ""}`;
    return [{ rule, what, evidence: naming(question) }];
  });
  const digests = new Set(
    asked.flatMap(({ ending }) =>
      ending.kind === "answer" && ending.complete && ending.code === "key-not-known" ? [ending.sha256] : [],
    ),
  );
  if (digests.size <= 1) return told;
  return [...told, { rule, what: `strangers got ${digests.size} different answers about a key`, evidence: [] }];
}
