// The operations of the operator API on events, and on the consumers of claims, as the OpenAPI document describes them.

import { type Json, outboxParameters, positionsParameters } from "../../../operator/openapi-components.ts";
import { answer, operation, type Operation } from "../../../operator/openapi-operation.ts";

export function outboxPaths(): Json {
  return {
    "/outbox": {
      get: operation({
        id: "listEvents",
        summary: "The destinations, what is left for each, and its events, without their data.",
        description:
          "Asks every shard how many events it has, and then those that have some. A page may be shorter than limit and not be the last: continue until cursor is null. An unknown parameter is refused. A shard that does not answer is named in unreachable and left out. 503 when none answers.",
        parameters: outboxParameters(),
        answer: answer("A page.", "OutboxPage"),
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
  };
}

function outboxOperation(change: Pick<Operation, "id" | "summary" | "description">): Json {
  return operation({
    ...change,
    isAdmins: true,
    request: "OutboxChange",
    answer: answer("What this call has done; events is 0 if the event is not there any more.", "OutboxChanged"),
    problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
  });
}

export function positionsPaths(): Json {
  return {
    "/positions": {
      get: operation({
        id: "listPositions",
        summary: "The groups of consumers, their open claims, and how far they have read.",
        description:
          "Asks every shard for its counts, and then those that have positions. A page may be shorter than limit and not be the last: continue until cursor is null. The claims themselves are records: GET /records with route=claims:GROUP. An unknown parameter is refused. A shard that does not answer is named in unreachable and left out. 503 when none answers.",
        parameters: positionsParameters(),
        answer: answer("A page.", "PositionPage"),
        problems: ["Invalid", "Unavailable"],
      }),
    },
    "/positions/set": {
      post: operation({
        id: "setPosition",
        summary: "Sets where a group goes on in a partition.",
        description:
          "Forward, past a message that is not to be read, such as one that was never claimed; or back, so that the group reads again: messages that were processed get their results, and nothing is done twice. No claim ends by that. It is read when a consumer next asks where to go on. The log says what was set, and why.",
        isAdmins: true,
        request: "PositionChange",
        answer: answer("It is set.", "PositionSet"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
  };
}
