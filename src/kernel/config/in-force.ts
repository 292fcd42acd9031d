// The settings in force for one route while a configuration is checked: merged, with where each was written, because the setting to
// change is often not the one that was written last.

import { pickMembers } from "./table.ts";
import type { SettingsReading } from "./read-settings.ts";
import { type DeclaredSettings, FOLLOWS, type FullSettings, type WrittenSettings } from "./settings.ts";

/** The settings that one table writes, and those that it writes wrongly. */
export type SettingsLayer = Pick<SettingsReading, "settings" | "faulty">;

/** What the settings in `IDEMPOTENCY` apply to. */
export interface InheritingTable {
  /** Those that do; all, if it does not say. */
  readonly inherits?: readonly string[];
}

/** Of these defaults, those that apply. */
export function inheritedLayer(defaults: SettingsLayer, { inherits }: InheritingTable): SettingsLayer {
  if (inherits === undefined) return defaults;
  const isInherited = (name: string): boolean => inherits.includes(name);
  return {
    settings: pickMembers(defaults.settings, isInherited),
    faulty: new Set([...defaults.faulty].filter(isInherited)),
  };
}

/** `Own`: the settings of a feature. */
export type SettingName<Own = unknown> = keyof WrittenSettings | keyof Own;

/** The settings in force for one route, and where each was written. */
export interface InForce<Own = unknown> {
  readonly all: FullSettings & Own;
  /** `ROUTES[2]`, `IDEMPOTENCY`, or null for a built-in default. */
  readonly source: (name: SettingName<Own>) => string | null;
  /** Whether the values of all these are known. */
  readonly isKnown: (...names: readonly SettingName<Own>[]) => boolean;
  /** Where a broken relation between these is reported: in the route if it sets one of them, otherwise in `IDEMPOTENCY`. */
  readonly place: (...names: readonly SettingName<Own>[]) => string;
}

/** The settings of all features are among them, by names that the kernel does not know. */
export type AnyInForce = InForce<Readonly<Record<string, unknown>>>;

export function settingsInForce(
  defaults: SettingsLayer,
  route: SettingsLayer & { readonly name: string },
  { merge }: DeclaredSettings,
): AnyInForce {
  const writes = (layer: SettingsLayer, name: string) => Object.hasOwn(layer.settings, name);
  const readable = (name: string) => !route.faulty.has(name) && (writes(route, name) || !defaults.faulty.has(name));
  const source = (name: string) => {
    if (writes(route, name)) return route.name;
    return writes(defaults, name) ? "IDEMPOTENCY" : null;
  };
  const known = (name: string) => {
    const leading = FOLLOWS.get(name);
    return readable(name) && (leading === undefined || writes(route, name) || readable(leading));
  };
  return {
    all: merge(defaults.settings, route.settings),
    source,
    isKnown: (...names) => names.every(known),
    place: (...names) => (names.some((name) => source(name) === route.name) ? route.name : "IDEMPOTENCY"),
  };
}

/** What a setting may name a binding for. At run time all bindings look the same (platform rule); a file tells their kinds. */
export type BindingKind = "origin" | "limiter" | "queue" | "secret";
export type HasBinding = (name: string, kind: BindingKind) => boolean;
