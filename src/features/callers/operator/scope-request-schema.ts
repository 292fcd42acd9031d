// The request to forget a caller's records, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { jsonBody } from "../../../operator/operator-action.ts";
import { previewOrConfirm, reasonSchema } from "../../../operator/request-schema.ts";

const SCOPE = 'scope must map each part of one scope to its value: write {"header:authorization":"Bearer …"}.';
const MAX_PARTS = 16;

/** `null`: the caller's requests lack the part. No message repeats a value. */
export const scopeValuesSchema = v.record(v.string(SCOPE), v.nullable(v.string(SCOPE)), SCOPE);

const namedCallerSchema = v.pipe(
  scopeValuesSchema,
  v.check((scope) => Object.values(scope).some((value) => value !== null), SCOPE),
  v.check((scope) => Object.keys(scope).length <= MAX_PARTS, SCOPE),
);

const FORGET_BODY = jsonBody(
  {
    scope: namedCallerSchema,
    reason: reasonSchema,
    ...previewOrConfirm,
    includeUnknown: v.exactOptional(v.boolean("includeUnknown must be true or false.")),
    cursor: v.exactOptional(v.string("cursor must be text from an answer before.")),
  },
  '{"scope":{"header:authorization":"Bearer …"},"reason":"…","preview":true}',
  ({ scope, reason, preview: isPreview = false, confirm = false, includeUnknown = false, cursor = null }) => {
    if (isPreview === confirm) {
      const remedy = "Write preview: true to count them, then confirm: true instead to forget them.";
      return { ok: false, reason: `All records of the caller would be forgotten. ${remedy}` };
    }
    return { ok: true, value: { scope, reason, isPreview, includesUnknown: includeUnknown, cursor } };
  },
);

/** `scope` is as it was written. What the audit log says of it is in forgetting.ts. */
export const FORGET_SCOPE = { word: "forget-scope", path: "/scopes/forget", body: FORGET_BODY };
