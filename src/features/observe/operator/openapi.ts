// The operation of the operator API on routes on trial, as the OpenAPI document describes it.

import { type OpenApiFeature, queryParameters } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { REPORT_QUERY } from "./report-query.ts";
import { reportSchema } from "./report-schema.ts";

export const observeOpenApi: OpenApiFeature = {
  name: "observe",
  schemas: { Report: reportSchema },
  paths: {
    "/report": {
      get: operationObject({
        id: "report",
        summary: 'What enforcing would have done with the requests of routes with mode = "observe".',
        description:
          "Asks every shard that can be enumerated, one object request each; of a layout with more than 128 shards it asks some, and answers what is known of the others.",
        parameters: queryParameters(REPORT_QUERY, {
          since: {
            description: "How far back, in whole days in UTC; at most 7d, which is also the default.",
            schema: { examples: ["24h", "7d"] },
          },
        }),
        answer: describedAnswer("The report.", "Report"),
        problems: ["Invalid", "Unavailable"],
      }),
    },
  },
};
