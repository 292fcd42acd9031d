// Writes out what presets stand for, before anything is read. What a route writes counts first, then its preset, then what `IDEMPOTENCY` writes, then
// its preset. Only a scope is added to, unless the route itself writes one: a preset that replaced `["identity:user"]` would tell callers apart by
// a token that changes. Queues and groups of consumers inherit nothing of a preset, because it is for requests.

import { isTable, readJsonVariable, type SettingsTable } from "../../../kernel/config/table.ts";
import type { GivenSetting } from "../../../kernel/feature-settings.ts";
import { NO_PRESET, type ProtocolPreset, presetNamed } from "./presets.ts";

type Variables = Readonly<Record<string, unknown>>;

/** As the settings have it: the scope where nothing is written. */
const DEFAULT_SCOPE = ["header:authorization"];

/** The variables with the settings of presets in their routes. */
export function expandPresets(variables: Variables): Variables {
  const defaults = tableIn(variables["IDEMPOTENCY"]);
  const routes = Object.keys(variables)
    .filter((name) => name.startsWith("ROUTES"))
    .flatMap((name) => {
      const read = readJsonVariable(variables[name]);
      if (!read.ok || !Array.isArray(read.value)) return [];
      return [
        [name, read.value.map((route: unknown) => (isTable(route) ? expanded(route, defaults) : route))] as const,
      ];
    });
  return { ...variables, ...Object.fromEntries(routes) };
}

function expanded(route: SettingsTable, defaults: SettingsTable): SettingsTable {
  const settings = presetSettings(route, defaults);
  const values = Object.entries(settings).map(([name, { value }]) => [name, value] as const);
  return values.length === 0 ? route : { ...route, ...Object.fromEntries(values) };
}

/** What presets add to a route that is written like this, by setting. */
export function presetSettings(route: SettingsTable, defaults: SettingsTable): Readonly<Record<string, GivenSetting>> {
  const name = route["preset"] ?? defaults["preset"];
  const preset = name === NO_PRESET ? null : presetNamed(name);
  if (preset === null) return {};
  const isOwn = route["preset"] !== undefined;
  const isFree = (setting: string): boolean =>
    !Object.hasOwn(route, setting) && (isOwn || !Object.hasOwn(defaults, setting));
  const settings = Object.entries(preset.settings)
    .filter(([setting]) => isFree(setting))
    .map(([setting, { value, rule }]) => [setting, { value, from: fromRule(String(name), preset, rule) }] as const);
  const scope = addedScope(route, defaults, preset);
  const added =
    scope === null
      ? []
      : [["scope", { value: scope, from: fromRule(String(name), preset, preset.scopeRule) }] as const];
  return Object.fromEntries([...settings, ...added]);
}

function fromRule(name: string, { protocol }: ProtocolPreset, rule: string): string {
  return `preset ${name}: ${protocol} ${rule}`;
}

/** `null`: the preset adds nothing, the route says its scope itself, or nobody can read the one in force. */
function addedScope(
  route: SettingsTable,
  defaults: SettingsTable,
  { scope }: ProtocolPreset,
): readonly unknown[] | null {
  if (scope.length === 0 || Object.hasOwn(route, "scope")) return null;
  const inForce = defaults["scope"] ?? DEFAULT_SCOPE;
  if (!Array.isArray(inForce)) return null;
  const known: readonly unknown[] = inForce;
  return [...known, ...scope.filter((part) => !known.includes(part))];
}

function tableIn(variable: unknown): SettingsTable {
  const read = readJsonVariable(variable ?? {});
  return read.ok && isTable(read.value) ? read.value : {};
}
