// What the origin alone can tell: G1 one at a time, G3 claim before call, G6 never two by guess.

import type { Arrival, Decision, Question } from "../history.ts";
import {
  busyUntil,
  claimedFrom,
  isRefused,
  isResult,
  livesUntil,
  mayHaveChanged,
  naming,
  neighbours,
  printOf,
} from "./facts.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/**
 * The end of a connection that the gateway closed reaches the origin by itself, so it may be seen after the next request,
 * which comes by another connection.
 */
const CROSSING_MS = 250;
/** Requests up to this size are read whole before anything is claimed, on every route. */
const WHOLE_BODY_BYTES = 1 << 20;

/** G1: an arrival is over before the next one comes. */
export function oneAtATime(world: World, { arrivals }: RecordHistory): readonly Violation[] {
  const violations: Violation[] = [];
  let busiest: Arrival | null = null;
  for (const arrival of arrivals) {
    if (busiest !== null) {
      const overlapMs = busyUntil(world, busiest) - arrival.at;
      if (overlapMs > (busiest.lastAt === null ? CROSSING_MS : 0)) {
        const what = `two attempts were at the origin at once, for ${overlapMs} ms`;
        violations.push({ rule: "G1 one at a time", what, evidence: naming(busiest, arrival) });
      }
    }
    if (busiest === null || busyUntil(world, arrival) > busyUntil(world, busiest)) busiest = arrival;
  }
  return violations;
}

/**
 * G3: the claim is durable before the origin sees anything, so an attempt that was seen is never forgotten: as long as its
 * record lives, later ones have higher numbers, also after a crash. And nothing is claimed that did not come whole.
 */
export function claimBeforeCall(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G3 claim before call";
  const violations: Violation[] = [];
  for (const [earlier, later] of neighbours(record.arrivals)) {
    if (later.at >= livesUntil(world, record, earlier)) continue;
    if ((later.attempt ?? 0) > (earlier.attempt ?? 0)) continue;
    const what = `attempt ${later.attempt} came after attempt ${earlier.attempt} of the same record`;
    violations.push({ rule, what, evidence: naming(earlier, later) });
  }
  for (const arrival of record.arrivals) {
    const cause = world.exchange(arrival.request);
    const evidence = naming(arrival);
    if (cause === undefined) violations.push({ rule, what: "the origin got a request that no client sent", evidence });
    else if (cause.partial && !(record.policy.comparesNone && cause.bytes > WHOLE_BODY_BYTES))
      violations.push({ rule, what: "a request that did not come whole was forwarded", evidence });
    else if (cause.partial && arrival.bodySha256 !== null)
      violations.push({ rule, what: "a part of a request passed for all of it", evidence });
    else if (arrival.bodySha256 !== null && arrival.bodySha256 !== cause.bodySha256)
      violations.push({ rule, what: "the origin got another body than the client's", evidence });
    else if (cause.key !== record.key || cause.scope !== record.scope || cause.path !== arrival.path)
      violations.push({ rule, what: "the origin got another request than the client's", evidence });
    if (!arrival.hasKey) violations.push({ rule, what: "the key was not forwarded", evidence });
    if (arrival.attempt === null) violations.push({ rule, what: "no attempt number was forwarded", evidence });
  }
  return violations;
}

/**
 * G6: after an attempt that may have acted, `hold` starts none, `retry` none before the lock has ended, and `verify` none
 * before the origin has said that it did not. Where an operator has let the next one in, it waits for the lock as well.
 */
export function neverTwoByGuess(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G6 never two by guess";
  const { unknown, lockMs } = record.policy;
  return neighbours(record.arrivals).flatMap(([earlier, later]) => {
    if (isRefused(world, earlier)) return [];
    const evidence = naming(earlier, later);
    const beforeLock = claimedFrom(world, earlier) + lockMs - later.at;
    const earlyMs = livesUntil(world, record, earlier) - later.at;
    const wasChanged = record.decisions.some((decision) => isBetween(world, decision, earlier, later));
    if (unknown === "retry" || (wasChanged && !isResult(world, earlier))) {
      const what = `${unknown}: the next attempt came ${beforeLock} ms before the lock's end`;
      return beforeLock > 0 ? [{ rule, what, evidence }] : [];
    }
    if (wasChanged || earlyMs <= 0) return [];
    if (unknown === "hold") {
      const what = `hold: another attempt after one that may have acted, ${earlyMs} ms before its record may expire`;
      return [{ rule, what, evidence }];
    }
    if (absence(world, record, earlier, later) !== undefined) return [];
    const isForeign = record.questions.some((question) => saysAbsent(question) && question.at <= later.at);
    const what = isForeign
      ? "verify: another attempt, and the origin said only to others, or before the lock's end, that it knows of none"
      : "verify: another attempt, and the origin never said that it knows of none";
    return [{ rule, what, evidence }];
  });
}

/** A change by which an operator may have let the later one in. */
function isBetween(world: World, decision: Decision, earlier: Arrival, later: Arrival): boolean {
  if (decision.action === "resolve" || !mayHaveChanged(decision)) return false;
  return decision.endAt >= claimedFrom(world, earlier) && decision.sentAt <= later.at;
}

function saysAbsent({ status, effect }: Question): boolean {
  return status === 404 && effect === null;
}

/** What the origin said to who began the attempt, after its lock: that it knows of no effect. */
function absence(world: World, record: RecordHistory, earlier: Arrival, later: Arrival): Question | undefined {
  const lockEnd = claimedFrom(world, earlier) + record.policy.lockMs;
  return record.questions.find(
    (question) =>
      saysAbsent(question) &&
      question.credential === earlier.credential &&
      question.at >= lockEnd &&
      question.at <= later.at,
  );
}

/** G6: with `hold` and `verify`, a key has one effect as long as it is remembered. */
export function oneEffect(world: World, record: RecordHistory): readonly Violation[] {
  const { unknown } = record.policy;
  if (unknown === "retry") return [];
  return record.effects.flatMap((effect, at) => {
    const before = record.effects[at - 1];
    if (before === undefined) return [];
    const [one, two] = [world.arrival(before.arrival), world.arrival(effect.arrival)];
    if (one === undefined || two === undefined || one.seq === two.seq) return [];
    const [earlier, later] = one.at < two.at ? [one, two] : [two, one];
    if (later.at >= livesUntil(world, record, earlier)) return [];
    if (record.decisions.some((decision) => isBetween(world, decision, earlier, later))) return [];
    // An origin that acts after it has said that it did not, has itself to blame.
    const absentAt = absence(world, record, earlier, later)?.at ?? Infinity;
    if (before.at > absentAt) return [];
    return [{ rule: "G6 one effect", what: `${unknown}: a key had two effects`, evidence: naming(one, two) }];
  });
}

/** Whoever said that the outcome is unknown stands by it: with `hold`, nothing starts any more while the record lives. */
export function unknownStays(_world: World, record: RecordHistory): readonly Violation[] {
  const { unknown: policy, lockMs, retentionMs } = record.policy;
  const [first] = record.exchanges;
  const unknown = record.exchanges.find(({ ending }) => ending.kind === "answer" && ending.code === "outcome-unknown");
  if (first === undefined || unknown === undefined || policy !== "hold") return [];
  // No record of this key is older than its first request.
  const livesTo = first.sentAt + lockMs + retentionMs;
  const changed = record.decisions.filter((one) => one.action !== "resolve" && mayHaveChanged(one));
  const changedFrom = Math.min(Infinity, ...changed.map(({ sentAt }) => sentAt));
  return record.arrivals
    .filter((arrival) => arrival.at > unknown.endAt && arrival.at < Math.min(livesTo, changedFrom))
    .map((arrival) => ({
      rule: "G6 never two by guess",
      what: "an attempt started after a client had been told that the outcome is unknown",
      evidence: naming(unknown, arrival),
    }));
}

/** A record belongs to one request: nothing else starts under its key. */
export function noOtherRequest(world: World, record: RecordHistory): readonly Violation[] {
  return neighbours(record.arrivals)
    .filter(([earlier, later]) => later.at < livesUntil(world, record, earlier))
    .filter(([earlier, later]) => printOf(world, earlier) !== printOf(world, later))
    .map(([earlier, later]) => ({
      rule: "mismatch",
      what: "another request was forwarded under a key that is in use",
      evidence: naming(earlier, later),
    }));
}
