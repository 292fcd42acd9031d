// The traffic of one object or one isolate: counts by route, and the latest exchanges. Counting only adds in memory, and never fails.

import { rawCall } from "../call.ts";
import type { ClaimState } from "../record/claim.ts";
import type { DeadReason, DeliveryDecision } from "../record/delivery.ts";
import type { EventFate } from "../record/outbox.ts";
import { contentUseOf, mayBeUnknown, type ExchangeOutcome } from "../record/outcome.ts";
import type { AttemptVerdict } from "../record/timeline.ts";
import type { VerificationFinding } from "../record/verification-answer.ts";
import { logFailure } from "./bookkeep.ts";
import { type CountedKind, type CountedName, outboxRoute, type RouteNumbers } from "./route-counters.ts";
import { type TallyCounts, TrafficTally } from "./tally.ts";

/** One exchange that has ended. */
export interface ExchangeReport {
  /** When its request came, in milliseconds since the epoch. */
  readonly at: number;
  /** The path of its route, as configured. */
  readonly route: string;
  /** `null` when the request has no valid key. */
  readonly recordId: string | null;
  readonly outcome: ExchangeOutcome;
  readonly status: number;
  /** The number of the attempt that was started, or whose answer this is; `null` without an attempt. */
  readonly attempt: number | null;
  /** Until the answer was ready. */
  readonly durationMs: number;
  /** The part from the call to the origin until its response headers; `null` when it was not called. */
  readonly originMs: number | null;
  /** The part spent waiting for the attempt of another request. */
  readonly waitedMs: number;
}

/** The counts that an isolate hands over. */
export interface TrafficBatch extends TallyCounts {
  readonly exchanges: readonly ExchangeReport[];
}

/** A batch on its way. */
export interface SentBatch extends TrafficBatch {
  /** Random: a batch that comes twice counts once. */
  readonly id: string;
  /** Whether somebody waits for it. Otherwise it may share the next row with other counts. */
  readonly isUrgent: boolean;
}

/** An isolate hands over its batch. Answered when the counts are durable. */
export const TRAFFIC_CALL = rawCall("traffic");

/**
 * When what was counted is written. `with-turn`: in the commit of what it counts, because an alert looks at it, or a record with an unknown outcome would be
 * shown without its request. `more-comes`: what has begun is counted again at its end.
 */
export type CountedWhen = "with-turn" | "soon" | "more-comes";

/** Keeps what is counted. */
export interface CountKeeper {
  /** Where what happens now is counted. */
  tallyAt(now: number): TrafficTally;
  /** Something has been counted. */
  counted(when: CountedWhen): void;
}

/** How many exchanges are remembered: enough to fill a page for an operator with any number of shards. */
const MAX_EXCHANGES = 100;

export class TrafficCounters {
  readonly #keeper: CountKeeper | null;
  /** Used without a keeper. */
  #own = new TrafficTally();
  /** A ring; `#countedAt` has the times at which they were counted, which never decrease. */
  #exchanges: ExchangeReport[] = [];
  #countedAt: number[] = [];
  #next = 0;
  #latest = 0;

  /** `null`: counts are in memory until `take`. */
  constructor(keeper: CountKeeper | null = null) {
    this.#keeper = keeper;
  }

  get isEmpty(): boolean {
    return this.#own.isEmpty;
  }

  /** Notes that the tokens of the route's callers expire before their records do. */
  rotating(route: string): void {
    this.#count(route, "rotating", "noticed");
  }

  exchange(report: ExchangeReport, now: number): void {
    this.#remember(report, now);
    this.#into(now, mayBeUnknown(report.outcome) ? "with-turn" : "soon", (tally) => tally.exchange(report, now));
  }

  /** Counts an exchange whose key is made from the content of its request. */
  fromContent(route: string, outcome: ExchangeOutcome): void {
    const use = contentUseOf(outcome);
    if (use !== null) this.#count(route, "contentKeys", use);
  }

  /** Counts a request that went to the origin without a key. It is not an exchange. */
  passed(route: string): void {
    this.#count(route, "requests", "passed-through");
  }

  attempt(route: string, number: number): void {
    this.#count(route, "attempts", number === 1 ? "first" : "again", 1, "more-comes");
  }

  /** An attempt begins while as many others run as the platform allows to call at once. */
  queued(route: string): void {
    this.#count(route, "queued", "queued", 1, "more-comes");
  }

  /** The body of a result would have counted, and could not be read. */
  unreadable(route: string): void {
    this.#count(route, "unreadable", "unreadable");
  }

  verdict(route: string, verdict: AttemptVerdict): void {
    this.#count(route, "verdicts", verdict);
  }

  /** The origin was asked what became of an attempt. Two effects of one operation are for a person, and an alert looks at them. */
  finding(route: string, finding: VerificationFinding): void {
    this.#count(route, "findings", finding, 1, finding === "doubled" ? "with-turn" : "soon");
  }

  /** Counts a request whose key begins in another layout. */
  elsewhere(route: string, answer: CountedName<"elsewhere">): void {
    this.#count(route, "elsewhere", answer);
  }

  /** Counts the dead letter of a message. */
  died(route: string, reason: DeadReason): void {
    this.#count(route, "deadLetters", reason, 1, "with-turn");
  }

  /** An accepted request was given up. */
  givenUp(route: string): void {
    this.#count(route, "givenUp", "given-up", 1, "with-turn");
  }

  /** Counts a decision about a message. */
  delivered(route: string, decision: DeliveryDecision, reason: DeadReason | null): void {
    this.#count(route, "deliveries", decision);
    if (reason !== null) this.died(route, reason);
  }

  /** Counts what consumers were answered about their claims. */
  claimed(route: string, states: readonly ClaimState[]): void {
    for (const state of states) this.#count(route, "claims", state);
  }

  /** Counts the way from a Worker to an object. It comes with a request, which is counted too. */
  hop(route: string, ms: number): void {
    this.#into(Date.now(), "more-comes", (tally) => tally.hop(route, ms));
  }

  /** Counts what was seen of a request that passed. */
  sighted(route: string, seen: CountedName<"sightings">, evidence: CountedName<"effects"> | null = null): void {
    this.#count(route, "sightings", seen);
    if (evidence !== null) this.#count(route, "effects", evidence);
  }

  /** Counts what became of events. */
  relayed(destination: string, fate: EventFate, events: number): void {
    const isLost = fate === "dead" || fate === "erased";
    this.#count(outboxRoute(destination), "events", fate, events, isLost ? "with-turn" : "soon");
  }

  get numbers(): readonly RouteNumbers[] {
    return this.#own.routes;
  }

  /** The exchanges counted after `after` and not after `upTo`, oldest first. */
  recent(after: number, upTo: number): readonly ExchangeReport[] {
    const inOrder = [...this.#exchanges.keys()].map((at) => (this.#next + at) % this.#exchanges.length);
    return inOrder.flatMap((at) => {
      const countedAt = this.#countedAt[at] ?? 0;
      const report = this.#exchanges[at];
      return report !== undefined && countedAt > after && countedAt <= upTo ? [report] : [];
    });
  }

  /** Returns everything and resets it. */
  take(): TrafficBatch {
    const { routes, replays } = this.#own;
    const batch = { routes, replays, exchanges: this.recent(-1, Number.POSITIVE_INFINITY) };
    this.#own = new TrafficTally();
    this.#exchanges = [];
    this.#countedAt = [];
    this.#next = 0;
    return batch;
  }

  add(batch: TrafficBatch, now: number): void {
    for (const report of batch.exchanges) this.#remember(report, now);
    this.#into(now, "soon", (tally) => tally.add(batch));
  }

  #count<C extends CountedKind>(
    route: string,
    what: C,
    name: CountedName<C>,
    times = 1,
    when: CountedWhen = "soon",
  ): void {
    this.#into(Date.now(), when, (tally) => tally.count(route, what, name, times));
  }

  #into(now: number, when: CountedWhen, count: (tally: TrafficTally) => void): void {
    logFailure("counting", () => {
      count(this.#keeper?.tallyAt(now) ?? this.#own);
      this.#keeper?.counted(when);
    });
  }

  #remember(report: ExchangeReport, now: number): void {
    this.#latest = Math.max(this.#latest, now);
    this.#exchanges[this.#next] = report;
    this.#countedAt[this.#next] = this.#latest;
    this.#next = (this.#next + 1) % MAX_EXCHANGES;
  }
}
