// Presets in Node: the text of their setting, and what `check` says of written settings that break a rule of the protocol.

import { presetSettings } from "../settings/expand-presets.ts";
import { presetEntries, presetTexts } from "../settings/feature.ts";
import { type ProtocolPreset, presetNamed } from "../settings/presets.ts";
import { HOUR_MS } from "../../../kernel/config/units.ts";
import type { Config, ConfigProblem, Route } from "../../../kernel/config/resolved.ts";
import type { NodeFeature } from "../../../kernel/node-feature.ts";
import { judgeAttempt } from "../../../kernel/record/verdict.ts";

export const presetsNode: NodeFeature = {
  name: "presets",
  texts: [[presetEntries, presetTexts]],
  check: { routeWarnings: brokenRules, writtenFor: presetSettings },
  promises,
};

/** What the protocol's own rule about errors costs. */
function promises({ routes }: Config): readonly string[] {
  return routes.flatMap((route) =>
    presetOf(route) === null || judge(route, 500) !== "refused"
      ? []
      : [
          `${route.path}: an answer with 500 counts as one before the effect (6.5), so if the API has charged before it failed, the next try charges again`,
        ],
  );
}

function presetOf({ preset }: Route): ProtocolPreset | null {
  return presetNamed(preset);
}

function judge({ rules }: Route, status: number): string {
  return judgeAttempt({ kind: "answered", status }, rules.lists);
}

interface BrokenRule {
  readonly setting: string;
  readonly rule: string;
  readonly isBroken: (route: Route) => boolean;
  readonly what: string;
}

/** ACP, rfcs/rfc.agentic_checkout.md. */
const RULES: readonly BrokenRule[] = [
  {
    setting: "methods",
    rule: "6.1",
    isBroken: ({ methods }) => !methods.includes("POST"),
    what: "every POST needs a key",
  },
  { setting: "key", rule: "6.1", isBroken: ({ key }) => key === "optional", what: "a POST without a key is rejected" },
  {
    setting: "key_format",
    rule: "6.1",
    isBroken: ({ keyFormat: { min, max, pattern } }) => min > 1 || max < 255 || pattern !== null,
    what: "a key is an opaque text of up to 255 characters",
  },
  {
    setting: "scope",
    rule: "6.1",
    isBroken: ({ scope }) => !scope.some(({ kind }) => kind === "path"),
    what: 'the same key on another path is another key: add "path"',
  },
  {
    setting: "fingerprint",
    rule: "6.2",
    isBroken: ({ fingerprint: { body, selection, headers } }) =>
      body !== "json" || selection !== null || headers.length > 0,
    what: "requests are equal if their JSON bodies are, whatever their headers",
  },
  {
    setting: "problems",
    rule: "6.1 and 6.4",
    isBroken: ({ problemShape }) => problemShape?.name !== "acp",
    what: "errors have the protocol's form",
  },
  {
    setting: "refused",
    rule: "6.5",
    isBroken: (route) => [500, 501, 503, 599].some((status) => judge(route, status) !== "refused"),
    what: "a 5xx is not kept, and its retry is a fresh request",
  },
  {
    setting: "retention",
    rule: "6.6",
    isBroken: ({ rules }) => rules.policy.retentionMs < 24 * HOUR_MS,
    what: "keys live for 24 hours or more",
  },
  {
    setting: "remember",
    rule: "6.6",
    isBroken: ({ rules }) => rules.policy.rememberMs !== undefined,
    what: "an expired key is a new one, without an error",
  },
];

function brokenRules(route: Route): readonly ConfigProblem[] {
  const preset = presetOf(route);
  if (preset?.protocol !== "ACP") return [];
  return RULES.filter(({ isBroken }) => isBroken(route)).map(({ setting, rule, what }) => ({
    path: `${route.name}.${setting}`,
    message: `breaks ${preset.protocol} ${rule}, which preset = "${route.preset}" stands for: ${what}`,
  }));
}
