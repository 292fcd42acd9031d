// The operation of the operator API that changes all records that match, as the OpenAPI document describes it.

import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { allChangedSchema, changeAllRequestSchema } from "./bulk-schema.ts";

export const bulkOpenApi: OpenApiFeature = {
  name: "bulk",
  schemas: { ChangeAll: changeAllRequestSchema, AllChanged: allChangedSchema },
  paths: {
    "/records/change": {
      post: operationObject({
        id: "changeAll",
        summary: "Changes all records that a filter matches.",
        description:
          "Either preview or confirm must be true. Ask for a preview, look at it, and send the same request with confirm and the until of its answer: records whose last attempt began after that time are left, and so are those that an operator has changed since. The ages of the filter count from until. One call works for about five seconds: continue with the cursor until it is null, and add the counts up. Each record is changed as it is alone, with the same refusals, and only if it is still what the list showed; its timeline has who, and why. It can be sent again: what has been changed is neither changed nor counted again. A filter that would match every record is refused. The log has the filter and the counts.",
        isAdmins: true,
        request: "ChangeAll",
        answer: describedAnswer("What this call has done, or would do.", "AllChanged"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
  },
};
