// Those who wait for another's attempt: they wait no longer than they may, and what they waited for is theirs too.

import type { Arrival, Exchange } from "../history.ts";
import { isRefused, naming, neighbours } from "./facts.ts";
import { wasBroken } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

/** What a busy machine may add to a deadline. */
const LATE_MS = 1_500;
/** A small request has come to its shard by then. */
const THERE_MS = 150;
const SMALL_BYTES = 100_000;

/** G8: `wait` ends, however many wait beside. */
export function waitingEnds(world: World, { policy, exchanges }: RecordHistory): readonly Violation[] {
  const waitMs = policy.duplicate === "reject" ? 0 : policy.waitMs;
  return exchanges.flatMap((exchange) => {
    const { ending, sentAt, endAt } = exchange;
    if (ending.kind === "none" || ending.code !== "in-flight") return [];
    const lateMs = endAt - sentAt - waitMs;
    if (lateMs <= LATE_MS || wasBroken(world, sentAt, endAt)) return [];
    const what = `in-flight, told ${lateMs} ms after the wait was over`;
    return [{ rule: "G8 nothing wedges", what, evidence: naming(exchange) }];
  });
}

/** Who waited when the origin refused is told that, whatever its size: an origin that asks for less gets less. */
export function refusalsAreShared(world: World, record: RecordHistory): readonly Violation[] {
  if (record.policy.duplicate === "reject") return [];
  return neighbours(record.arrivals).flatMap(([refused, next]) => {
    const cause = world.exchange(next.request);
    if (cause === undefined || !isRefused(world, refused) || !waitedFor(record, refused, cause)) return [];
    if (wasBroken(world, cause.sentAt, next.at)) return [];
    const what = "who had waited for an attempt that was refused called the origin again";
    return [{ rule: "shared refusals", what, evidence: naming(refused, next) }];
  });
}

/** A refusal is settled at its head: who comes while its body still does is let in. */
function waitedFor({ policy }: RecordHistory, { at, headAt, request }: Arrival, cause: Exchange): boolean {
  if (headAt === null || cause.id === request || cause.bytes > SMALL_BYTES) return false;
  const isThere = Math.max(at, cause.sentAt) + THERE_MS < headAt;
  return isThere && cause.sentAt + policy.waitMs > headAt + THERE_MS;
}
