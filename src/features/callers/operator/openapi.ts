// The operation of the operator API that forgets a caller's records, as the OpenAPI document describes it.

import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { forgetScopeRequestSchema, scopeErasedSchema } from "./callers-schema.ts";

export const callersOpenApi: OpenApiFeature = {
  name: "callers",
  schemas: { ForgetScope: forgetScopeRequestSchema, ScopeErased: scopeErasedSchema },
  paths: {
    "/scopes/forget": {
      post: operationObject({
        id: "forgetScope",
        summary: "Forgets all records of one caller: of one scope.",
        description:
          "Either preview or confirm must be true. One call looks at a bounded number of records: continue with the cursor until it is null, and add the counts up. Records that come meanwhile may be left: send it again. Asks every object of every layout, except those with an object for each key, which notListed names. A shard that does not answer is named in unreachable, and has to be asked again from the start. No answer repeats a value of the scope. For up to 30 seconds some Workers may still replay a forgotten record from their memory.",
        isAdmins: true,
        request: "ForgetScope",
        answer: describedAnswer("What this call has done.", "ScopeErased"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
  },
};
