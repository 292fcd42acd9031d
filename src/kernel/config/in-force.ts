// The settings in force for one route while a configuration is checked: merged, with where each was written, because the setting to
// change is often not the one that was written last.

import type { SettingsReading } from "./read-settings.ts";
import { mergeSettings } from "./resolve.ts";
import type { FullSettings, Settings } from "./settings.ts";

/** The settings that one table writes, and those that it writes wrongly. */
export type Layer = Pick<SettingsReading, "settings" | "faulty">;

export type SettingName = keyof Settings;

/** The settings in force for one route, and where each was written. */
export interface InForce {
  readonly all: FullSettings;
  /** `ROUTES[2]`, `IDEMPOTENCY`, or null for a built-in default. */
  readonly source: (name: SettingName) => string | null;
  /** Whether the values of all these are known. */
  readonly isKnown: (...names: readonly SettingName[]) => boolean;
  /** Where a broken relation between these is reported: in the route if it sets one of them, otherwise in `IDEMPOTENCY`. */
  readonly place: (...names: readonly SettingName[]) => string;
}

export function settingsInForce(defaults: Layer, route: Layer & { readonly name: string }): InForce {
  const writes = (layer: Layer, name: SettingName) => Object.hasOwn(layer.settings, name);
  const known = (name: SettingName) => !route.faulty.has(name) && (writes(route, name) || !defaults.faulty.has(name));
  const source = (name: SettingName) => {
    if (writes(route, name)) return route.name;
    return writes(defaults, name) ? "IDEMPOTENCY" : null;
  };
  return {
    all: mergeSettings(defaults.settings, route.settings),
    source,
    isKnown: (...names) => names.every(known),
    place: (...names) => (names.some((name) => source(name) === route.name) ? route.name : "IDEMPOTENCY"),
  };
}

/** What a setting may name a binding for. At run time all bindings look the same (platform rule); a file tells their kinds. */
export type BindingKind = "origin" | "limiter" | "queue" | "secret";
export type HasBinding = (name: string, kind: BindingKind) => boolean;
