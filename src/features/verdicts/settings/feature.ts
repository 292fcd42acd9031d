// The setting `verdicts`: what the body of a result says all the same, and what that adds to a route's rules.

import * as v from "valibot";

import type { Route } from "../../../kernel/config/resolved.ts";
import {
  choiceSetting,
  parsedSetting,
  settingOf,
  statusesSetting,
  type TextsOf,
} from "../../../kernel/config/setting-kinds.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import { parsePointer, POINTER_PATTERN } from "../../../kernel/config/values.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";
import type { BodyRule } from "../../../kernel/record/verdict.ts";

/** Each is looked for in every body that is read. */
const MAX_RULES = 32;
const MAX_VALUES = 32;

const ADVICE = 'write verdicts = [{ at = "/error/code", equals = "RATE_LIMITED", is = "refused" }]';
const VALUES_ADVICE = 'write equals = "RATE_LIMITED", or a list';

const listedValue = v.union(
  [v.string(), v.number(), v.boolean()],
  `must be text, a number, true or false: ${VALUES_ADVICE}`,
);

/** Members of a rule that may be left out. */
export const ruleEntries = {
  equals: settingOf(
    v.pipe(
      v.union(
        [
          v.string(),
          v.number(),
          v.boolean(),
          v.pipe(v.array(listedValue), v.metadata({ minItems: 1, maxItems: MAX_VALUES })),
        ],
        `must be text, a number, true or false, or a list of them: ${VALUES_ADVICE}`,
      ),
      v.transform((one) => (Array.isArray(one) ? one : [one])),
      v.minLength(1, `must have a value: ${VALUES_ADVICE}, or leave it out for any value`),
      v.maxLength(MAX_VALUES, `must have at most ${MAX_VALUES} values: leave some out`),
      v.check(
        (values) => values.every((one) => typeof one !== "number" || isExact(one)),
        "must be a whole number of up to 15 digits, or one with a point that a double keeps: write it as the body has it",
      ),
    ),
  ),
  status: settingOf(
    v.pipe(statusesSetting(), v.metadata({ minItems: 1 }), v.minLength(1, 'must name a status: write ["2xx"]')),
    ["2xx"],
  ),
};

/** TOML has larger numbers than JSON's readers keep. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

export const ruleTexts: TextsOf<typeof ruleEntries> = {
  equals: {
    description: "What is there: text, a number, `true` or `false`, of the same kind as in the body.",
    takes: "a value, or a list of values",
    otherwise: "any value but `null`",
    onChange: "applies at once",
  },
  status: {
    description: "The statuses whose bodies the rule is about.",
    onChange: "applies at once",
  },
};

export const verdictEntries = {
  verdicts: settingOf(
    v.pipe(
      v.array(
        v.strictObject(
          {
            at: v.pipe(
              v.string('must be text: write at = "/error/code"'),
              v.metadata({ pattern: POINTER_PATTERN, examples: ["/error/code", "/errors/0/extensions/code"] }),
              parsedSetting(parsePointer),
            ),
            is: choiceSetting(["refused", "ambiguous", "result"] as const),
            ...ruleEntries,
          },
          `must be a table: ${ADVICE}`,
        ),
        `must be a list of tables: ${ADVICE}`,
      ),
      v.maxLength(MAX_RULES, `must have at most ${MAX_RULES} entries: leave some out`),
    ),
    [],
  ),
};

export const verdictTexts: TextsOf<typeof verdictEntries> = {
  verdicts: {
    description:
      'What the JSON body of an answer says whose status says that it is a result: `at` is a JSON pointer, `is` one of `"refused"` (the origin did not act), ' +
      '`"ambiguous"` (it may have acted) and `"result"`. The first entry that matches decides; without one, the status does. ' +
      "**Calling a partial success refused does it twice:** [dangers and recipes](../../features/verdicts/README.md).",
    takes: "a list of tables with `at`, `is` and the members below",
    onChange: "applies at once",
  },
};

type VerdictSettings = Required<v.InferOutput<v.StrictObjectSchema<typeof verdictEntries, undefined>>>;

export const verdictsSettings: FeatureSettings<VerdictSettings> = {
  name: "verdicts",
  routes: { after: "ambiguous", entries: verdictEntries, tables: { verdicts: ruleEntries } },
  read: () => ({ resolveRoute }),
};

function resolveRoute(route: Route, { verdicts: written }: FullSettings & VerdictSettings): Route {
  if (written.length === 0) return route;
  const verdicts = written.map(({ at, equals = null, is, status = ["2xx"] }): BodyRule => ({
    at,
    equals,
    is,
    statuses: status,
  }));
  return { ...route, rules: { ...route.rules, verdicts, uncompressed: true } };
}
