// The operation of the operator API that decides about records, as the OpenAPI document describes it.

import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { decidedSchema, decideRequestSchema } from "./decisions-schema.ts";

export const decisionsOpenApi: OpenApiFeature = {
  name: "decisions",
  schemas: { Decide: decideRequestSchema, Decided: decidedSchema },
  paths: {
    "/records/decide": {
      post: operationObject({
        id: "decide",
        summary: "Decides about many records, each as it is.",
        description:
          "Either preview or confirm must be true. Ask for a preview, look at it, and send the same request with confirm and the until of its answer: what began, ended or was decided after that time is left. All decisions are checked before the first is carried out, and two that may name one record are refused. Each record is changed as it is alone, with the same refusals, and the log has an entry for each, with its key. One call works for about five seconds: what it has not got to is not-reached, and can be sent again. So can all of it: what was done is answered already.",
        isAdmins: true,
        request: "Decide",
        answer: describedAnswer("What has become of each decision, or would.", "Decided"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
  },
};
