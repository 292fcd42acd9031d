// Each route with every setting that applies to it, as it would be written, and where each comes from (`onceway check --expand`): the route
// itself, `IDEMPOTENCY`, another setting, or its default. Of a configuration without errors.

import { routeVariables } from "../../kernel/config/read.ts";
import { BUILT_IN } from "../../kernel/config/settings.ts";
import { lockFor } from "../../kernel/config/settings-attempt.ts";
import { isTable, listOf, readJsonVariable, type SettingsTable } from "../../kernel/config/table.ts";
import type { GivenSetting } from "../../kernel/feature-settings.ts";
import { formatDuration, parseDuration } from "../../kernel/config/units.ts";
import { CHECKS } from "./of-features.ts";
import { ROUTE_ENTRIES, settingTexts, tomlText } from "../settings-table.ts";

interface ExpandedSetting {
  readonly name: string;
  /** As it would be written; `null`: it has no value, and its absence means something. */
  readonly value: string | null;
  readonly from: string;
}

/** `vars`: of one environment. */
export function expandedRoutes(vars: SettingsTable): string {
  const defaults = tableIn(vars["IDEMPOTENCY"]);
  return routeVariables(vars)
    .flatMap((variable) => listOf(valueIn(vars[variable])).map((route, at) => ({ name: `${variable}[${at}]`, route })))
    .flatMap(({ name, route }) => (isTable(route) ? [expandedRoute(name, route, defaults)] : []))
    .join("\n\n");
}

function expandedRoute(name: string, route: SettingsTable, defaults: SettingsTable): string {
  const given = givenSettings(route, defaults);
  const settings = Object.keys(ROUTE_ENTRIES).map((setting) =>
    expandedSetting(setting, { name, route, defaults, given }),
  );
  const lines = settings.map(({ name: setting, value, from }) => ({
    text: value === null ? `# ${setting}` : `${setting} = ${value}`,
    from,
  }));
  const width = Math.max(...lines.map(({ text }) => text.length).filter((length) => length <= MAX_WIDTH));
  const rows = lines.map(({ text, from }) => `  ${text.padEnd(width)}  # ${from}`);
  return [`  path = ${tomlText(route["path"])}`, ...rows].join("\n");
}

/** What features give the route. Those behind another in the list see what that one has given. */
function givenSettings(route: SettingsTable, defaults: SettingsTable): ReadonlyMap<string, GivenSetting> {
  const given = new Map<string, GivenSetting>();
  for (const { writtenFor } of CHECKS) {
    const before = Object.fromEntries([...given].map(([name, { value }]) => [name, value]));
    for (const [name, setting] of Object.entries(writtenFor?.({ ...route, ...before }, defaults) ?? {})) {
      if (!given.has(name)) given.set(name, setting);
    }
  }
  return given;
}

interface ExpandedRoute {
  readonly name: string;
  readonly route: SettingsTable;
  readonly defaults: SettingsTable;
  readonly given: ReadonlyMap<string, GivenSetting>;
}

/** A longer setting does not move the column of the others. */
const MAX_WIDTH = 44;

const DEFAULTS: ReadonlyMap<string, string> = new Map(
  settingTexts().map(({ name, default: applies }) => [name, applies] as const),
);

function expandedSetting(name: string, of: ExpandedRoute): ExpandedSetting {
  const { name: place, route, defaults, given } = of;
  const rule = name === "verify" ? expandedSetting("unknown", of).value : null;
  if (rule !== null && rule !== '"verify"')
    return { name, value: null, from: `nobody is asked with unknown = ${rule}` };
  const layers = [
    [place, route],
    ["IDEMPOTENCY", defaults],
  ] as const;
  const short = given.get(name);
  for (const [from, layer] of layers) {
    if (layer === defaults && short !== undefined) return { name, value: tomlText(short.value), from: short.from };
    if (layer[name] !== undefined) return { name, value: tomlText(layer[name]), from };
    // Nearer than what another layer writes about itself.
    if (name === "unknown" && layer["verify"] !== undefined)
      return { name, value: '"verify"', from: "follows from verify" };
  }
  if (name === "lock") {
    const timeout = parseDuration(route["timeout"] ?? defaults["timeout"] ?? formatDuration(BUILT_IN.timeout));
    const lockMs = lockFor(timeout.ok ? timeout.value : BUILT_IN.timeout);
    return { name, value: tomlText(formatDuration(lockMs)), from: "follows from timeout" };
  }
  const applies = DEFAULTS.get(name) ?? "";
  return applies.startsWith("`")
    ? { name, value: applies.slice(1, -1), from: "default" }
    : { name, value: null, from: applies };
}

function tableIn(variable: unknown): SettingsTable {
  const value = valueIn(variable);
  return isTable(value) ? value : {};
}

function valueIn(variable: unknown): unknown {
  const read = readJsonVariable(variable);
  return read.ok ? read.value : null;
}
