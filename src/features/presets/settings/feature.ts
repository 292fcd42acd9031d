// The setting of presets, and what nobody may leave open beside one.

import type { ConfigProblem } from "../../../kernel/config/config-problem.ts";
import type { InForce } from "../../../kernel/config/in-force.ts";
import { choiceSetting, settingOf, type TextsOf } from "../../../kernel/config/setting-kinds.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";
import { expandPresets } from "./expand-presets.ts";
import { NO_PRESET, PRESET_NAMES, presetNamed } from "./presets.ts";

export const presetEntries = {
  preset: settingOf(choiceSetting(PRESET_NAMES), NO_PRESET),
};

export const presetTexts: TextsOf<typeof presetEntries> = {
  preset: {
    description:
      "The settings that a protocol asks for ([which](../../features/presets/README.md); `onceway check --expand` prints them). What is written in the route counts " +
      'before them, and they count before what is written in `IDEMPOTENCY`, but to a scope there they only add. With all but `"mcp"`, `unknown` has to be written.',
    onChange:
      "changes each of these settings: **names other records, and makes retries of older keys look like reuse**; append the old scope to `previous_scope`",
  },
};

interface PresetSettings {
  readonly preset: string;
}

export const presetsSettings: FeatureSettings<PresetSettings> = {
  name: "presets",
  routes: { after: "methods", entries: presetEntries, tables: {} },
  expand: expandPresets,
  read: () => ({
    check: (rules) => rules.flatMap(({ inForce }) => unknownProblems(inForce)),
    resolveRoute: (route, { preset }) => (preset === NO_PRESET ? route : { ...route, preset }),
  }),
};

/** A protocol may want a lost call repeated, and money wants it asked about: nobody decides that by leaving it out. */
function unknownProblems({ all, source, isKnown, place }: InForce<PresetSettings>): readonly ConfigProblem[] {
  if (!isKnown("preset", "unknown", "verify")) return [];
  const preset = presetNamed(all.preset);
  if (preset === null || Object.hasOwn(preset.settings, "unknown") || source("unknown") !== null) return [];
  // An answer to GET is no response to a call, so what `IDEMPOTENCY` asks for other routes decides nothing here.
  const isCall = Object.hasOwn(preset.settings, "jsonrpc");
  if (!isCall && source("verify") !== null) return [];
  const asked = isCall ? "" : ', "verify" with verify (the API is asked)';
  const message =
    `must be written with preset = "${all.preset}", because a lost call may have charged, and a fresh attempt, as ${preset.protocol} wants it, charges twice: ` +
    `write unknown = "hold" (a person decides)${asked}, or "retry" (only if twice does no harm)`;
  return [{ path: `${place("preset")}.unknown`, code: "setting-missing", message }];
}
