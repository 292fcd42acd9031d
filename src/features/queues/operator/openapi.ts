// The operation of the operator API that tries a queue, as the OpenAPI document describes it.

import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";
import { queueTrialRequestSchema, trialSchema } from "./queue-schema.ts";

export const queuesOpenApi: OpenApiFeature = {
  name: "queues",
  schemas: { QueueTrial: queueTrialRequestSchema, Trial: trialSchema },
  paths: {
    "/queues/{queue}/try": {
      post: operationObject({
        id: "tryQueue",
        summary: "Gives the queue's consumer one message twice.",
        description:
          "As a queue does whose first acknowledgement is lost: what the second delivery finds is decided by the record of the first. Everything is real: the call to the origin, the record, a dead letter. Only the message is given here, and the queue knows nothing of it. 400, and nothing is done, for an unknown queue and for a message that its consumer would not send to the origin, for example one without a key. Takes as long as the origin does, twice at most.",
        isAdmins: true,
        parameters: [{ $ref: "#/components/parameters/Queue" }],
        request: "QueueTrial",
        answer: describedAnswer("What was decided.", "Trial"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
  },
  parameters: {
    Queue: {
      name: "queue",
      in: "path",
      required: true,
      description: "As QUEUES names it.",
      schema: { type: "string", examples: ["orders"] },
    },
  },
};
