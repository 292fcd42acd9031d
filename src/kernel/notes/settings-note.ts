// Settings for what a record tells operators of its request. Checks single members; `cross-checks.ts` checks that an encrypted route keeps
// nothing in the open.

import * as v from "valibot";

import type { NoteRule } from "../config/resolved.ts";
import type { FullSettings } from "../config/settings.ts";
import { type KeyPart, KEY_PART_PATTERN, parseKeyPart } from "../config/key-source.ts";
import {
  choiceSetting,
  defaultsOf,
  durationSetting,
  parsedSetting,
  settingOf,
  type TextsOf,
  sizeSetting,
} from "../config/setting-kinds.ts";
import { DAY_MS } from "../config/units.ts";
import { NOTE_RULES } from "../config/words.ts";

/** More than an operator reads, and little beside a record. */
const MAX_EXCERPT_BYTES = 4096;
const MAX_EXCERPT_MS = 7 * DAY_MS;

/** Members of a route's `note`. */
export const noteEntries = {
  request: settingOf(choiceSetting(NOTE_RULES), "target"),
  label: settingOf(
    v.pipe(
      v.string('must be text: write "json:/order/id"'),
      v.metadata({ pattern: KEY_PART_PATTERN }),
      parsedSetting<string, KeyPart>(parseKeyPart),
    ),
  ),
  excerpt: settingOf(sizeSetting(MAX_EXCERPT_BYTES)),
  excerpt_retention: settingOf(durationSetting(MAX_EXCERPT_MS), "1h"),
};

export const noteMemberTexts: TextsOf<typeof noteEntries> = {
  request: {
    description:
      '`"target"`: the request\'s method, path and query, the size of its body and a short digest of its caller; `"path"`: the same without ' +
      'the query; `"none"`: nothing of these.',
    onChange: "applies to new records",
  },
  label: {
    description:
      "A value of the request by which operators know it, such as the number of an order. It is looked for only in bodies that are " +
      "held in memory.",
    takes: '`"header:NAME"`, `"query:NAME"`, `"json:/POINTER"` or `"form:NAME"`',
    otherwise: "none",
    onChange: "applies to new records",
  },
  excerpt: {
    description:
      "How much of the beginning of each request's body is kept, **in the open, for a time**. It costs two rows written for each request.",
    otherwise: "none: no part of a body is kept for operators",
    onChange: "applies to new records",
  },
  excerpt_retention: {
    description: "How long an excerpt is kept.",
    onChange: "applies to new records",
  },
};

const NOTE_DEFAULTS = v.parse(
  v.required(v.omit(v.strictObject(noteEntries), ["label", "excerpt"])),
  defaultsOf(noteEntries),
);

export const noteSettings = {
  note: settingOf(v.strictObject(noteEntries, 'must be a table: write { label = "json:/order/id" }'), {}),
};

export const noteTexts: TextsOf<typeof noteSettings> = {
  note: {
    description:
      "What operators see of a record's request. A route's table replaces that of `IDEMPOTENCY` as a whole. Where responses are encrypted, " +
      "nothing is noted.",
    takes: "a table of the members below",
    onChange: "applies to new records",
  },
};

/** What a route's settings say. */
export function noteRuleOf({ note }: Pick<FullSettings, "note">, isEncrypted: boolean): NoteRule {
  const { request, label, excerpt, excerpt_retention: keepMs } = { ...NOTE_DEFAULTS, ...note };
  return {
    what: isEncrypted ? "none" : request,
    label: label ?? null,
    excerpt: excerpt === undefined ? null : { bytes: excerpt, keepMs },
  };
}
