// The operation of the operator API on groups of consumers, as the OpenAPI document describes it.

import { type Json, positionsParameters } from "./openapi-components.ts";
import { answer, operation } from "./openapi-operation.ts";

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
  };
}
