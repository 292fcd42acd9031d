// The operations of the operator API on events, as the OpenAPI document describes them, and the command line calls two.

import * as v from "valibot";

import {
  type OpenApiJson,
  type OpenApiFeature,
  pageTexts,
  queryParameters,
} from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { documentedAction, withDescription } from "../../../operator/schema-members.ts";
import { dropEvents, EVENTS_QUERY, resendEvents } from "./events-request-schema.ts";
import { outboxChangedSchema, outboxDestinationSchema, outboxEventSchema, outboxPageSchema } from "./outbox-schema.ts";

const CHANGE = {
  request: "OutboxChange",
  members: {
    destination: { description: "The destination whose events are changed.", example: "billing" },
    reason: { description: "Why this is done; written to the log.", example: "The receiver works again." },
    event: {
      description: "Only this one, wherever it stands in the list now; without it, all of the destination.",
      schema: v.strictObject({
        shard: withDescription(v.string(), "Its shard, as listed.", "shard-3-of-64"),
        place: withDescription(v.string(), "Its place, as listed.", "billing.1795250000000.1"),
        id: withDescription(v.string(), "Its id.", "5f0c2a52-5a62-4d36-8a5f-6a8f2f4f6f0e-0"),
      }),
    },
    state: { description: "Only these; both by default. Not together with event.", example: "dead" },
    preview: { description: "Counts the events and changes nothing.", example: true },
    confirm: { description: "Changes them. Needed unless event is given.", example: true },
  },
  answer: {
    description: "What this call has done; events is 0 if the event is not there any more.",
    name: "OutboxChanged",
    schema: outboxChangedSchema,
  },
};

export const EVENTS_ACTIONS = {
  resend: documentedAction(resendEvents, {
    id: "resendEvents",
    summary: "Sends events again: dead ones, and pending ones that are not due yet.",
    description:
      "They are due now, and are given up as late as if they had just been published. Their ids stay. Their destination's rest ends, so pending events that are due are tried as well. One call works for five seconds: call again while more is true. The log says how many events it were, and why.",
    ...CHANGE,
  }),
  drop: documentedAction(dropEvents, {
    id: "dropEvents",
    summary: "Erases events: nobody gets them.",
    description:
      "Cannot be undone. One that is being sent may still be taken. One call works for five seconds: call again while more is true. The log says how many events it were, and why.",
    ...CHANGE,
  }),
};

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
