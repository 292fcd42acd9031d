// The operations of the operator API on groups of consumers, as the OpenAPI document describes them, and the command line calls one.

import {
  type OpenApiJson,
  type OpenApiFeature,
  pageTexts,
  queryParameters,
} from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { documentedAction } from "../../../operator/schema-members.ts";
import { POSITIONS_QUERY, setPosition } from "./position-request-schema.ts";
import { consumerGroupSchema, positionPageSchema, positionSchema, positionSetSchema } from "./positions-schema.ts";

export const setPositionAction = documentedAction(setPosition, {
  id: "setPosition",
  summary: "Sets where a group goes on in a partition.",
  description:
    "Forward, past a message that is not to be read, such as one that was never claimed; or back, so that the group reads again: messages that were processed get their results, and nothing is done twice. No claim ends by that. It is read when a consumer next asks where to go on. The log says what was set, and why.",
  request: "PositionChange",
  members: {
    group: { description: "The group.", example: "billing" },
    stream: { description: "The stream.", example: "orders" },
    partition: { description: "Its partition.", example: 3 },
    next: { description: "The first message that the group is to read.", example: 42 },
    reason: { description: "Why this is done; written to the log.", example: "Message 41 cannot be read." },
  },
  answer: { description: "It is set.", name: "PositionSet", schema: positionSetSchema },
});

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
