// What is fixed before an interleaving begins: the route's policy, its times, and the weight of each kind of step. The
// weights vary from one interleaving to the next, so that some have many crashes, some none, and some hardly any time steps.

import type { Policy } from "../../src/kernel/record/record.ts";
import { FEATURES } from "./features.ts";
import type { Random } from "./random.ts";
import type { StateKind } from "./states.ts";

const OWN_KINDS = [
  "request",
  "commit",
  "arrive",
  "act",
  "answer",
  "body",
  "verification",
  "bucket",
  "limiter",
  "operator",
  "reads on",
  "timer",
  "time",
  "alarm",
  "clock right",
] as const;
const OWN_FAULTS = [
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
] as const;
/** The steps that need no feature. */
export type OwnKind = (typeof OWN_KINDS)[number] | (typeof OWN_FAULTS)[number];
const OWN: ReadonlySet<string> = new Set([...OWN_KINDS, ...OWN_FAULTS]);
export function isOwn(kind: string): kind is OwnKind {
  return OWN.has(kind);
}

export const FAULTS: readonly string[] = [...OWN_FAULTS, ...FEATURES.flatMap(({ faults }) => Object.keys(faults))];
export const KINDS: readonly string[] = [
  ...OWN_KINDS,
  ...FEATURES.flatMap(({ kinds }) => Object.keys(kinds)),
  ...FAULTS,
];

/** What an interleaving can have beyond the plain one. Each can be left out, so that a violation can be traced to its cause. */
export const EXTRAS: readonly string[] = [
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
  /** Origins that are asked about their state, and whose reads lag. */
  "states",
  /** Rows that say what no code writes. */
  "unreadable",
  /** A clock that is far ahead, and is put right. */
  "jumps",
  /** Keys whose attempts were all refused take other requests. */
  "corrected",
  ...FEATURES.flatMap(({ extras }) => extras),
];
export type Extras = ReadonlySet<string>;
export const ALL_EXTRAS: Extras = new Set(EXTRAS);

/** Known defects: with these extras the gateway breaks a rule. */
export const BROKEN_EXTRAS: readonly string[] = [];

export function extrasWithout(names: readonly string[]): Extras {
  const left = extrasOf(names);
  return new Set(EXTRAS.filter((extra) => !left.has(extra)));
}

export function extrasOf(names: readonly string[]): Extras {
  const unknown = names.find((name) => !EXTRAS.includes(name));
  if (unknown !== undefined) throw new Error(`unknown extra "${unknown}". Known: ${EXTRAS.join(", ")}`);
  return new Set(names);
}

/** By the number of steps: never where the clock may be far ahead. */
const STATES: readonly (StateKind | null)[] = ["resource", null, "list", "list", null, "resource"];

/** The plan of an interleaving without features. */
export interface DrawnPlan {
  readonly extras: Extras;
  readonly unknown: Policy["unknown"];
  /** Whether keys are remembered after their records have expired. */
  readonly remembers: boolean;
  /** Whether a key whose attempts were all refused takes another request. */
  readonly takesOthers: boolean;
  /** How many credentials share the scope. */
  readonly credentials: number;
  readonly hasBucket: boolean;
  /** Whether request bodies are streamed through. */
  readonly streams: boolean;
  /** Whether plain requests are sent. Otherwise a feature's actors send what takes their place. */
  readonly sendsRequests: boolean;
  /** Whether the object makes the attempts. Otherwise they are made elsewhere, and no rule of attempts knows them. */
  readonly makesAttempts: boolean;
  /** What a feature adds to the policy of every request. */
  readonly policy: Partial<Policy>;
  /** Whether the clock may be far ahead. */
  readonly jumps: boolean;
  /** What the origin is asked about, instead of about a key; `null`: about that. */
  readonly readsState: StateKind | null;
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
  readonly weights: Readonly<Record<string, number>>;
}

export interface Plan extends DrawnPlan {
  /** As it was before features changed it. */
  readonly drawn: DrawnPlan;
}

/** Leaving an extra out does not change the other draws. */
export function drawPlan(random: Random, extras: Extras): Plan {
  const some = (...of: readonly number[]): number => random.of(of);
  const only = (extra: string, weight: number): number => (extras.has(extra) ? weight : 0);
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
      verification: some(4, 8, 16),
      bucket: some(4, 8, 16),
      limiter: 8,
      operator: only("operators", some(1, 4)),
      "reads on": some(8, 16),
      timer: some(1, 4, 16),
      time: some(1, 2, 4),
      alarm: some(1, 4, 12),
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
    } satisfies Record<OwnKind, number>,
  };
  // Not drawn, so that the other draws stay as they are.
  const drawn: DrawnPlan = {
    ...plan,
    weights: Object.assign({}, plan.weights, ...FEATURES.flatMap(({ kinds, faults }) => [kinds, faults])),
    limitsKeys: plan.steps % 4 === 0 && extras.has("limiter"),
    remembers: plan.steps % 3 === 0 && extras.has("remembered"),
    takesOthers: plan.steps % 5 < 2 && extras.has("corrected"),
    // What a bucket knows of time has no right clock.
    jumps: plan.steps % 3 === 1 && extras.has("jumps") && !hasBucket,
    // A clock that is ahead by more than reads lag makes a "did not happen" count too early, as README.md of verify says.
    readsState: plan.unknown === "verify" && extras.has("states") ? (STATES[plan.steps % 6] ?? null) : null,
    sendsRequests: true,
    makesAttempts: true,
    policy: {},
  };
  return Object.assign({ drawn }, drawn, ...FEATURES.map((feature) => feature.plan(drawn)));
}
