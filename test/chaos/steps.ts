// What the origin does with one arrival of a key. A client plans its operation ahead and sends the plan in a header, one
// step for each arrival, so that a key's fate depends on the seed and not on the order in which requests arrive.

import type { VerificationMode } from "../guarantees/recorders/verifications.ts";
import type { Random } from "./random.ts";

export type StepName =
  /** Acts, then answers completely. */
  | "ok"
  /** Does not act, and answers with a status that says so. */
  | "refuse"
  /** Acts, and answers with a status that leaves that open. */
  | "ambiguous"
  /** Resets the connection before it reads the request. */
  | "reset-unread"
  /** Reads the request, does not act, resets. */
  | "reset"
  /** Acts, then resets. */
  | "act-reset"
  /** Acts, then resets, and undoes it soon after. */
  | "act-undo"
  /** Acts, then never answers. */
  | "stall"
  /** Acts, and answers long after the gateway has given up. */
  | "late"
  /** Acts after the gateway has given up, but before the lock ends. */
  | "act-late"
  /** Acts, and breaks off in the middle of the body. */
  | "cut"
  /** Acts, and stops sending in the middle of the body. */
  | "silent";

export interface Step {
  readonly name: StepName;
  readonly status: number;
  readonly delayMs: number;
  readonly bytes: number;
  readonly pieces: number;
  readonly pauseMs: number;
  readonly chunked: boolean;
}

export const PLAN_HEADER = "X-Plan";
/** A JSON list: the mode of each question about the key. Further questions get the truth. */
export const VERIFICATIONS_HEADER = "X-Questions";
export const TENANT_HEADER = "X-Tenant";
/** Under this path the origin reports what it knows about a key. */
export const VERIFICATION_PATH = "/by-key/";

/** The step of every arrival in the final phase, and of arrivals beyond the end of the plan. */
export const CALM: Step = { name: "ok", status: 200, delayMs: 0, bytes: 300, pieces: 1, pauseMs: 0, chunked: false };

/** Under these the origin reports the state of a key's resource, and lists what it has done. */
export const RESOURCE_PATH = "/resource/";
export const LIST_PATH = "/list";

/** `hasStates`: the origin is asked about a state, which it can tell in more ways. */
export function makeQuestions(random: Random, trickles: boolean, hasStates: boolean): readonly VerificationMode[] {
  const ofStates = hasStates ? 3 : 0;
  const count = random.weighted([
    [4, 0],
    [3, 1],
    [2, 2],
    [1, 4],
  ] as const);
  return Array.from({ length: count }, () =>
    random.weighted([
      [2, "truth"],
      [2, "slow"],
      [3, "hang"],
      [trickles ? 4 : 0, "trickle"],
      [2, "cut"],
      [2, "reset"],
      [1, "401"],
      [1, "403"],
      [1, "302"],
      [2, "503"],
      [ofStates, "stale"],
      [ofStates, "part"],
      [ofStates, "near"],
      [ofStates, "odd"],
      [hasStates ? 1 : 0, "foreign"],
    ] as const),
  );
}

/** Longer pauses of the origin count as faults; shorter ones belong to an ordinary answer. */
const PATIENCE_MS = 250;

/** More than the network buffers for a reader that has stopped. */
const HUGE_BYTES = 4_000_000;

/** What a plan may hold beyond the ordinary. */
export interface Extent {
  /** The final answer is huge. */
  readonly isHuge: boolean;
  /** Refusals may be large. */
  readonly largeRefusals: boolean;
  /** What was done may be undone. */
  readonly undoes: boolean;
}

export function makePlan(random: Random, timeoutMs: number, extent: Extent): readonly Step[] {
  const faults = random.weighted([
    [5, 0],
    [4, 1],
    [2, 2],
    [1, 3],
  ] as const);
  const steps = Array.from({ length: faults }, () => faultStep(random, timeoutMs, extent));
  const last = okStep(random);
  return [...steps, extent.isHuge ? { ...last, bytes: HUGE_BYTES + random.int(0, HUGE_BYTES), pieces: 1 } : last];
}

function okStep(random: Random): Step {
  const status = random.weighted([
    [8, 200],
    [6, 201],
    [1, 302],
    [1, 402],
    [1, 500],
  ] as const);
  return { ...body(random), name: "ok", status, delayMs: random.chance(0.5) ? 0 : random.int(1, PATIENCE_MS) };
}

function faultStep(random: Random, timeoutMs: number, { largeRefusals, undoes }: Extent): Step {
  const name = random.weighted([
    [4, "refuse"],
    [2, "ambiguous"],
    [2, "reset-unread"],
    [2, "reset"],
    [4, "act-reset"],
    [2, "stall"],
    [2, "late"],
    [2, "act-late"],
    [3, "cut"],
    [2, "silent"],
    [undoes ? 2 : 0, "act-undo"],
  ] as const);
  const step = { ...body(random), name, status: statusOf(name, random), delayMs: delayOf(name, random, timeoutMs) };
  // A refusal may be of any size.
  return name === "refuse" && largeRefusals && random.chance(0.3) ? { ...step, ...largeRefusal(random) } : step;
}

function statusOf(name: StepName, random: Random): number {
  if (name === "refuse") return random.pick([503, 429, 425]);
  return name === "ambiguous" ? random.pick([502, 504, 408]) : 201;
}

function delayOf(name: StepName, random: Random, timeoutMs: number): number {
  if (name === "late") return timeoutMs + random.int(100, 900);
  if (name === "act-late") return timeoutMs + random.int(50, 400);
  if (name === "act-undo") return random.int(100, 2_500);
  return random.chance(0.7) ? 0 : random.int(1, PATIENCE_MS);
}

/** Comes after a delay, so that duplicates are waiting for it. */
function largeRefusal(random: Random): Partial<Step> {
  return { bytes: random.int(260_000, 600_000), pieces: 1, delayMs: random.int(PATIENCE_MS, 2 * PATIENCE_MS) };
}

type Body = Pick<Step, "bytes" | "pieces" | "pauseMs" | "chunked">;

function body(random: Random): Body {
  return random.weighted<() => Body>([
    [10, () => ({ bytes: random.int(200, 3_000), pieces: 1, pauseMs: 0, chunked: random.chance(0.3) })],
    [2, () => ({ bytes: random.int(3_000, 300_000), pieces: 1, pauseMs: 0, chunked: random.chance(0.5) })],
    [
      3,
      () => ({
        bytes: random.int(3_000, 300_000),
        pieces: random.int(2, 12),
        pauseMs: random.int(0, PATIENCE_MS),
        chunked: random.chance(0.7),
      }),
    ],
    // Takes longer than a lock, so the gateway has to renew the lock.
    [
      1,
      () => ({
        bytes: random.int(500, 60_000),
        pieces: random.int(8, 14),
        pauseMs: random.int(150, PATIENCE_MS),
        chunked: random.chance(0.7),
      }),
    ],
  ])();
}
