// Presets in Node: the text of their setting, and what `check` says of written settings that break a rule of the protocol.

import { presetSettings } from "../settings/expand-presets.ts";
import { presetEntries, presetTexts } from "../settings/feature.ts";
import { presetNamed } from "../settings/presets.ts";
import type { Config, Route } from "../../../kernel/config/resolved.ts";
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

function promises({ routes }: Config): readonly string[] {
  return routes.flatMap((route) =>
    [...errorCost(route), ...sellersPart(route)].map((promise) => `${route.path}: ${promise}`),
  );
}

/** What the protocol's own rule about errors costs. */
function errorCost(route: Route): readonly string[] {
  const preset = presetNamed(route.preset);
  const rule = preset?.settings["refused"]?.rule;
  if (preset === null || judgedStatus(route, 500) !== "refused") return [];
  return [
    `an answer with 500 counts as one before the effect (${preset.protocol} ${rule}), so if the API has charged before it failed, the next try charges again`,
  ];
}

/** What AdCP wants of a seller that no gateway knows, or of which no preset can know how much. */
function sellersPart({ preset, rules, newKeys }: Route): readonly string[] {
  if (preset !== "adcp") return [];
  const seconds = rules.policy.retentionMs / 1000;
  return [
    `get_adcp_capabilities has to declare replay_ttl_seconds = ${seconds} (AdCP rule 7)`,
    ...(newKeys === null ? ["nothing limits new keys, as AdCP rule 8 wants it for each agent: write new_keys"] : []),
  ];
}
