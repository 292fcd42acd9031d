// What the features of Node add to `check`, and to `try`, for whoever decides what is said of a configuration.

import { NODE_FEATURES } from "../../features/node.ts";
import type { Config } from "../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../kernel/node-feature.ts";

export const CHECKS = NODE_FEATURES.flatMap(({ check }) => check ?? []);

/** Entries of features that have records, by what `check --json` calls them. */
export const ENTRY_KINDS = NODE_FEATURES.flatMap(({ entries }) => entries ?? []);

/** What features promise, a line for each entry and then those of all records. */
export function promisesOfFeatures(config: Config): readonly string[] {
  return NODE_FEATURES.flatMap((feature) => promisesOf(feature, config));
}

function promisesOf({ entries, promises }: NodeFeature, config: Config): readonly string[] {
  const own = entries?.of(config) ?? [];
  return own.map(({ route, promise }) => `${route.path}: ${promise}`).concat(promises?.(config) ?? []);
}

/** Why the gateway refused the credential among these headers, as far as a feature knows. */
export function credentialFaults(
  headers: readonly (readonly [name: string, value: string])[],
  config: Config,
  nowMs: number,
): readonly string[] {
  return NODE_FEATURES.flatMap((one) => one.credentialFaults?.(headers, config, nowMs) ?? []);
}
