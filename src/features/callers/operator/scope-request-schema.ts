// The request to forget a caller's records, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { reasonSchema } from "../../../operator/request-schema.ts";

const SCOPE = 'scope must map each part of one scope to its value: write {"header:authorization":"Bearer …"}.';
const MAX_PARTS = 16;

/** `null`: the caller's requests lack the part. No message repeats a value. */
export const scopeValuesSchema = v.record(v.string(SCOPE), v.nullable(v.string(SCOPE)), SCOPE);

const namedCallerSchema = v.pipe(
  scopeValuesSchema,
  v.check((scope) => Object.values(scope).some((value) => value !== null), SCOPE),
  v.check((scope) => Object.keys(scope).length <= MAX_PARTS, SCOPE),
);

export const forgetScopeSchema = v.strictObject(
  {
    scope: namedCallerSchema,
    reason: reasonSchema,
    preview: v.exactOptional(v.boolean("preview must be true or false.")),
    confirm: v.exactOptional(v.boolean("confirm must be true or false.")),
    includeUnknown: v.exactOptional(v.boolean("includeUnknown must be true or false.")),
    cursor: v.exactOptional(v.string("cursor must be text from an answer before.")),
  },
  'The body must be JSON: write {"scope":{"header:authorization":"Bearer …"},"reason":"…","preview":true}.',
);
