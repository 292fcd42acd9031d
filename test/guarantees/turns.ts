// Callers whose accepted requests wait for a place take turns (src/kernel/object/README.md, "Accepted requests"): a free place goes to the lane
// with the fewest attempts in flight, and of several to the request that has been due for longest. On the route that this checks, each
// caller has a lane of its own, and all are in one object. So while somebody waits who has no attempt in flight,
//
// - none begins beside another one of its caller, and
// - none begins whose request came later.
//
//   Y: accepted, not begun ─────────────── still not begun
//              │     X: not begun ─► arrives      │
//
// Claims cannot be seen. But each answer and each arrival that is seen came after what it tells of, so what is compared is certain,
// however slow the machine is, and whatever was killed meanwhile: Y waited between two answers that said so, and X began after one that
// said the same of it, or after it was sent, and before it arrived.

import type { Arrival, Exchange } from "./history.ts";
import { naming, answeredAt } from "./facts.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

const RULE = "callers take turns";

/** So long after its result was told an attempt has given up its place. */
const OVER_MS = 2_000;

/** The first attempt of a request. */
interface Start {
  readonly arrival: Arrival;
  /** When its request was first sent. */
  readonly sentAt: number;
  /** It was claimed after this. */
  readonly after: number;
}

/** A request that certainly waited for its turn, of a caller without any attempt in flight. */
interface Wait {
  readonly first: Exchange;
  readonly from: number;
  readonly to: number;
}

interface Caller {
  readonly waits: readonly Wait[];
  readonly starts: readonly Start[];
  /** Attempts whose result the gateway has taken whole, so they held their places until the origin had sent all of it. */
  readonly works: readonly Arrival[];
}

export function checkTurns(world: World): readonly Violation[] {
  const callers = callersOf(world);
  return callers.flatMap((caller) =>
    callers
      .filter((other) => other !== caller)
      .flatMap((other) =>
        caller.waits.flatMap((wait) => other.starts.flatMap((start) => overtaken(wait, start, other))),
      ),
  );
}

/** How often somebody certainly waited: so often the rule is looked at. */
export function countWaits(world: World): number {
  return callersOf(world).reduce((sum, { waits }) => sum + waits.length, 0);
}

function callersOf(world: World): readonly Caller[] {
  const records = world.records.filter(({ policy }) => policy.takesTurns === true);
  return [...Map.groupBy(records, ({ scope, exchanges: [first] }) => first?.caller ?? scope).values()].map((own) => ({
    waits: own.flatMap((record) => waitOf(world, record, own)),
    starts: own.flatMap(startOf),
    works: own.flatMap((record) => record.arrivals.filter((one) => answeredAt(world, record, one) < Infinity)),
  }));
}

/** The answers that say that no attempt has begun. A record that began anew later is another one. */
function waitingAnswers({
  exchanges,
  looks,
  arrivals: [first],
}: RecordHistory): readonly { readonly sentAt: number; readonly endAt: number }[] {
  return [...exchanges, ...looks].filter(
    ({ ending, sentAt }) =>
      ending.kind === "answer" && ending.isUnbegun === true && sentAt < (first?.at ?? Number.POSITIVE_INFINITY),
  );
}

function waitOf(world: World, record: RecordHistory, own: readonly RecordHistory[]): readonly Wait[] {
  const [first] = record.exchanges;
  if (first === undefined) return [];
  const answers = waitingAnswers(record);
  const from = Math.min(Infinity, ...answers.map(({ endAt }) => endAt));
  const to = Math.max(-Infinity, ...answers.map(({ sentAt }) => sentAt));
  const isIdle = own.every((other) => other === record || isOver(world, other, first.sentAt) || isLater(other, to));
  return from < to && isIdle ? [{ first, from, to }] : [];
}

/** All its attempts have given up their places before this. */
function isOver(world: World, record: RecordHistory, before: number): boolean {
  const last = record.arrivals.findLast(({ at }) => at < before);
  return last !== undefined && answeredAt(world, record, last) + OVER_MS < before;
}

function isLater({ exchanges: [first] }: RecordHistory, than: number): boolean {
  return first !== undefined && first.sentAt > than;
}

function startOf(record: RecordHistory): readonly Start[] {
  const [arrival] = record.arrivals;
  const [first] = record.exchanges;
  if (arrival === undefined || first === undefined) return [];
  const { sentAt } = first;
  return [{ arrival, sentAt, after: Math.max(sentAt, ...waitingAnswers(record).map((one) => one.sentAt)) }];
}

function overtaken(wait: Wait, start: Start, { works }: Caller): readonly Violation[] {
  const { arrival, sentAt, after } = start;
  if (after <= wait.from || arrival.at >= wait.to) return [];
  const beside = works.includes(arrival)
    ? works.find((other) => other !== arrival && isBeside(other, arrival))
    : undefined;
  if (beside !== undefined) {
    const what = "an attempt began beside another one of its caller, while somebody without any waited";
    return [{ rule: RULE, what, evidence: naming(wait.first, arrival, beside) }];
  }
  if (sentAt <= wait.from) return [];
  const what = "an attempt began, while somebody without any had waited for longer";
  return [{ rule: RULE, what, evidence: naming(wait.first, arrival) }];
}

/** Whichever of the two began later, the other one was in flight then. */
function isBeside(other: Arrival, { at }: Arrival): boolean {
  return other.at <= at && other.lastAt !== null && other.lastAt >= at;
}
