// The operations of the operator API on events, as the OpenAPI document describes them.

import {
  type OpenApiJson,
  type OpenApiFeature,
  pageTexts,
  queryParameters,
} from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { EVENTS_QUERY } from "./events-request-schema.ts";
import { EVENTS_ACTIONS, outboxDestinationSchema, outboxEventSchema, outboxPageSchema } from "./outbox-schema.ts";

export const outboxOpenApi: OpenApiFeature = {
  name: "outbox",
  schemas: {
    OutboxPage: outboxPageSchema,
    OutboxDestination: outboxDestinationSchema,
    OutboxEvent: outboxEventSchema,
  },
  paths: {
    "/outbox": {
      get: operationObject({
        id: "listEvents",
        summary: "The destinations, what is left for each, and its events, without their data.",
        description:
          "Asks every shard how many events it has, and then those that have some. A page may be shorter than limit and not be the last: continue until cursor is null. An unknown parameter is refused. A shard that does not answer is named in unreachable and left out. 503 when none answers.",
        parameters: parameters(),
        answer: describedAnswer("A page.", "OutboxPage"),
        problems: ["Invalid", "Unavailable"],
      }),
    },
  },
  actions: Object.values(EVENTS_ACTIONS),
};

function parameters(): readonly OpenApiJson[] {
  return queryParameters(EVENTS_QUERY, {
    state: { description: "Only these; both by default." },
    destination: { description: "Only those for this one." },
    ...pageTexts("events"),
  });
}
