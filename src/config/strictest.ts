// Which route counts where one request could be taken for several: the one that leaves the least to chance. Decides on
// what protects from a second effect, and on nothing else; the settings of two routes are never mixed.

import type { Route } from "./resolved.ts";

/** The strictest by `key`, then by `unknown`, then by `on_store_failure`; of equals the first, in the given order. */
export function strictestRoute(routes: readonly Route[]): Route | null {
  let strictest: Route | null = null;
  for (const route of routes) if (strictest === null || laxity(route) < laxity(strictest)) strictest = route;
  return strictest;
}

function laxity({ key, unknown, onStoreFailure }: Route): number {
  return KEY[key] * 100 + UNKNOWN[unknown] * 10 + STORE[onStoreFailure];
}

const KEY: Readonly<Record<Route["key"], number>> = { required: 0, optional: 1 };
const UNKNOWN: Readonly<Record<Route["unknown"], number>> = { hold: 0, verify: 1, retry: 2 };
const STORE: Readonly<Record<Route["onStoreFailure"], number>> = { closed: 0, open: 1 };
