// The operations of the operator API on groups of consumers, as the OpenAPI document describes them.

import {
  type OpenApiJson,
  type OpenApiFeature,
  pageTexts,
  queryParameters,
} from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { POSITIONS_QUERY } from "./position-request-schema.ts";
import { consumerGroupSchema, positionPageSchema, positionSchema, setPositionAction } from "./positions-schema.ts";

export const claimsOpenApi: OpenApiFeature = {
  name: "claims",
  schemas: {
    PositionPage: positionPageSchema,
    ConsumerGroup: consumerGroupSchema,
    Position: positionSchema,
  },
  paths: {
    "/positions": {
      get: operationObject({
        id: "listPositions",
        summary: "The groups of consumers, their open claims, and how far they have read.",
        description:
          "Asks every shard for its counts, and then those that have positions. A page may be shorter than limit and not be the last: continue until cursor is null. The claims themselves are records: GET /records with route=claims:GROUP. An unknown parameter is refused. A shard that does not answer is named in unreachable and left out. 503 when none answers.",
        parameters: parameters(),
        answer: describedAnswer("A page.", "PositionPage"),
        problems: ["Invalid", "Unavailable"],
      }),
    },
  },
  actions: [setPositionAction],
};

function parameters(): readonly OpenApiJson[] {
  return queryParameters(POSITIONS_QUERY, {
    group: { description: "Only this group's; all by default." },
    ...pageTexts("positions"),
  });
}
