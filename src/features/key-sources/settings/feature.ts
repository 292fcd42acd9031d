// The setting of where keys are, and what it adds to a route.

import * as v from "valibot";

import {
  KEY_MEMBER_PATTERN,
  KEY_SOURCE_FORMS,
  KEY_SOURCE_PATTERN,
  type KeySource,
  MAX_SOURCES,
  parseKeySource,
  parseKeySources,
} from "../../../kernel/config/key-source.ts";
import { parsedSetting, settingOf, type TextsOf } from "../../../kernel/config/setting-kinds.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";

interface KeySourceSettings {
  readonly key_from: readonly KeySource[];
}

/** The forms of an entry. */
export const SOURCE_FORMS = [
  v.pipe(v.string(), v.metadata({ pattern: KEY_SOURCE_PATTERN })),
  v.pipe(
    v.array(v.pipe(v.string(), v.metadata({ pattern: KEY_MEMBER_PATTERN }))),
    v.metadata({ minItems: 2, maxItems: MAX_SOURCES }),
    v.maxLength(MAX_SOURCES, `must have at most ${MAX_SOURCES} members: leave some out`),
  ),
  v.strictObject({ template: v.string() }),
] as const;

/** What is said of an entry of another form. */
export const SOURCE_ADVICE =
  'must be text, a list of texts or a template: write "header:Idempotency-Key", ["json:/a", "json:/b"] or { template = "order-{json:/id}" }';

export const keySourceEntries = {
  key_from: settingOf(
    v.pipe(
      v.array(
        v.pipe(
          v.union(SOURCE_FORMS, SOURCE_ADVICE),
          parsedSetting<string | string[] | { template: string }, KeySource>(parseKeySource),
        ),
        'must be a list: write ["header:Idempotency-Key"]',
      ),
      v.metadata({ minItems: 1, maxItems: MAX_SOURCES }),
      v.minLength(1, 'must name at least one place: write ["header:Idempotency-Key"], or leave it out'),
      v.maxLength(MAX_SOURCES, `must have at most ${MAX_SOURCES} entries: leave some out`),
      parsedSetting<KeySource[], readonly KeySource[]>(parseKeySources),
    ),
    ["header:Idempotency-Key"],
  ),
};

export const keySourceTexts: TextsOf<typeof keySourceEntries> = {
  key_from: {
    description:
      "Where the key may be, in the order in which it is looked for. A list in the list takes several values together, all " +
      'of which must be there; `"text:WORD"` in it is a word of your own, which keeps its keys apart from others.',
    takes: KEY_SOURCE_FORMS,
    onChange:
      "**names other records**, unless the same key is found in the new place: append a place rather than replace one",
  },
};

export const keySourcesSettings: FeatureSettings<KeySourceSettings> = {
  name: "key-sources",
  routes: { after: "key", entries: keySourceEntries, tables: {} },
  read: () => ({ resolveRoute: (route, { key_from: keyFrom }) => ({ ...route, keyFrom }) }),
};
