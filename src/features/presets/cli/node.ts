// Presets in Node: the text of their setting, and what `check` says of written settings that break a rule of the protocol.

import { presetSettings } from "../settings/expand-presets.ts";
import { presetEntries, presetTexts } from "../settings/feature.ts";
import { presetNamed } from "../settings/presets.ts";
import type { Config } from "../../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { brokenRules } from "./broken-rules.ts";
import { judgedStatus } from "./protocol-rules.ts";
import { brokenToolRules } from "./tool-rules.ts";

export const presetsNode: NodeFeature = {
  name: "presets",
  texts: [[presetEntries, presetTexts]],
  check: { routeWarnings: brokenRules, warnings: brokenToolRules, writtenFor: presetSettings },
  promises,
};

/** What the protocol's own rule about errors costs. */
function promises({ routes }: Config): readonly string[] {
  return routes.flatMap((route) => {
    const preset = presetNamed(route.preset);
    const rule = preset?.settings["refused"]?.rule;
    if (preset === null || judgedStatus(route, 500) !== "refused") return [];
    return [
      `${route.path}: an answer with 500 counts as one before the effect (${preset.protocol} ${rule}), so if the API has charged before it failed, the next try charges again`,
    ];
  });
}
