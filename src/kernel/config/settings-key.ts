// Settings for the form of a key, its scope, and what follows if it is used for another request. Checks single members;
// `cross-checks.ts` checks that the minimum length does not exceed the maximum.

import * as v from "valibot";

import { MAX_KEY_LENGTH } from "../record/units.ts";
import { choiceSetting, defaultsOf, parsedSetting, settingOf, type TextsOf, wholeSetting } from "./setting-kinds.ts";
import { CHANGES_FINGERPRINTS, fingerprintSchema } from "./settings-fingerprint.ts";
import { type ParsedSetting } from "./units.ts";
import { parseBindingName, parseForwardKey, parseKeyPattern, TOKEN_PATTERN } from "./values.ts";
import { KEY_RULES } from "./words.ts";
import {
  parsePreviousEntry,
  parseScope,
  parseScopeEntry,
  PREVIOUS_SCOPE_PATTERN,
  SCOPE_FORMS,
  SCOPE_PATTERN,
  type ScopePart,
} from "./scope-part.ts";

/** The step with the longest name, the first of several; `null` without any. */
export function longestStep(steps: readonly string[]): string | null {
  return steps.reduce<string | null>((one, other) => (one !== null && one.length >= other.length ? one : other), null);
}

/** The longest key that a route with these steps accepts: with a step's name added it is a key too. */
export function longestKey(steps: readonly string[]): number {
  const step = longestStep(steps);
  return step === null ? MAX_KEY_LENGTH : MAX_KEY_LENGTH - `:${step}`.length;
}

/** Members of `key_format`. One that is left out has its built-in default, not that of `IDEMPOTENCY.key_format`. */
export const keyFormatEntries = {
  pattern: settingOf(v.pipe(v.string('must be text: write "^[0-9a-f-]{36}$"'), parsedSetting(parseKeyPattern))),
  min: settingOf(wholeSetting(1, MAX_KEY_LENGTH, 16), 1),
  max: settingOf(wholeSetting(1, MAX_KEY_LENGTH, 64)),
};

export const keyFormatTexts: TextsOf<typeof keyFormatEntries> = {
  pattern: {
    description: "A regular expression (JavaScript, flag `u`) that a key must match. Anchor it with `^` and `$`.",
    takes: '`"^[0-9a-f-]{36}$"`, for example',
    otherwise: "none",
    onChange: "applies at once",
  },
  min: {
    description: "The minimum length of a key.",
    onChange: "applies at once",
  },
  max: {
    description:
      'The maximum length of a key. It leaves room for a step in `forward_key`: at most 248 with `"charge"`.',
    otherwise: "255, less what a step in `forward_key` or `publish` adds",
    onChange: "applies at once",
  },
};

const keyFormatSchema = v.strictObject(
  keyFormatEntries,
  'must be a table: write { pattern = "^[0-9a-f-]{36}$", min = 16, max = 64 }',
);

/** What applies to a member of `key_format` that is left out; `pattern` and `max` have no fixed default. */
export const KEY_FORMAT_DEFAULTS = v.parse(
  v.required(v.omit(v.strictObject(keyFormatEntries), ["pattern", "max"])),
  defaultsOf(keyFormatEntries),
);

/** Each costs a first request one row written, and one erased. */
const MAX_PREVIOUS_SCOPES = 4;

const PREVIOUS_SCOPE_MESSAGE = 'must be a list of earlier values of scope: write [["header:authorization"]]';

/** One value of `scope`. */
function scope(
  message: string,
  [pattern, parse]: readonly [string, (entry: string) => ParsedSetting<ScopePart | null>] = [
    SCOPE_PATTERN,
    parseScopeEntry,
  ],
) {
  return v.pipe(
    v.array(
      v.pipe(v.string('must be text: write "header:authorization"'), v.metadata({ pattern }), parsedSetting(parse)),
      message,
    ),
    v.metadata({ minItems: 1 }),
    parsedSetting<(ScopePart | null)[], readonly ScopePart[]>(parseScope),
  );
}

export const keySettings = {
  key: settingOf(choiceSetting(KEY_RULES), "required"),
  key_format: settingOf(keyFormatSchema, {}),
  scope: settingOf(scope('must be a list: write ["header:authorization"]'), ["header:authorization"]),
  previous_scope: settingOf(
    v.pipe(
      v.array(scope(PREVIOUS_SCOPE_MESSAGE, [PREVIOUS_SCOPE_PATTERN, parsePreviousEntry]), PREVIOUS_SCOPE_MESSAGE),
      v.metadata({ maxItems: MAX_PREVIOUS_SCOPES }),
      v.maxLength(
        MAX_PREVIOUS_SCOPES,
        `must have at most ${MAX_PREVIOUS_SCOPES} entries: leave out those whose records have expired`,
      ),
    ),
    [],
  ),
  new_keys: settingOf(
    v.pipe(
      v.string('must be text: write "NEW_KEYS"'),
      v.metadata({ examples: ["NEW_KEYS", "none"] }),
      parsedSetting<string, string | null>((text) =>
        text === "none" ? { ok: true, value: null } : parseBindingName(text),
      ),
    ),
    "none",
  ),
  fingerprint: settingOf(fingerprintSchema, {}),
  key_reused_status: settingOf(wholeSetting(400, 499, 422), 422),
  forward_key: settingOf(
    v.pipe(
      v.string('must be text: write "client", "none" or a step name'),
      v.metadata({ pattern: TOKEN_PATTERN, examples: ["client", "none", "charge"] }),
      parsedSetting(parseForwardKey),
    ),
    "client",
  ),
};

export const keyTexts: TextsOf<typeof keySettings> = {
  key: {
    description: 'Whether a request needs a key. With `"optional"`, a request without one passes unprotected.',
    onChange: "applies at once",
  },
  key_format: {
    description: "The form that a key must have. A route's table replaces that of `IDEMPOTENCY` as a whole.",
    takes: "a table of the members below",
    onChange: "applies at once",
  },
  scope: {
    description:
      "Whose key it is: the same key in another scope names another record. The host is always part of the scope where " +
      "the origin is a binding or the zone's own. `path`, `route:WORD` and `json:/POINTER` say [what a request is about](../request/README.md#what-a-key-is-for), " +
      "and never who its caller is.",
    takes: SCOPE_FORMS,
    onChange: "**names other records**: append the old value to `previous_scope`, or older keys are not found",
  },
  previous_scope: {
    description:
      "Earlier values of `scope`, oldest first. Records of these scopes are found as before, and deployments that use " +
      "one of them find new records. Never list a scope that showed one caller's records to another. Where the host has changed its part " +
      '(another `origin` or `trust_forwarded`), an earlier scope says what it was: `"any-host"` no part at all, `"host"` that of the request\'s ' +
      'URL, `"forwarded-host"` that of a trusted proxy. An entry that says nothing means the part that the host has now.',
    takes: 'a list of values of `scope`, in which `"any-host"` and `"forwarded-host"` may be too',
    onChange: "applies at once; **records of a scope that is taken out are not found**",
  },
  new_keys: {
    description:
      "How many new keys each caller (each scope) may begin in a period: what this rate limit binding (`[[ratelimits]]`) allows. " +
      "Beyond that a request with a new key gets 429. Replays, duplicates and retries of keys that have begun are never counted. " +
      '`"none"` means no limit.',
    takes: 'the name of a rate limit binding, such as `"NEW_KEYS"`, or `"none"`',
    onChange: "applies at once",
  },
  fingerprint: {
    description:
      "What tells a retry from a reuse of the key, besides method and path: the query, the body, and headers. A route's " +
      "table replaces that of `IDEMPOTENCY` as a whole.",
    takes: "a table of the members below",
    onChange: CHANGES_FINGERPRINTS,
  },
  key_reused_status: {
    description: "The status of `key-reused`: the key was used before, for another request.",
    onChange: "applies at once",
  },
  forward_key: {
    description:
      'The key that the origin receives: `"client"` sends the client\'s own, `"none"` sends none, and the name of a step, ' +
      'such as `"charge"`, sends `<key>:charge`.',
    takes: '`"client"`, `"none"` or the name of a step',
    onChange: "applies to keys that are new at the origin: a record keeps the form of its first attempt",
  },
};
