// The settings that are tables themselves: `key_format` and `fingerprint`. Decides on single members; whether the least
// length exceeds the greatest belongs to `cross-checks.ts`.

import * as v from "valibot";

import { MAX_KEY_LENGTH } from "./bounds.ts";
import { choice, headerNames, lowerCase, parsed, whole } from "./schema-members.ts";
import { parseKeyPattern } from "./values.ts";

/** Members of `key_format`; what is left out has its built-in default, not that of `IDEMPOTENCY.key_format`. */
export const keyFormatEntries = {
  pattern: v.exactOptional(v.pipe(v.string('must be text: write "^[0-9a-f-]{36}$"'), parsed(parseKeyPattern))),
  min: v.exactOptional(whole(1, MAX_KEY_LENGTH, 16)),
  max: v.exactOptional(whole(1, MAX_KEY_LENGTH, 64)),
};

/** Members of `fingerprint`; what is left out has its built-in default. */
export const fingerprintEntries = {
  body: v.exactOptional(choice(["bytes", "json", "none"])),
  headers: v.exactOptional(headerNames(lowerCase, 0)),
};
