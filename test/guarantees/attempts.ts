// Rules that are checked at the origin: G1 one at a time, G3 claim before call, G6 never two by guess, shared refusals.

import type { Arrival, Decision, Exchange, Verification } from "./history.ts";
import {
  absentFrom,
  busyUntil,
  claimedFrom,
  isRefused,
  isResult,
  livesUntil,
  mayHaveChanged,
  naming,
  neighbours,
  fingerprintOf,
  saysAbsent,
  mayFollow,
} from "./facts.ts";
import { wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/**
 * When the gateway closes a connection, the origin may notice it after the next request has arrived on another
 * connection.
 */
const CROSSING_MS = 250;
/** Requests up to this size are read whole before anything is claimed, on every route. */
const WHOLE_BODY_BYTES = 1 << 20;
/** A small request has reached its shard by then. */
const THERE_MS = 150;
const SMALL_BYTES = 100_000;

/** G1: an attempt is over before the next one reaches the origin. */
export function oneAtATime(world: World, { arrivals }: RecordHistory): readonly Violation[] {
  const violations: Violation[] = [];
  let busiest: Arrival | null = null;
  for (const arrival of arrivals) {
    if (busiest !== null) {
      const overlapMs = busyUntil(world, busiest) - arrival.at;
      if (overlapMs > (busiest.lastAt === null ? CROSSING_MS : 0)) {
        const what = `two attempts were at the origin at the same time, for ${overlapMs} ms`;
        violations.push({ rule: "G1 one at a time", what, evidence: naming(busiest, arrival) });
      }
    }
    if (busiest === null || busyUntil(world, arrival) > busyUntil(world, busiest)) busiest = arrival;
  }
  return violations;
}

/**
 * G3: the claim is durable before the origin sees anything, so an attempt that the origin saw is never forgotten. As long
 * as its record lives, later attempts have higher numbers, also after a crash. Incomplete requests are not forwarded.
 */
export function claimBeforeCall(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G3 claim before call";
  const violations: Violation[] = [];
  for (const [earlier, later] of neighbours(record.arrivals)) {
    if (later.at >= livesUntil(world, record, earlier)) continue;
    if ((later.attempt ?? 0) > (earlier.attempt ?? 0)) continue;
    const what = `expected an attempt number above ${earlier.attempt}, but the next attempt has ${later.attempt}`;
    violations.push({ rule, what, evidence: naming(earlier, later) });
  }
  for (const arrival of record.arrivals) {
    const cause = world.cause(arrival.request);
    const evidence = naming(arrival);
    if (cause === undefined)
      violations.push({ rule, what: `the origin got request ${arrival.request}, which nobody sent`, evidence });
    else if (cause.partial && !(record.policy.comparesNone && cause.bytes > WHOLE_BODY_BYTES))
      violations.push({ rule, what: `request ${cause.id} was sent only in part, but it was forwarded`, evidence });
    else if (cause.partial && arrival.bodySha256 !== null)
      violations.push({
        rule,
        what: `request ${cause.id} was sent only in part, but the origin got it as complete`,
        evidence,
      });
    else if (arrival.bodySha256 !== null && arrival.bodySha256 !== cause.bodySha256)
      violations.push({ rule, what: `the origin got a different body than request ${cause.id} had`, evidence });
    else if (cause.key !== record.key || cause.scope !== record.scope || cause.path !== arrival.path)
      violations.push({
        rule,
        what: `the origin got a different key, caller or path than request ${cause.id} had`,
        evidence,
      });
    if (!arrival.hasKey) violations.push({ rule, what: "the origin did not get the Idempotency-Key", evidence });
    if (arrival.attempt === null)
      violations.push({ rule, what: "the origin did not get an Idempotency-Attempt", evidence });
  }
  return violations;
}

/**
 * G6: after an attempt that may have acted, `hold` starts no other, `retry` none before the lock has ended, and `verify`
 * none before the origin has said that it did not act. An attempt that an operator allows also waits for the lock.
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
    // A result ends the lock, so an operator may have erased its record at once.
    if (wasChanged && isResult(world, earlier)) return [];
    if (unknown === "retry" || wasChanged) {
      const what = `${unknown}: the next attempt started ${beforeLock} ms before the lock ended`;
      return beforeLock > 0 ? [{ rule, what, evidence }] : [];
    }
    if (earlyMs <= 0) return [];
    if (unknown === "hold") {
      const what = `hold: a second attempt started after one that may have acted, ${earlyMs} ms before the record may expire`;
      return [{ rule, what, evidence }];
    }
    if (absence(world, record, earlier, later) !== undefined) return [];
    const isForeign = record.verifications.some(
      (verification) => saysAbsent(verification) && verification.at <= later.at,
    );
    const what = isForeign
      ? "verify: a second attempt started, but the origin reported no effect only too early, to other credentials, or against its journal"
      : "verify: a second attempt started, but the origin never reported that there is no effect";
    return [{ rule, what, evidence }];
  });
}

/** Whether the decision may have allowed the later attempt. */
function isBetween(world: World, decision: Decision, earlier: Arrival, later: Arrival): boolean {
  if (decision.action === "resolve" || !mayHaveChanged(decision)) return false;
  return decision.endAt >= claimedFrom(world, earlier) && decision.sentAt <= later.at;
}

/**
 * The origin's report of no effect, to the credential that began the attempt, after the lock and the time in which reads may lag. Nothing that the
 * attempt did before that time can be hidden from it.
 */
export function absence(
  world: World,
  record: RecordHistory,
  earlier: Arrival,
  later: Pick<Arrival, "at">,
): Verification | undefined {
  const from = absentFrom(world, record, earlier);
  const { settleMs = 0 } = record.policy;
  return record.verifications.find(
    (verification) =>
      saysAbsent(verification) &&
      verification.credential === earlier.credential &&
      verification.at >= from &&
      verification.at <= later.at &&
      !record.effects.some(({ arrival, at }) => arrival === earlier.seq && at <= verification.at - settleMs),
  );
}

/** G6: with `hold` and `verify`, a key has at most one effect as long as its record lives. */
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
    // An origin that acts after it has reported no effect causes the second effect itself.
    const absentAt = absence(world, record, earlier, later)?.at ?? Infinity;
    if (before.at > absentAt - (record.policy.settleMs ?? 0)) return [];
    return [{ rule: "G6 one effect", what: `${unknown}: the key had two effects`, evidence: naming(one, two) }];
  });
}

/**
 * With `hold`, no attempt starts after the gateway has answered outcome-unknown, as long as the record lives: that is longer than
 * its retention, unless the attempt has been settled since.
 */
export function unknownStays(_world: World, record: RecordHistory): readonly Violation[] {
  const { unknown: policy, lockMs, retentionMs, unknownRetentionMs } = record.policy;
  const [first] = record.exchanges;
  if (first === undefined || policy !== "hold") return [];
  // No record of this key is older than its first request.
  const livesTo = first.sentAt + lockMs + unknownRetentionMs;
  const changed = record.decisions.filter((one) => one.action !== "resolve" && mayHaveChanged(one));
  const changedFrom = Math.min(Infinity, ...changed.map(({ sentAt }) => sentAt));
  return record.exchanges
    .filter(({ ending }) => ending.kind === "answer" && ending.code === "outcome-unknown")
    .flatMap((unknown) => {
      const until = Math.min(livesTo, changedFrom, unknown.sentAt + retentionMs);
      return record.arrivals
        .filter((arrival) => arrival.at > unknown.endAt && arrival.at < until)
        .map((arrival) => ({
          rule: "G6 never two by guess",
          what: `hold: an attempt started after ${unknown.id} was answered outcome-unknown`,
          evidence: naming(unknown, arrival),
        }));
    });
}

/**
 * With `remember`, no attempt starts after one that may have acted until the key is forgotten, by time or by an operator, also when
 * the record has long expired.
 */
export function keysAreRemembered(world: World, record: RecordHistory): readonly Violation[] {
  const { unknown, rememberMs } = record.policy;
  if (rememberMs === undefined || unknown !== "hold") return [];
  return neighbours(record.arrivals).flatMap(([earlier, later]) => {
    if (isRefused(world, earlier) || later.at >= claimedFrom(world, earlier) + rememberMs) return [];
    if (record.decisions.some((decision) => isBetween(world, decision, earlier, later))) return [];
    const what = `an attempt started ${later.at - earlier.at} ms after one that may have acted, and the key is remembered`;
    return [{ rule: "G6 one effect", what, evidence: naming(earlier, later) }];
  });
}

/**
 * A record belongs to one request: no different request is forwarded under its key, unless its route takes others after a
 * refusal, or after an operator has said that nothing took effect.
 */
export function noOtherRequest(world: World, record: RecordHistory): readonly Violation[] {
  return neighbours(record.arrivals)
    .filter(([earlier, later]) => later.at < livesUntil(world, record, earlier))
    .filter(([earlier, later]) => !mayFollow(world, record, earlier, later.at))
    .filter(([earlier, later]) => fingerprintOf(world, earlier) !== fingerprintOf(world, later))
    .map(([earlier, later]) => ({
      rule: "mismatch",
      what: "a different request was forwarded under a key that is in use",
      evidence: naming(earlier, later),
    }));
}

/** Every duplicate that waited when the origin refused gets that refusal, whatever its size: an overloaded origin is spared. */
export function refusalsAreShared(world: World, record: RecordHistory): readonly Violation[] {
  if (record.policy.duplicate === "reject") return [];
  return neighbours(record.arrivals).flatMap(([refused, next]) => {
    const cause = world.exchange(next.request);
    // Who is told of an accepted request does not wait for its attempts.
    if (
      cause === undefined ||
      record.policy.acceptedAttempts !== undefined ||
      !isRefused(world, refused) ||
      !waitedFor(record, refused, cause)
    )
      return [];
    if (wasBroken(world, cause.sentAt, next.at)) return [];
    const what = `expected ${cause.id} to share the refusal that it waited for, but it called the origin again`;
    return [{ rule: "shared refusals", what, evidence: naming(refused, next) }];
  });
}

/** A refusal is settled by its head: a request that arrives during its body starts a new attempt. */
function waitedFor({ policy }: RecordHistory, { at, headAt, request }: Arrival, cause: Exchange): boolean {
  if (headAt === null || cause.id === request || cause.bytes > SMALL_BYTES) return false;
  const isThere = Math.max(at, cause.sentAt) + THERE_MS < headAt;
  return isThere && cause.sentAt + policy.waitMs > headAt + THERE_MS;
}
