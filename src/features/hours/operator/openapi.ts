// The operation of the operator API on the last day, as the OpenAPI document describes it.

import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { hoursSchema } from "../../../operator/hours-schema.ts";

export const hoursOpenApi: OpenApiFeature = {
  name: "hours",
  schemas: { Hours: hoursSchema },
  paths: {
    "/hours": {
      get: operationObject({
        id: "hours",
        summary: "What was counted in each of the last 24 hours and the current one, by route.",
        description: "Asks every shard that can be enumerated, one object request each.",
        answer: describedAnswer("The hours.", "Hours"),
        problems: ["Unavailable"],
      }),
    },
  },
};
