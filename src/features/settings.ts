// The features with settings, in the order in which they are listed, checked and applied. One line each, written by hand. With it a
// configuration is read.

import { type ConfigReading, readConfigWith, type ConfigSurroundings } from "../kernel/config/read.ts";
import { declareSettings } from "../kernel/config/settings.ts";
import type { FeatureSettings } from "../kernel/feature-settings.ts";
import { acceptedSettings } from "./accepted/settings/feature.ts"; // feature: accepted
import { claimsSettings } from "./claims/settings/feature.ts"; // feature: claims
import { contentKeysSettings } from "./content-keys/settings/feature.ts"; // feature: content-keys
import { graphqlSettings } from "./graphql/settings/feature.ts"; // feature: graphql
import { identitiesSettings } from "./identities/settings/feature.ts"; // feature: identities
import { keySourcesSettings } from "./key-sources/settings/feature.ts"; // feature: key-sources
import { observeSettings } from "./observe/settings/feature.ts"; // feature: observe
import { lookUpSettings } from "./look-up/settings/feature.ts"; // feature: look-up
import { outboxSettings } from "./outbox/settings/feature.ts"; // feature: outbox
import { pagesSettings } from "./pages/settings/feature.ts"; // feature: pages
import { previousShardsSettings } from "./previous-shards/settings/feature.ts"; // feature: previous-shards
import { verdictsSettings } from "./verdicts/settings/feature.ts"; // feature: verdicts
import { presetsSettings } from "./presets/settings/feature.ts"; // feature: presets
import { problemShapesSettings } from "./problem-shapes/settings/feature.ts"; // feature: problem-shapes
import { jsonRpcSettings } from "./json-rpc/settings/feature.ts"; // feature: json-rpc
import { queuesSettings } from "./queues/settings/feature.ts"; // feature: queues

export const FEATURE_SETTINGS: readonly FeatureSettings[] = [
  previousShardsSettings, // feature: previous-shards
  keySourcesSettings, // feature: key-sources
  contentKeysSettings, // feature: content-keys
  graphqlSettings, // feature: graphql
  identitiesSettings, // feature: identities
  acceptedSettings, // feature: accepted
  queuesSettings, // feature: queues
  outboxSettings, // feature: outbox
  claimsSettings, // feature: claims
  verdictsSettings, // feature: verdicts
  pagesSettings, // feature: pages
  // After the features whose settings it reads: keys, pages.
  jsonRpcSettings, // feature: json-rpc
  lookUpSettings, // feature: look-up
  problemShapesSettings, // feature: problem-shapes
  presetsSettings, // feature: presets
  // Last: it takes back what the others have added and an observed route must not do.
  observeSettings, // feature: observe
];

/** All settings of routes. */
export const SETTINGS = declareSettings(FEATURE_SETTINGS.flatMap(({ routes }) => routes ?? []));

/** Reads a configuration from the variables of a Worker (kernel/config/read.ts). */
export function readConfig(env: Readonly<Record<string, unknown>>, surroundings?: ConfigSurroundings): ConfigReading {
  return readConfigWith({ features: FEATURE_SETTINGS, declared: SETTINGS }, env, surroundings);
}
