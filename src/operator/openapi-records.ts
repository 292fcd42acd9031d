// The parameters of the list of records in the OpenAPI document.

import { type Json, queryParameter, schemaRef } from "./openapi-components.ts";
import { ID_PREFIX, LIST_LIMITS } from "./request-schema.ts";

export function listParameters(): readonly Json[] {
  const { defaultLimit, maxLimit, maxRouteLength, maxKeyLength } = LIST_LIMITS;
  return [
    {
      ...queryParameter(
        "state",
        { type: "array", items: schemaRef("State") },
        "One state or more, separated by commas; all by default.",
      ),
      style: "form",
      explode: false,
    },
    queryParameter(
      "route",
      { type: "string", minLength: 1, maxLength: maxRouteLength },
      "The path of the route, as configured.",
    ),
    queryParameter(
      "since",
      { type: "string", examples: ["24h", "2026-11-23T08:30:00Z"] },
      "Only records whose last attempt started at this time (RFC 3339) or later, or at most this long ago.",
    ),
    queryParameter(
      "until",
      { type: "string", examples: ["5m", "2026-11-23T08:30:00Z"] },
      "Only records whose last attempt started at this time (RFC 3339) or before, or at least this long ago.",
    ),
    queryParameter(
      "caller",
      { type: "string", pattern: "^[0-9a-f]{12}$", examples: ["3f9a0c51d2be"] },
      "Only records of this caller: the digest that records show in request.caller.",
    ),
    queryParameter(
      "status",
      { type: "integer", minimum: 100, maximum: 599, examples: [201] },
      "Only records whose result has this status.",
    ),
    queryParameter(
      "key",
      { type: "string", minLength: 1, maxLength: maxKeyLength },
      "The idempotency key, without quotes around it. Its records in all scopes.",
    ),
    queryParameter(
      "id",
      { type: "string", pattern: ID_PREFIX.source },
      "The first digits of the record's id: a log's keyHash, or fewer or more digits. Not together with key. With shards = \"per-key\", at least 32 digits.",
    ),
    queryParameter(
      "limit",
      { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit },
      "How many records a page has at most.",
    ),
    queryParameter(
      "cursor",
      { type: "string" },
      "From an answer with the same filter: cursor for the next page, previous for the one before; or `last` for the last page, which has the oldest.",
    ),
  ];
}
