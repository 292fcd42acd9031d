// The settings of a history's routes, for sources that do not make their own.

import { DEFAULT_AMBIGUOUS, DEFAULT_REFUSED } from "../../src/kernel/config/settings-attempt.ts";
import { BUILT_IN } from "../../src/kernel/config/settings.ts";
import type { Meta, RoutePolicy } from "./history.ts";

/** A route with these settings; the others are built in. */
export function policyWith(settings: Pick<RoutePolicy, "unknown"> & Partial<RoutePolicy>): RoutePolicy {
  return {
    duplicate: BUILT_IN.duplicate,
    waitMs: BUILT_IN.wait,
    timeoutMs: BUILT_IN.timeout,
    idleTimeoutMs: BUILT_IN.idle_timeout,
    lockMs: BUILT_IN.lock,
    retentionMs: BUILT_IN.retention,
    unknownRetentionMs: BUILT_IN.unknown_retention,
    maxResponseBodyBytes: BUILT_IN.max_response_body,
    hasBucket: false,
    comparesNone: false,
    ...settings,
  };
}

/** The first line of a history. `source`: what it is of. */
export function metaOf(source: string, settings: Pick<Meta, "policies" | "groups">): Meta {
  const lists = { refused: DEFAULT_REFUSED, ambiguous: DEFAULT_AMBIGUOUS };
  return { type: "meta", seed: source, seconds: 0, startedAt: Date.now(), ...settings, ...lists };
}
