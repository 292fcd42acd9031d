// The features with settings, in the order in which they are listed, checked and applied. One line each, written by hand; only kernel/config
// imports it.

import type { FeatureSettings } from "../kernel/feature-settings.ts";
import { acceptedSettings } from "./accepted/settings/feature.ts"; // feature: accepted
import { pagesSettings } from "./pages/settings/feature.ts"; // feature: pages

export const FEATURE_SETTINGS: readonly FeatureSettings[] = [
  acceptedSettings, // feature: accepted
  pagesSettings, // feature: pages
];
