// The features with settings, in the order in which they are listed, checked and applied. One line each, written by hand; only kernel/config
// imports it.

import type { FeatureSettings } from "../kernel/feature-settings.ts";
import { acceptedSettings } from "./accepted/settings/feature.ts"; // feature: accepted
import { claimsSettings } from "./claims/settings/feature.ts"; // feature: claims
import { identitiesSettings } from "./identities/settings/feature.ts"; // feature: identities
import { outboxSettings } from "./outbox/settings/feature.ts"; // feature: outbox
import { pagesSettings } from "./pages/settings/feature.ts"; // feature: pages
import { queuesSettings } from "./queues/settings/feature.ts"; // feature: queues

export const FEATURE_SETTINGS: readonly FeatureSettings[] = [
  identitiesSettings, // feature: identities
  acceptedSettings, // feature: accepted
  queuesSettings, // feature: queues
  outboxSettings, // feature: outbox
  claimsSettings, // feature: claims
  pagesSettings, // feature: pages
];
