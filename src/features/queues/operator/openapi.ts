// The action that tries a queue, as the OpenAPI document describes it and the command line calls it.

import * as v from "valibot";

import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { documentedAction } from "../../../operator/schema-members.ts";
import { trialSchema } from "./queue-schema.ts";
import { queueTrial } from "./trial-request-schema.ts";

export const tryQueueAction = documentedAction(queueTrial, {
  id: "tryQueue",
  summary: "Gives the queue's consumer one message twice.",
  description:
    "As a queue does whose first acknowledgement is lost: what the second delivery finds is decided by the record of the first. Everything is real: the call to the origin, the record, a dead letter. Only the message is given here, and the queue knows nothing of it. 400, and nothing is done, for an unknown queue and for a message that its consumer would not send to the origin, for example one without a key. Takes as long as the origin does, twice at most.",
  request: "QueueTrial",
  members: {
    queue: { description: "As QUEUES names it.", example: "orders" },
    body: {
      description:
        "The message: a text as it is, any other value as JSON, which is what the queue's producer would have sent.",
      example: { id: "order-7" },
    },
    bodyBase64: {
      description: "The message as bytes, in base64; not together with body.",
      example: "AAEC",
      schema: v.pipe(v.string(), v.metadata({ contentEncoding: "base64" })),
    },
  },
  answer: { description: "What was decided.", name: "Trial", schema: trialSchema },
});

export const queuesOpenApi: OpenApiFeature = { name: "queues", actions: [tryQueueAction] };
