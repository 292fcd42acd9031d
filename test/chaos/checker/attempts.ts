// What the origin alone can tell: G1 one at a time, G3 claim before call, G6 never two by guess.

import type { Arrival } from "../history.ts";
import { busyUntil, claimedFrom, isRefused, livesUntil, naming, neighbours, printOf } from "./facts.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/**
 * The end of a connection that the gateway closed reaches the origin by itself, so it may be seen after the next request,
 * which comes by another connection.
 */
const CROSSING_MS = 250;

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
    else if (cause.partial)
      violations.push({ rule, what: "a request that did not come whole was forwarded", evidence });
    else if (cause.key !== record.key || cause.scope !== record.scope || cause.path !== arrival.path)
      violations.push({ rule, what: "the origin got another request than the client's", evidence });
    if (!arrival.hasKey) violations.push({ rule, what: "the key was not forwarded", evidence });
    if (arrival.attempt === null) violations.push({ rule, what: "no attempt number was forwarded", evidence });
  }
  return violations;
}

/** G6: after an attempt that may have acted, `hold` starts none, and `retry` none before the lock has ended. */
export function neverTwoByGuess(world: World, record: RecordHistory): readonly Violation[] {
  const rule = "G6 never two by guess";
  const violations: Violation[] = [];
  for (const [earlier, later] of neighbours(record.arrivals)) {
    if (isRefused(world, earlier)) continue;
    const evidence = naming(earlier, later);
    if (record.policy.unknown === "hold") {
      const earlyMs = livesUntil(world, record, earlier) - later.at;
      if (earlyMs <= 0) continue;
      const what = `hold: another attempt after one that may have acted, ${earlyMs} ms before its record may expire`;
      violations.push({ rule, what, evidence });
    } else {
      const earlyMs = claimedFrom(world, earlier) + record.policy.lockMs - later.at;
      if (earlyMs <= 0) continue;
      violations.push({ rule, what: `retry: the next attempt came ${earlyMs} ms before the lock's end`, evidence });
    }
  }
  return violations;
}

/** G6: with `hold`, a key has one effect as long as it is remembered. */
export function oneEffect(world: World, record: RecordHistory): readonly Violation[] {
  if (record.policy.unknown !== "hold") return [];
  return record.effects.flatMap((effect, at) => {
    const before = record.effects[at - 1];
    const [one, two] = [
      before === undefined ? undefined : world.arrival(before.arrival),
      world.arrival(effect.arrival),
    ];
    if (one === undefined || two === undefined || one.seq === two.seq) return [];
    if (Math.max(one.at, two.at) >= livesUntil(world, record, one.at < two.at ? one : two)) return [];
    return [{ rule: "G6 one effect", what: "hold: a key had two effects", evidence: naming(one, two) }];
  });
}

/** Whoever said that the outcome is unknown stands by it: with `hold`, nothing starts any more while the record lives. */
export function unknownStays(_world: World, record: RecordHistory): readonly Violation[] {
  const { lockMs, retentionMs } = record.policy;
  const [first] = record.exchanges;
  const unknown = record.exchanges.find(({ ending }) => ending.kind === "answer" && ending.code === "outcome-unknown");
  if (first === undefined || unknown === undefined) return [];
  // No record of this key is older than its first request.
  const livesTo = first.sentAt + lockMs + retentionMs;
  return record.arrivals
    .filter((arrival) => arrival.at > unknown.endAt && arrival.at < livesTo)
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
