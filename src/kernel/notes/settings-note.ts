// Settings for what a record tells operators of its request. Checks single members; `cross-checks.ts` checks that an encrypted route keeps
// nothing in the open.

import * as v from "valibot";

import type { NoteRule } from "../config/resolved.ts";
import { type KeyPart, KEY_PART_PATTERN, parseKeyPart } from "../config/key-source.ts";
import { choice, defaultsOf, duration, parsed, setting, sizeSetting } from "../config/setting-kinds.ts";
import { DAY_MS } from "../config/units.ts";
import { NOTE_RULES } from "../config/words.ts";

/** More than an operator reads, and little beside a record. */
const MAX_EXCERPT_BYTES = 4096;
const MAX_EXCERPT_MS = 7 * DAY_MS;

/** Members of a route's `excerpt`. */
export const excerptEntries = {
  bytes: setting(sizeSetting(MAX_EXCERPT_BYTES), {
    description: "How much of the beginning of a body is kept.",
    default: 500,
    onChange: "applies to new records",
  }),
  keep: setting(duration(MAX_EXCERPT_MS), {
    description: "For how long.",
    default: "1h",
    onChange: "applies to new records",
  }),
};

const EXCERPT_DEFAULTS = v.parse(v.required(v.strictObject(excerptEntries)), defaultsOf(excerptEntries));

export const noteSettings = {
  note: setting(choice(NOTE_RULES), {
    description:
      'What operators see of a record\'s request: `"target"` its method, path and query, the size of its body and a short digest of ' +
      'its caller; `"path"` the same without the query; `"none"` nothing.',
    default: "target",
    onChange: "applies to new records",
  }),
  label: setting(
    v.pipe(
      v.string('must be text: write "json:/order/id"'),
      v.metadata({ pattern: KEY_PART_PATTERN }),
      parsed<string, KeyPart>(parseKeyPart),
    ),
    {
      description:
        "A value of the request by which operators know it, such as the number of an order. It is looked for only in bodies that are " +
        "held in memory.",
      takes: '`"header:NAME"`, `"query:NAME"`, `"json:/POINTER"` or `"form:NAME"`',
      otherwise: "none",
      onChange: "applies to new records",
    },
  ),
  excerpt: setting(v.strictObject(excerptEntries, 'must be a table: write { bytes = 500, keep = "1h" }'), {
    description:
      "Keeps the beginning of each request's body for operators, **in the open, for a time**. It costs two rows written for each " +
      "request.",
    takes: "a table of the members below",
    otherwise: "none: no part of a body is kept for operators",
    onChange: "applies to new records",
  }),
};

/** What a route's settings say. */
export function noteRuleOf(
  { note, label, excerpt }: v.InferOutput<v.StrictObjectSchema<typeof noteSettings, undefined>>,
  isEncrypted: boolean,
): NoteRule {
  const { bytes, keep } = { ...EXCERPT_DEFAULTS, ...excerpt };
  return {
    what: isEncrypted ? "none" : (note ?? "target"),
    label: label ?? null,
    excerpt: excerpt === undefined ? null : { bytes, keepMs: keep },
  };
}
