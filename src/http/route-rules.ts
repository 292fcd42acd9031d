// The rules that a route sets for its exchanges, as a message carries them to the shard.

import type { Route } from "../config/resolved.ts";
import type { Policy } from "../core/record.ts";
import { durationMs } from "../core/units.ts";
import type { VerdictLists } from "../core/verdict.ts";

export interface RouteRules {
  readonly policy: Policy;
  readonly lists: VerdictLists;
  readonly duplicate: "reject" | "wait" | "attach";
  /** How long a duplicate waits for the answer of the attempt in flight, or for its beginning. */
  readonly waitMs: number;
  /** Until the response's headers. */
  readonly timeoutMs: number;
  /** Between two pieces of the response's body. */
  readonly idleTimeoutMs: number;
  readonly maxResponseBodyBytes: number;
  readonly mismatchStatus: number;
  /** Names of response headers that a replay leaves out; lower case. */
  readonly omitHeaders: readonly string[];
}

export function rulesOf(route: Route): RouteRules {
  const { unknown, lockMs, retentionMs, refused, ambiguous } = route;
  const { duplicate, waitMs, timeoutMs, idleTimeoutMs, maxResponseBodyBytes, mismatchStatus, omitHeaders } = route;
  return {
    policy: { unknown, lockMs: durationMs(lockMs), retentionMs: durationMs(retentionMs) },
    lists: { refused, ambiguous },
    duplicate,
    waitMs,
    timeoutMs,
    idleTimeoutMs,
    maxResponseBodyBytes,
    mismatchStatus,
    omitHeaders,
  };
}
