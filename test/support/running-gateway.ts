// A gateway that runs, as the operator API describes it, and configurations to compare with it.

import { compareLayouts, type GatewayComparison } from "../../src/cli/check-against.ts";
import { readConfig } from "../../src/features/settings.ts";
import type { Route } from "../../src/kernel/config/resolved.ts";
import type { RunningLayout, RunningRoute } from "../../src/kernel/node-feature.ts";

/** Routes as the gateway publishes them, from their texts, with the default scope. */
export function published(
  texts: readonly string[],
  scope: readonly string[] = ["header:authorization"],
): readonly RunningRoute[] {
  return texts.map((text) => {
    const [path = "", ...methods] = text.split(" ").toReversed();
    return { ...PLAIN, path, methods: methods.toReversed(), scope };
  });
}

export function routesOf(...settings: readonly object[]): readonly Route[] {
  const read = readConfig({
    IDEMPOTENCY: { origin: "https://origin.example" },
    ROUTES: settings,
    ENCRYPTION_SECRET: "0123456789abcdef".repeat(4),
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.config.routes;
}

export function running(shards: number | string, changes: Partial<RunningLayout> = {}): RunningLayout {
  const none = { jurisdiction: null, closedFor: [], objects: 64, mayGo: false, reason: "Held." };
  return { layout: String(shards), shards, next: null, routes: ["POST PATCH /pay"], ...none, ...changes };
}

export function messages({ problems }: GatewayComparison): readonly string[] {
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

export const FINE: GatewayComparison = { problems: [], warnings: [] };

const PLAIN = {
  path: "/pay",
  methods: ["POST", "PATCH"],
  scope: ["header:authorization"],
  identities: {},
  keyFrom: ["header:idempotency-key"],
  encryptResponses: false,
  async: "never",
  fingerprint: JSON.stringify(routesOf({ path: "/pay" })[0]?.fingerprint),
};

/** Of a route "/pay" with these settings, where a route with the same requests is in force. */
export function compareToPay(settings: object, before: Partial<RunningRoute>): GatewayComparison {
  return compareLayouts(routesOf({ path: "/pay", ...settings }), [running(64)], [{ ...PLAIN, ...before }]);
}
