// G8 nothing wedges: everything unsettled has a deadline, and alarms erase what is past it.

import type { Arrival, Exchange } from "./history.ts";
import { claimedFrom, naming } from "./facts.ts";
import { ranFor, wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

const RULE = "G8 nothing wedges";

/** What a busy machine may add to a deadline. */
const LATE_MS = 1_500;
/** How long an exchange with the origin may take in the final phase. */
const CALM_MS = 2_000;

/** A gateway that runs drops no connection and leaves none without an answer. */
export function everybodyIsAnswered(world: World, record: RecordHistory): readonly Violation[] {
  return record.exchanges.flatMap((exchange) => {
    const { ending, sentAt, endAt } = exchange;
    if (ending.kind === "answer" || ending.why === "left") return [];
    if (ending.why === "patience") {
      const ranMs = ranFor(world, sentAt, endAt);
      if (ranMs <= record.policy.timeoutMs + record.policy.waitMs + CALM_MS + LATE_MS) return [];
      const what = `no answer within ${endAt - sentAt} ms, in ${ranMs} of which nothing stood still`;
      return [{ rule: RULE, what, evidence: naming(exchange) }];
    }
    if (wasBroken(world, sentAt, endAt, ["killed"])) return [];
    // When a body breaks off right after its start, the head may be lost with it.
    const broke = (arrival: Arrival): boolean => brokeOff(arrival) || isGivenUp(world, record, arrival);
    if (record.arrivals.some((arrival) => broke(arrival) && isDuring(arrival, sentAt, endAt))) return [];
    return [
      { rule: RULE, what: "the connection was lost, although the gateway was not killed", evidence: naming(exchange) },
    ];
  });
}

function brokeOff({ headAt, lastAt }: Arrival): boolean {
  return headAt !== null && lastAt === null;
}

/** A gateway that was stopped may time a body out when it continues, although the origin sent the body in time. */
function isGivenUp(world: World, { policy }: RecordHistory, { headAt, lastAt }: Arrival): boolean {
  if (headAt === null || lastAt === null) return false;
  return wasBroken(world, headAt, lastAt + policy.idleTimeoutMs, ["lag", "stopped", "slow-disk"]);
}

function isDuring({ at, closedAt }: Arrival, from: number, to: number): boolean {
  return at <= to && closedAt + LATE_MS >= from;
}

/** An `in-flight` answer needs a cause: a running attempt, or one whose lock has not ended. */
export function inFlightHasACause(world: World, record: RecordHistory): readonly Violation[] {
  const causes = [
    ...record.arrivals.map((arrival) => ({ from: claimedFrom(world, arrival), to: arrival.closedAt })),
    ...record.exchanges.filter(mayHaveClaimed).map(({ sentAt, endAt }) => ({ from: sentAt, to: endAt })),
  ].map(({ from, to }) => ({ from, to: prolonged(world, from, to, record.policy.lockMs) }));
  return record.exchanges.flatMap((exchange) => {
    const { ending, sentAt, endAt } = exchange;
    if (ending.kind === "none" || ending.code !== "in-flight") return [];
    if (causes.some(({ from, to }) => from <= endAt && sentAt <= to + LATE_MS)) return [];
    if (mayBeTried(world, record, sentAt, endAt)) return [];
    return [{ rule: RULE, what: "answered in-flight, although every lock had ended", evidence: naming(exchange) }];
  });
}

/** Whether the gateway may have claimed an attempt of an accepted request by itself, and was killed before its call reached the origin. */
function mayBeTried(world: World, { policy, exchanges }: RecordHistory, sentAt: number, endAt: number): boolean {
  const isAccepted = exchanges.some(
    (one) => one.ending.kind === "answer" && one.ending.monitor !== null && one.endAt <= endAt,
  );
  return isAccepted && wasBroken(world, sentAt - policy.lockMs - LATE_MS, endAt, ["killed"]);
}

/** Whether the exchange may have made a claim whose call never reached the origin. */
function mayHaveClaimed({ ending, partial }: Exchange): boolean {
  if (partial) return false;
  return ending.kind === "none" || ending.left || (ending.code?.startsWith("origin-") ?? false);
}

/** When the lock of an attempt that ended at `to` ends. A gateway that was stopped renews the lock when it continues. */
function prolonged(world: World, from: number, to: number, lockMs: number): number {
  let end = to;
  for (const { kind, from: start, to: over } of world.outages) {
    if (kind !== "origin-refuses" && over >= from && start <= end + lockMs) end = Math.max(end, over);
  }
  return end + lockMs;
}

/** G8: a duplicate waits no longer than `wait`, however many others wait too. */
export function waitingEnds(world: World, { policy, exchanges }: RecordHistory): readonly Violation[] {
  const waitMs = policy.duplicate === "reject" ? 0 : policy.waitMs;
  return exchanges.flatMap((exchange) => {
    const { ending, sentAt, endAt } = exchange;
    if (ending.kind === "none" || ending.code !== "in-flight") return [];
    const lateMs = endAt - sentAt - waitMs;
    if (lateMs <= LATE_MS || wasBroken(world, sentAt, endAt)) return [];
    const what = `in-flight came ${lateMs} ms after the wait of ${waitMs} ms was over`;
    return [{ rule: "G8 nothing wedges", what, evidence: naming(exchange) }];
  });
}

/** In the final phase every key is settled as soon as its lock can have ended. */
export function everyKeySettles(world: World, record: RecordHistory): readonly Violation[] {
  // No client asks for the record of a message (deliveries.ts).
  if (record.deliveries.length > 0) return [];
  // Nothing more is sent with it.
  if (record.newKeys.some(({ why }) => why === "safe")) return [];
  const calm = record.exchanges.filter((exchange) => exchange.calm);
  const [first] = calm;
  const last = calm.at(-1);
  if (first === undefined || last === undefined) {
    const evidence = record.exchanges.slice(0, 1).map(({ id }) => id);
    return [{ rule: RULE, what: "the run ended before the key was requested in the final phase", evidence }];
  }
  const settled = calm.find((exchange) => isSettled(world, record, exchange));
  const { lockMs, waitMs, timeoutMs, settleMs = 0 } = record.policy;
  const boundMs = lockMs + waitMs + timeoutMs + settleMs + CALM_MS + LATE_MS;
  if (settled === undefined) {
    const what = `the key was not settled in the final phase, after ${last.endAt - first.sentAt} ms`;
    return [{ rule: RULE, what, evidence: naming(first, last) }];
  }
  // After an attempt that timed out (a large upload on a busy machine), the time counts anew.
  const began = calm.findLast((one) => endedInTime(one) && one.endAt < settled.endAt) ?? first;
  const tookMs = settled.endAt - began.sentAt;
  // On a busy machine more attempts time out.
  if (wasBroken(world, began.sentAt, settled.endAt)) return [];
  if (tookMs <= boundMs) return [];
  const what = `the key was settled after ${tookMs} ms, expected at most ${boundMs} ms`;
  return [{ rule: RULE, what, evidence: naming(began, settled) }];
}

/** Whether the route's timeout ended the attempt that this request began. */
function endedInTime({ ending }: Exchange): boolean {
  return ending.kind === "answer" && ending.code === "origin-timeout";
}

function isSettled(world: World, { policy, exchanges, effects, undone }: RecordHistory, { ending }: Exchange): boolean {
  if (ending.kind === "none" || !ending.complete) return false;
  if (ending.origin !== null) {
    return !world.meta.refused.includes(ending.status) && !world.meta.ambiguous.includes(ending.status);
  }
  switch (ending.code ?? "") {
    case "response-not-kept":
    case "key-expired":
    case "key-abandoned":
      return true;
    case "outcome-unknown":
      // A state that was undone, or stands there twice, says neither.
      return policy.unknown === "hold" || (policy.settleMs !== undefined && undone.length + effects.length > 1);
    case "key-reused":
      return exchanges.some(({ fingerprint }) => fingerprint !== "first");
    default:
      return false;
  }
}

/** Alarms finish what no request asks for: nothing overdue is left on the disk. */
export function alarmsFire({ ledger }: World): readonly Violation[] {
  if (ledger === null) return [{ rule: RULE, what: "the history has no look at the disk", evidence: [] }];
  const violations: Violation[] = [];
  const { overdue, orphans, strays, unread } = ledger;
  if (unread > 0) violations.push({ rule: RULE, what: `${unread} shard databases could not be read`, evidence: [] });
  if (overdue > 0) violations.push({ rule: RULE, what: `${overdue} records on the disk are overdue`, evidence: [] });
  if (orphans > 0)
    violations.push({ rule: RULE, what: `${orphans} bodies on the disk belong to no record`, evidence: [] });
  if (strays.length > 0) {
    violations.push({
      rule: RULE,
      what: `${strays.length} bodies in the bucket are known to no shard`,
      evidence: strays,
    });
  }
  return violations;
}

export function gatewayLives({ deaths }: World): readonly Violation[] {
  return deaths.map(({ at, output }) => ({
    rule: RULE,
    what: `the gateway's process ended without being killed: ${output}`,
    evidence: [`at ${at}`],
  }));
}
