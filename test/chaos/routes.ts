// The gateway's configuration in a run: one route for each way to treat doubt and duplicates, with times so short that
// locks end, records expire and alarms fire all the time.

import { BUILT_IN } from "../../src/config/defaults.ts";
import type { GatewayVars } from "../support/gateway.ts";
import type { Json } from "../../src/serve/workerd-config.ts";
import type { RoutePolicy } from "./history.ts";

const TIMES = { timeoutMs: 800, idleTimeoutMs: 800, lockMs: 1_500, waitMs: 600 } as const;

/** Below the largest body that the origin makes. */
const SMALL_BYTES = 100_000;

interface ChaosRoute {
  readonly path: string;
  readonly unknown: "retry" | "hold";
  readonly duplicate: "reject" | "wait" | "attach";
  readonly retentionMs: number;
  readonly json?: boolean;
  readonly small?: boolean;
}

export const ROUTES: readonly [ChaosRoute, ...ChaosRoute[]] = [
  { path: "/hold", unknown: "hold", duplicate: "reject", retentionMs: 20_000 },
  { path: "/hold-wait", unknown: "hold", duplicate: "wait", retentionMs: 6_000 },
  { path: "/hold-json", unknown: "hold", duplicate: "reject", retentionMs: 9_000, json: true },
  { path: "/hold-small", unknown: "hold", duplicate: "attach", retentionMs: 15_000, small: true },
  { path: "/retry", unknown: "retry", duplicate: "reject", retentionMs: 7_000 },
  { path: "/retry-wait", unknown: "retry", duplicate: "wait", retentionMs: 20_000 },
  { path: "/retry-attach", unknown: "retry", duplicate: "attach", retentionMs: 12_000 },
];

export const POLICIES: Readonly<Record<string, RoutePolicy>> = Object.fromEntries(
  ROUTES.map(({ path, unknown, duplicate, retentionMs, small }) => {
    const maxResponseBodyBytes = small === true ? SMALL_BYTES : BUILT_IN.max_response_body;
    return [path, { unknown, duplicate, retentionMs, maxResponseBodyBytes, ...TIMES }];
  }),
);

export const REFUSED = BUILT_IN.refused;
export const AMBIGUOUS = BUILT_IN.ambiguous;

export function gatewayVars(originUrl: string, shards: number | "per-key"): GatewayVars {
  const ms = (value: number): string => `${value}ms`;
  const { timeoutMs, idleTimeoutMs, lockMs, waitMs } = TIMES;
  const times = { timeout: ms(timeoutMs), idle_timeout: ms(idleTimeoutMs), lock: ms(lockMs), wait: ms(waitMs) };
  return {
    IDEMPOTENCY: { origin: originUrl, shards, ...times },
    ROUTES: ROUTES.map(routeSettings),
  };
}

function routeSettings({ path, unknown, duplicate, retentionMs, json, small }: ChaosRoute): {
  [setting: string]: Json;
} {
  const settings: { [setting: string]: Json } = { path, unknown, duplicate, retention: `${retentionMs}ms` };
  if (json === true) settings["fingerprint"] = { body: "json" };
  if (small === true) settings["max_response_body"] = SMALL_BYTES;
  return settings;
}
