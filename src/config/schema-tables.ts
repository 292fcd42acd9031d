// The settings that are tables themselves: `key_format` and `fingerprint`. Decides on single members; whether the least
// length exceeds the greatest belongs to `cross-checks.ts`.

import * as v from "valibot";

import { MAX_KEY_LENGTH } from "./bounds.ts";
import { choice, headerNames, lowerCase, parsed, whole } from "./schema-members.ts";
import { parseKeyPattern } from "./values.ts";

/** Members of `key_format`; what is left out has its built-in default, not that of `IDEMPOTENCY.key_format`. */
export const keyFormatEntries = {
  pattern: v.exactOptional(
    v.pipe(
      v.string('must be text: write "^[0-9a-f-]{36}$"'),
      v.description("A JavaScript regular expression (flag u) that the key has to match; anchor it with ^ and $."),
      parsed(parseKeyPattern),
    ),
  ),
  min: v.exactOptional(whole("Least length of a key. Default 1.", 1, MAX_KEY_LENGTH, 16)),
  max: v.exactOptional(whole("Greatest length of a key. Default 255.", 1, MAX_KEY_LENGTH, 64)),
};

/** Members of `fingerprint`; what is left out has its built-in default. */
export const fingerprintEntries = {
  body: v.exactOptional(
    choice('How the body counts: as bytes, as JSON in its RFC 8785 form, or not at all. Default "bytes".', [
      "bytes",
      "json",
      "none",
    ]),
  ),
  headers: v.exactOptional(
    headerNames("Request headers that are part of what is asked for. Default none.", lowerCase, 0),
  ),
};
