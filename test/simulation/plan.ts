// What is fixed before an interleaving begins: the route's policy, its times, and the weight of each kind of step. The
// weights vary from one interleaving to the next, so that some have many crashes, some none, and some hardly any time steps.

import type { Publication } from "../../src/kernel/record/outbox.ts";
import type { Policy } from "../../src/kernel/record/record.ts";
import { KINDS as CLAIM_KINDS } from "../features/claims/simulation/kinds.ts";
import { FAULTS as DELIVERY_FAULTS, KINDS as DELIVERY_KINDS } from "../features/queues/simulation/steps.ts";
import { PUBLICATIONS } from "../features/outbox/simulation/destinations.ts";
import { FAULTS as EVENT_FAULTS, KINDS as EVENT_KINDS } from "../features/outbox/simulation/steps.ts";
import type { Random } from "./random.ts";

export const KINDS = [
  "request",
  "commit",
  "arrive",
  "act",
  "answer",
  "body",
  "question",
  "bucket",
  "limiter",
  "operator",
  "reads on",
  "timer",
  "time",
  "alarm",
  "clock right",
  "look",
  "cancel",
  ...DELIVERY_KINDS,
  ...EVENT_KINDS,
  ...CLAIM_KINDS,
  // From here on: faults.
  "commit fails",
  "crash",
  "connection lost",
  "delivered again",
  "client leaves",
  "client stalls",
  "upload cut",
  "bucket fails",
  "alarm twice",
  "alarm dropped",
  "clock back",
  "clock ahead",
  "disk full",
  "unreachable",
  "unreadable",
  ...DELIVERY_FAULTS,
  ...EVENT_FAULTS,
] as const;
export type Kind = (typeof KINDS)[number];
export const FAULTS: readonly Kind[] = KINDS.slice(KINDS.indexOf("commit fails"));

/** What an interleaving can have beyond the plain one. Each can be left out, so that a violation can be traced to its cause. */
export const EXTRAS = [
  /** Clients that stop reading. */
  "stalls",
  /** Checks that clients that have left cost nothing. */
  "leavers",
  /** Several credentials in one scope; the origin reports to each only its own effects. */
  "foreign",
  /** Questions to the origin that are answered one byte at a time. */
  "trickles",
  /** Request bodies that are streamed through, and are cut when their client leaves. */
  "cuts",
  /** Answers with a Content-Length, so that the last byte ends them. */
  "lengths",
  /** A bucket for large bodies. */
  "bucket",
  /** New keys that a rate limiter allows or refuses, after a while. */
  "limiter",
  /** Operators who release, resolve and forget between any two steps. */
  "operators",
  /** Keys that are remembered after their records have expired. */
  "remembered",
  /** Requests that are accepted: their clients do not wait, and ask monitors. */
  "accepted",
  /** Messages of a queue instead of requests. */
  "deliveries",
  /** Results that publish events, and destinations that take and refuse them. */
  "events",
  /** Consumers that claim, instead of requests. */
  "claims",
  /** Messages that the origin never takes. */
  "poison",
  /** Rows that say what no code writes. */
  "unreadable",
  /** A clock that is far ahead, and is put right. */
  "jumps",
] as const;
export type Extra = (typeof EXTRAS)[number];
export type Extras = ReadonlySet<Extra>;
export const ALL_EXTRAS: Extras = new Set(EXTRAS);

/** Known defects: with these extras the gateway breaks a rule. */
export const BROKEN_EXTRAS: readonly Extra[] = [];

export function extrasWithout(names: readonly string[]): Extras {
  const unknown = names.find((name) => !EXTRAS.some((extra) => extra === name));
  if (unknown !== undefined) throw new Error(`--without: unknown extra "${unknown}". Known: ${EXTRAS.join(", ")}`);
  return new Set(EXTRAS.filter((extra) => !names.includes(extra)));
}

export interface Plan {
  readonly extras: Extras;
  readonly unknown: Policy["unknown"];
  /** Whether keys are remembered after their records have expired. */
  readonly remembers: boolean;
  /** How many credentials share the scope. */
  readonly credentials: number;
  readonly hasBucket: boolean;
  /** Whether request bodies are streamed through. */
  readonly streams: boolean;
  /** Whether requests are accepted whose clients do not wait. */
  readonly accepts: boolean;
  /** Whether messages of a queue come instead of requests. */
  readonly consumes: boolean;
  /** Whether consumers claim, instead of requests. */
  readonly claims: boolean;
  /** Whether their messages have offsets. */
  readonly hasPositions: boolean;
  /** The events that results have. */
  readonly publishes: readonly Publication[];
  /** A destination that takes nothing, ever; `null`: all take events sooner or later. */
  readonly deadDestination: string | null;
  /** Whether the clock may be far ahead. */
  readonly jumps: boolean;
  /** Whether new keys are limited. */
  readonly limitsKeys: boolean;
  readonly records: number;
  /** How many requests the clients send, and how many steps are taken before the calm phase. */
  readonly requests: number;
  readonly steps: number;
  /** How many decisions operators make. */
  readonly decisions: number;
  /** The most faults that may occur. */
  readonly faults: number;
  /** The most bytes of a response body that are kept. */
  readonly keptBytes: number;
  readonly weights: Readonly<Record<Kind, number>>;
}

/** Leaving an extra out does not change the other draws. */
export function drawPlan(random: Random, extras: Extras): Plan {
  const some = (...of: readonly number[]): number => random.of(of);
  const only = (extra: Extra, weight: number): number => (extras.has(extra) ? weight : 0);
  const credentials = random.oneIn(3) ? 2 : 1;
  const hasBucket = random.oneIn(4) && extras.has("bucket");
  const streams = random.oneIn(5) && extras.has("cuts");
  const plan = {
    extras,
    unknown: random.of(["retry", "hold", "verify"] as const),
    credentials: extras.has("foreign") ? credentials : 1,
    hasBucket,
    streams,
    records: some(1, 1, 1, 2),
    requests: 2 + random.below(4),
    steps: 12 + random.below(24),
    decisions: some(0, 0, 1, 3),
    faults: some(0, 1, 2, 4, 6),
    keptBytes: random.oneIn(hasBucket ? 1 : 10) ? 3 : 1000,
    weights: {
      request: some(4, 8, 16),
      commit: some(2, 8, 16),
      arrive: 12,
      act: 8,
      answer: some(4, 8, 16),
      body: some(2, 8, 16),
      question: some(4, 8, 16),
      bucket: some(4, 8, 16),
      limiter: 8,
      operator: only("operators", some(1, 4)),
      "reads on": some(8, 16),
      timer: some(1, 4, 16),
      time: some(1, 2, 4),
      alarm: some(1, 4, 12),
      look: 2,
      cancel: 1,
      message: 8,
      batch: 8,
      report: 8,
      letter: 8,
      "commit fails": some(0, 0, 2, 4),
      crash: some(0, 1, 2, 4),
      "connection lost": some(0, 1, 3),
      "delivered again": some(0, 1, 3),
      "client leaves": some(0, 0, 1, 3),
      "client stalls": only("stalls", some(0, 0, 1, 3)),
      "upload cut": some(3, 9),
      "bucket fails": some(0, 12, 24),
      "alarm twice": some(0, 0, 2),
      "alarm dropped": some(0, 0, 0, 2),
      "clock back": some(0, 0, 1, 2),
      "clock ahead": only("jumps", 3),
      "clock right": 6,
      "disk full": some(0, 0, 0, 2),
      unreachable: some(0, 0, 0, 2),
      unreadable: only("unreadable", 1),
      "report lost": 2,
      "delivered early": 2,
      "letter lost": 2,
      claim: 10,
      "claim again": 4,
      extend: 4,
      complete: 10,
      "claim released": 4,
      position: 3,
      event: 12,
      outbox: 2,
      "event lost": 3,
      "event hangs": 1,
    },
  };
  // Not drawn, so that the other draws stay as they are.
  const limitsKeys = plan.steps % 4 === 0 && extras.has("limiter");
  const remembers = plan.steps % 3 === 0 && extras.has("remembered");
  const accepts = plan.steps % 5 < 2 && extras.has("accepted");
  const consumes = plan.steps % 5 === 2 && extras.has("deliveries");
  const publishes = extras.has("events") ? publicationsOf(plan.steps) : [];
  const claims = plan.steps % 5 === 3 && extras.has("claims");
  const hasPositions = plan.requests > 2;
  const whole = {
    ...plan,
    limitsKeys,
    remembers,
    accepts,
    consumes,
    publishes,
    claims,
    hasPositions,
    deadDestination: plan.steps % 4 === 1 ? "hook" : null,
    // What a bucket, a broker and consumers know of time has no right clock.
    jumps: plan.steps % 3 === 1 && extras.has("jumps") && !hasBucket && !consumes && !claims,
  };
  if (consumes) return { ...whole, steps: 2 * plan.steps, streams: false, limitsKeys: false };
  if (claims) return { ...whole, records: 4, requests: 9, steps: 2 * plan.steps, streams: false, limitsKeys: false };
  return accepts ? { ...whole, ...roomFor(plan.requests), steps: 2 * plan.steps, streams: false } : whole;
}

/** In three of seven interleavings. */
function publicationsOf(steps: number): readonly Publication[] {
  return steps % 7 < 3 ? (PUBLICATIONS[steps % PUBLICATIONS.length] ?? []) : [];
}

/** More requests than places, of more records than places, in every fourth interleaving with accepted requests. */
function roomFor(requests: number): Pick<Plan, "records" | "requests"> {
  if (requests === 5) return { records: 6, requests: 9 };
  return { records: requests === 4 ? 2 : 1, requests };
}
