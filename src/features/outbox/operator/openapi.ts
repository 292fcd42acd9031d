// The operations of the operator API on events, as the OpenAPI document describes them.

import {
  type OpenApiJson,
  type OpenApiFeature,
  pageTexts,
  queryParameters,
} from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject, type ApiOperation } from "../../../operator/openapi-operation.ts";
import { EVENTS_QUERY } from "./events-request-schema.ts";
import {
  outboxChangedSchema,
  outboxChangeRequestSchema,
  outboxDestinationSchema,
  outboxEventSchema,
  outboxPageSchema,
} from "./outbox-schema.ts";

export const outboxOpenApi: OpenApiFeature = {
  name: "outbox",
  schemas: {
    OutboxPage: outboxPageSchema,
    OutboxDestination: outboxDestinationSchema,
    OutboxEvent: outboxEventSchema,
    OutboxChange: outboxChangeRequestSchema,
    OutboxChanged: outboxChangedSchema,
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
    "/outbox/resend": {
      post: outboxOperation({
        id: "resendEvents",
        summary: "Sends events again: dead ones, and pending ones that are not due yet.",
        description:
          "They are due now, and are given up as late as if they had just been published. Their ids stay. Their destination's rest ends, so pending events that are due are tried as well. One call works for five seconds: call again while more is true. The log says how many events it were, and why.",
      }),
    },
    "/outbox/drop": {
      post: outboxOperation({
        id: "dropEvents",
        summary: "Erases events: nobody gets them.",
        description:
          "Cannot be undone. One that is being sent may still be taken. One call works for five seconds: call again while more is true. The log says how many events it were, and why.",
      }),
    },
  },
};

function outboxOperation(change: Pick<ApiOperation, "id" | "summary" | "description">): OpenApiJson {
  return operationObject({
    ...change,
    isAdmins: true,
    request: "OutboxChange",
    answer: describedAnswer(
      "What this call has done; events is 0 if the event is not there any more.",
      "OutboxChanged",
    ),
    problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
  });
}

function parameters(): readonly OpenApiJson[] {
  return queryParameters(EVENTS_QUERY, {
    state: { description: "Only these; both by default." },
    destination: { description: "Only those for this one." },
    ...pageTexts("events"),
  });
}
