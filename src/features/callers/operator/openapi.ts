// The operation of the operator API that forgets a caller's records, as the OpenAPI document describes it and the command line calls it.

import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { documentedAction } from "../../../operator/schema-members.ts";
import { scopeErasedSchema } from "./callers-schema.ts";
import { FORGET_SCOPE, scopeValuesSchema } from "./scope-request-schema.ts";

export const forgetScope = documentedAction(FORGET_SCOPE, {
  id: "forgetScope",
  summary: "Forgets all records of one caller: of one scope.",
  description:
    "Either preview or confirm must be true. One call looks at a bounded number of records: continue with the cursor until it is null, and add the counts up. Records that come meanwhile may be left: send it again. Asks every object of every layout, except those with an object for each key, which notListed names. A shard that does not answer is named in unreachable, and has to be asked again from the start. No answer repeats a value of the scope. For up to 30 seconds some Workers may still replay a forgotten record from their memory.",
  request: "ForgetScope",
  members: {
    scope: {
      description:
        "The caller's value for each part of a scope that some route has or had (scope, previous_scope); null for a part that its requests lack. A route's scope also has host unless its origin is a URL.",
      example: { "header:authorization": "Bearer eyJhbGciOi…" },
      schema: scopeValuesSchema,
    },
    reason: { description: "Why this is done; written to the log.", example: "Request for erasure of 2026-11-21." },
    preview: { description: "Only count.", example: true },
    confirm: { description: "Forget them.", example: true },
    includeUnknown: {
      description: "Also forget records whose outcome is unknown: a retry may then repeat what has taken effect.",
      example: false,
    },
    cursor: { description: "From the answer before, with the same scope.", example: "" },
  },
  answer: { description: "What this call has done.", name: "ScopeErased", schema: scopeErasedSchema },
});

export const callersOpenApi: OpenApiFeature = { name: "callers", actions: [forgetScope] };
