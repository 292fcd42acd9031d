// Settings for a route on trial: whether it protects anything, and what is looked at meanwhile. Checks single members; feature.ts checks the relations
// to other settings.

import * as v from "valibot";

import type { RouteTrial } from "../../../kernel/config/resolved.ts";
import {
  choiceSetting,
  defaultsOf,
  durationOrNone,
  parsedSetting,
  settingOf,
  type TextsOf,
} from "../../../kernel/config/setting-kinds.ts";
import { DAY_MS, type ParsedSetting, refuseValue } from "../../../kernel/config/units.ts";
import { parsePointer, POINTER_PATTERN } from "../../../kernel/config/values.ts";

/** Whether a route protects its requests, or lets them pass and looks on. */
export const MODES = ["enforce", "observe"] as const;

const SHARE_PATTERN = "^(?:0|[1-9][0-9]?)(?:\\.[0-9]{1,2})?%$";
const SAMPLE_MESSAGE = "must be a number above 0, at most 1: write 0.1";

/** A share of all keys, as `"10%"`; parsed to 0.1. */
function parseShare(text: string): ParsedSetting<number> {
  const share = new RegExp(SHARE_PATTERN).test(text) ? Number.parseFloat(text) / 100 : 0;
  return share > 0
    ? { ok: true, value: share }
    : refuseValue('must be a share above 0% and below 100%: write "10%", or mode = "enforce" for all keys');
}

/** Members of `observe`. */
export const observeEntries = {
  effect: settingOf(
    v.pipe(
      v.string('must be text: write "/id"'),
      v.metadata({ pattern: POINTER_PATTERN, takes: 'a JSON pointer, such as `"/id"`' }),
      parsedSetting(parsePointer),
    ),
  ),
  sample: settingOf(
    v.pipe(
      v.number(SAMPLE_MESSAGE),
      v.check((share) => share > 0 && share <= 1, SAMPLE_MESSAGE),
      v.metadata({ takes: "a number above 0, at most 1" }),
    ),
    1,
  ),
  keyless: settingOf(durationOrNone(DAY_MS), "10m"),
};

export const observeMemberTexts: TextsOf<typeof observeEntries> = {
  effect: {
    description:
      "Where a JSON response names what it made, such as the id of a payment. Two successful responses to one key with different " +
      "values are two effects; without it the report can only say that the responses differ.",
    otherwise: "responses are compared as a whole",
    onChange: "applies at once",
  },
  sample: {
    description:
      "The share of keys that are looked at, by their hash: a key's requests are all looked at, or none of them.",
    onChange: "applies at once",
  },
  keyless: {
    description:
      'For how long equal requests without a key, from one caller, count as repeats; `"none"`: they are not looked at. Each costs what a request with a key costs.',
    onChange: "applies at once",
  },
};

/** What applies to a member of `observe` that is left out; `effect` has no default. */
const OBSERVE_DEFAULTS = v.parse(
  v.required(v.omit(v.strictObject(observeEntries), ["effect"])),
  defaultsOf(observeEntries),
);

export const trialEntries = {
  mode: settingOf(choiceSetting(MODES), "enforce"),
  enforce: settingOf(
    v.pipe(
      v.string('must be text: write "10%"'),
      v.metadata({ pattern: SHARE_PATTERN, takes: 'a share of keys, such as `"10%"`' }),
      parsedSetting<string, number>(parseShare),
    ),
  ),
  observe: settingOf(v.strictObject(observeEntries, 'must be a table: write { effect = "/id" }'), {}),
};

export const trialTexts: TextsOf<typeof trialEntries> = {
  mode: {
    description:
      '`"observe"`: the route protects nothing. Requests pass as if there were no route, and `npx onceway report` says what it would ' +
      "have done. All other settings of the route are those on trial.",
    onChange:
      "applies at once: keys of an observed route are not protected, and one that was only observed is a new one",
  },
  enforce: {
    description:
      'The share of keys that a route with `mode = "observe"` protects all the same, by their hash: a larger share keeps those of a smaller one.',
    otherwise: "none",
    onChange: "applies at once: the keys that a smaller share leaves out are not protected",
  },
  observe: {
    description:
      "What is looked at while a route is observed. A route's table replaces that of `IDEMPOTENCY` as a whole.",
    takes: "a table of the members below",
    onChange: "applies at once",
  },
};

export interface TrialSettings {
  readonly mode: (typeof MODES)[number];
  /** 0 to below 1. */
  readonly enforce?: number;
  readonly observe: { readonly effect?: string; readonly sample?: number; readonly keyless?: number | null };
}

/** `null`: the route protects all of its requests. */
export function trialOf({ mode, enforce = 0, observe }: TrialSettings): RouteTrial | null {
  if (mode === "enforce") return null;
  const { effect = null, sample, keyless } = { ...OBSERVE_DEFAULTS, ...observe };
  return { protectedShare: enforce, effect, sample, keylessMs: keyless ?? 0 };
}
