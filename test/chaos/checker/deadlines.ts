// G8 nothing wedges: whatever is not settled has a deadline, and what is past it goes by itself.

import type { Arrival, Exchange } from "../history.ts";
import { claimedFrom, naming } from "./facts.ts";
import { wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

const RULE = "G8 nothing wedges";

/** What a busy machine may add to a deadline. */
const LATE_MS = 1_500;
/** The longest that the origin takes to answer in the final phase, with the client's own way. */
const CALM_MS = 2_000;

/** No connection is dropped or left without an answer by a gateway that runs. */
export function everybodyIsAnswered(world: World, record: RecordHistory): readonly Violation[] {
  return record.exchanges.flatMap((exchange) => {
    const { ending, sentAt, endAt } = exchange;
    if (ending.kind === "answer" || ending.why === "left") return [];
    if (ending.why === "patience") return [{ rule: RULE, what: "no answer came at all", evidence: naming(exchange) }];
    if (wasBroken(world, sentAt, endAt, ["killed"])) return [];
    // A body that breaks off when it has hardly begun can take the head with it, which was not yet on its way.
    const broke = (arrival: Arrival): boolean => brokeOff(arrival) || isGivenUp(world, record, arrival);
    if (record.arrivals.some((arrival) => broke(arrival) && isDuring(arrival, sentAt, endAt))) return [];
    return [
      { rule: RULE, what: "the connection was lost, and the gateway was not killed", evidence: naming(exchange) },
    ];
  });
}

function brokeOff({ headAt, lastAt }: Arrival): boolean {
  return headAt !== null && lastAt === null;
}

/** A gateway that stood still finds, when it goes on, that no byte has come for too long: the body is whole, and it broke off. */
function isGivenUp(world: World, { policy }: RecordHistory, { headAt, lastAt }: Arrival): boolean {
  if (headAt === null || lastAt === null) return false;
  return wasBroken(world, headAt, lastAt + policy.idleTimeoutMs, ["lag", "stopped", "slow-disk"]);
}

function isDuring({ at, closedAt }: Arrival, from: number, to: number): boolean {
  return at <= to && closedAt + LATE_MS >= from;
}

/** An answer `in-flight` has a cause: an attempt that runs, or one whose lock has not ended yet. */
export function inFlightHasACause(world: World, record: RecordHistory): readonly Violation[] {
  const causes = [
    ...record.arrivals.map((arrival) => ({ from: claimedFrom(world, arrival), to: arrival.closedAt })),
    ...record.exchanges.filter(mayHaveClaimed).map(({ sentAt, endAt }) => ({ from: sentAt, to: endAt })),
  ].map(({ from, to }) => ({ from, to: prolonged(world, from, to, record.policy.lockMs) }));
  return record.exchanges.flatMap((exchange) => {
    const { ending, sentAt, endAt } = exchange;
    if (ending.kind === "none" || ending.code !== "in-flight") return [];
    if (causes.some(({ from, to }) => from <= endAt && sentAt <= to + LATE_MS)) return [];
    return [{ rule: RULE, what: "in-flight, although every lock has ended", evidence: naming(exchange) }];
  });
}

/** Its answer, or that there was none, leaves room for a claim that never reached the origin. */
function mayHaveClaimed({ ending, partial }: Exchange): boolean {
  if (partial) return false;
  return ending.kind === "none" || ending.left || (ending.code?.startsWith("origin-") ?? false);
}

/** The end of the lock of what ended at `to`: a gateway that stood still renews a lock when it goes on. */
function prolonged(world: World, from: number, to: number, lockMs: number): number {
  let end = to;
  for (const { kind, from: start, to: over } of world.outages) {
    if (kind !== "origin-refuses" && over >= from && start <= end + lockMs) end = Math.max(end, over);
  }
  return end + lockMs;
}

/** In the final phase every key is settled, as soon as its lock can have ended. */
export function everyKeySettles(world: World, record: RecordHistory): readonly Violation[] {
  const calm = record.exchanges.filter((exchange) => exchange.calm);
  const [first] = calm;
  const last = calm.at(-1);
  if (first === undefined || last === undefined) {
    const evidence = record.exchanges.slice(0, 1).map(({ id }) => id);
    return [{ rule: RULE, what: "the run ended before the key was asked for once more", evidence }];
  }
  const settled = calm.find((exchange) => isSettled(world, record, exchange));
  const { lockMs, waitMs, timeoutMs } = record.policy;
  const boundMs = lockMs + waitMs + timeoutMs + CALM_MS + LATE_MS;
  if (settled === undefined) return [{ rule: RULE, what: "the key was never settled", evidence: naming(first, last) }];
  // An attempt that ran into its own deadline (a large upload on a busy machine) is another one's beginning.
  const began = calm.findLast((one) => endedInTime(one) && one.endAt < settled.endAt) ?? first;
  const tookMs = settled.endAt - began.sentAt;
  // A busy machine lets attempts time out that nothing else would stop; then there are more of them.
  if (wasBroken(world, began.sentAt, settled.endAt)) return [];
  if (tookMs <= boundMs) return [];
  return [{ rule: RULE, what: `the key was settled only after ${tookMs} ms`, evidence: naming(began, settled) }];
}

/** Whether the gateway says that the attempt which this very request began was ended by the route's timeout. */
function endedInTime({ ending }: Exchange): boolean {
  return ending.kind === "answer" && ending.code === "origin-timeout";
}

function isSettled(world: World, { policy, exchanges }: RecordHistory, { ending }: Exchange): boolean {
  if (ending.kind === "none" || !ending.complete) return false;
  if (ending.origin !== null) {
    return !world.meta.refused.includes(ending.status) && !world.meta.ambiguous.includes(ending.status);
  }
  switch (ending.code ?? "") {
    case "response-not-kept":
      return true;
    case "outcome-unknown":
      return policy.unknown === "hold";
    case "key-reused":
      return exchanges.some(({ print }) => print !== "first");
    default:
      return false;
  }
}

/** Alarms end what nobody asks for: nothing overdue is left on the disk. */
export function alarmsFire({ ledger }: World): readonly Violation[] {
  if (ledger === null) return [{ rule: RULE, what: "nobody looked at the disk", evidence: [] }];
  const violations: Violation[] = [];
  const { overdue, orphans, strays, unread } = ledger;
  if (unread > 0) violations.push({ rule: RULE, what: `${unread} shards on the disk cannot be read`, evidence: [] });
  if (overdue > 0) violations.push({ rule: RULE, what: `${overdue} records are overdue on the disk`, evidence: [] });
  if (orphans > 0)
    violations.push({ rule: RULE, what: `${orphans} bodies on the disk belong to nobody`, evidence: [] });
  if (strays.length > 0) {
    violations.push({ rule: RULE, what: "bodies in the bucket belong to nobody", evidence: strays });
  }
  return violations;
}

export function gatewayLives({ deaths }: World): readonly Violation[] {
  return deaths.map(({ at, output }) => ({ rule: RULE, what: `the gateway died: ${output}`, evidence: [`at ${at}`] }));
}
