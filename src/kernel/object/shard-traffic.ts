// What an object counts of its own exchanges, and of those that isolates hand over; in the object that adds up, the numbers of all.

import { promiseIn } from "../record/record.ts";
import { verdictOf } from "../record/timeline.ts";
import type { StepHook } from "../step-hook.ts";
import { logFailure } from "../traffic/bookkeep.ts";
import { answerCall, type AnsweredCall, jsonCall, respondToCall } from "../call.ts";
import type { RecordId } from "../record/units.ts";
import { countOf, type RouteNumbers, sumOf } from "../traffic/route-counters.ts";
import type { RecordReplays } from "../traffic/replay-counts.ts";
import { type ExchangeReport, type SentBatch, TrafficCounters, TRAFFIC_CALL } from "../traffic/traffic.ts";
import { type HourOfShard, KeptCounts } from "./kept-counts.ts";
import type { ShardNumbers } from "./operator-calls.ts";
import { keepsCounts } from "./shard-address.ts";
import type { CountRows } from "../store/counts.ts";
import type { KnownRows } from "../store/known-rows.ts";
import type { ObjectTimers } from "./timers.ts";
import { type CountedByShard, type LeftCounts, NOTHING_COUNTED, ShardTotals } from "./totals.ts";

/** Questions, through itty-durable. */
export const TRAFFIC_CALLS = {
  /** What was counted in the last day. */
  hours: jsonCall<void, readonly HourOfShard[]>("hours"),
  /** How often the record was replayed in the last day, as far as this object has counted it. */
  replaysOf: jsonCall<RecordId, RecordReplays | null>("replays-of"),
  /** The exchanges that were counted after `after` and not after `upTo`, oldest first. */
  recent: jsonCall<{ readonly after: number; readonly upTo: number }, readonly ExchangeReport[]>("recent"),
  /** The routes whose callers' tokens expire before their records do, as far as isolates have reported it to this object. */
  rotating: jsonCall<void, readonly string[]>("rotating"),
};

/** Has the object that adds up remember these numbers; answered with the totals. */
export const TOTALS_CALL = jsonCall<readonly CountedByShard[], readonly RouteNumbers[]>("totals");

export interface ShardTrafficPorts {
  readonly counts: CountRows;
  readonly totals: KnownRows;
  readonly timers: ObjectTimers;
  /** Whether attempts run in this object. */
  readonly isBusy: () => boolean;
  /** The object's name. */
  readonly name: string | undefined;
}

export class ShardTraffic {
  readonly own: TrafficCounters;
  /** `null` in the object of a single key: it would write a row for each of its requests, and nobody could ask it. */
  readonly #kept: KeptCounts | null;
  readonly #totals: ShardTotals;

  constructor({ counts, totals, timers, isBusy, name }: ShardTrafficPorts) {
    this.#kept = keepsCounts(name) ? new KeptCounts(counts, timers, isBusy) : null;
    this.own = new TrafficCounters(this.#kept);
    this.#totals = new ShardTotals(totals);
  }

  get calls(): readonly AnsweredCall[] {
    return [
      respondToCall(TRAFFIC_CALL, (request) => this.#take(request)),
      answerCall(TOTALS_CALL, (numbers) => this.#addUp(numbers)),
      answerCall(TRAFFIC_CALLS.hours, () => this.lastDay(Date.now())),
      answerCall(TRAFFIC_CALLS.replaysOf, (id) => this.#kept?.replaysOf(id, Date.now()) ?? null),
      answerCall(TRAFFIC_CALLS.recent, ({ after, upTo }) => this.own.recent(after, upTo)),
      answerCall(TRAFFIC_CALLS.rotating, () => this.#rotating(Date.now())),
    ];
  }

  /** Counts what an isolate has answered alone. Answers when that is durable: the isolate repeats it otherwise. */
  async #take(request: Request): Promise<Response> {
    const { id, isUrgent, ...batch }: SentBatch = await request.json();
    const now = Date.now();
    if (this.#kept?.takes(id, now) !== false) this.own.add(batch, now);
    try {
      await this.#kept?.written(isUrgent);
      return new Response(null, { status: 204 });
    } catch {
      // It is in the log why.
      return new Response(null, { status: 503 });
    }
  }

  /** The totals, of this object's own numbers too. */
  #addUp(numbers: readonly CountedByShard[]): readonly RouteNumbers[] {
    const { since, routes } = this.numbers();
    return this.#totals.addUp([...numbers, { shard: "", since, routes }], Date.now());
  }

  /** All that was counted here. */
  numbers(): Pick<ShardNumbers, "since" | "routes" | "isUnwritten"> {
    const routes = this.#kept?.total() ?? this.own.numbers;
    return { since: this.#kept?.since ?? NOTHING_COUNTED, routes, isUnwritten: this.isUnwritten };
  }

  /** Whether what was counted could not be written. It is in memory, and tried again. */
  get isUnwritten(): boolean {
    return this.#kept?.isRefused ?? false;
  }

  lastDay(now: number): readonly HourOfShard[] {
    return this.#kept?.lastDay(now) ?? [];
  }

  /** What is lost to everybody else when nobody asks this object any more. */
  left(now: number): LeftCounts {
    const { since, routes } = this.numbers();
    const dayRequests = this.lastDay(now)
      .flatMap((hour) => hour.routes)
      .reduce((sum, numbers) => sum + sumOf(numbers, "requests"), 0);
    return { since, routes, dayRequests };
  }

  /** The routes whose callers' tokens expire before their records do, as isolates have noticed in the last day. */
  #rotating(now: number): readonly string[] {
    const routes: readonly RouteNumbers[] = this.lastDay(now).flatMap((hour) => hour.routes);
    return [
      ...new Set(routes.filter((numbers) => countOf(numbers, "rotating", "noticed") > 0).map(({ route }) => route)),
    ];
  }
}

/** Counts the verdicts of attempts, and accepted requests that are given up. Needs no row: what was counted is written by its own rules. */
export function countedSteps(traffic: Pick<TrafficCounters, "verdict" | "givenUp">): StepHook {
  return {
    name: "counts",
    join: ({ before, after, event, label, now }) => {
      if (before === null) return null;
      const verdict = verdictOf(before, event, now);
      const isGivenUp = event.type !== "cancel" && promiseIn(before) !== null && after?.state === "failed";
      if (verdict === null && !isGivenUp) return null;
      let route = "";
      logFailure("finding a route", () => ({ route } = label()));
      return {
        write: null,
        written: () => {
          if (verdict !== null) logFailure("counting a verdict", () => traffic.verdict(route, verdict));
          if (isGivenUp) logFailure("counting what is given up", () => traffic.givenUp(route));
        },
      };
    },
  };
}
