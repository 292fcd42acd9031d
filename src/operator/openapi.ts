// The operator API as an OpenAPI document: its paths, parameters and statuses. src/cli/write-openapi.ts converts the schemas
// and writes the whole to openapi.json; tests hold the routes of api.ts and real answers against that file. Must never be
// imported by the Worker.

import {
  openApiComponents,
  type OpenApiJson,
  type OpenApiFeature,
  pageTexts,
  queryParameter,
  queryParameters,
  mergedParts,
  schemaRef,
} from "./openapi-components.ts";
import { actionPath, describedAnswer, operationObject } from "./openapi-operation.ts";
import { ACTION_TEXTS, RECORD_ACTIONS } from "./record-actions/record-actions.ts";
import { RECORDS_QUERY } from "./records-query.ts";

/** The frame's operations, and then each feature's. `schemas`: those of all of them, converted. */
export function openApiDocument(version: string, schemas: OpenApiJson, features: readonly OpenApiFeature[]): object {
  return {
    openapi: "3.1.0",
    info: {
      title: "Onceway operator API",
      version,
      description:
        "The records that the gateway keeps, and the changes that an operator may make to them. Off (404) unless there are operators: the secret ADMIN_TOKEN, OPERATORS or ACCESS. Without a valid token, or an assertion of Cloudflare Access, every request gets the same 401, whatever it asks for. All times are ISO 8601, UTC.",
    },
    servers: [{ url: "/_onceway" }],
    security: [{ admin: [] }, { reader: [] }],
    paths: mergedParts([
      FRAME_PATHS,
      ...features.flatMap(({ paths = {}, actions = [] }) => [paths, ...actions.map(actionPath)]),
    ]),
    components: openApiComponents(schemas, features),
  };
}

const ID: OpenApiJson = { $ref: "#/components/parameters/Id" };

/** What an action answers besides the record. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = { resolve: ["Preview"], forget: ["Forgotten"] };

/** What operators may do whatever the features. */
const FRAME_PATHS: OpenApiJson = {
  "/health": {
    get: operationObject({
      id: "health",
      summary: "Whether the Worker answers, its version, and what operators should change.",
      answer: describedAnswer("The Worker answers.", "Health"),
      problems: ["Unavailable"],
    }),
  },
  "/drain": {
    get: operationObject({
      id: "drain",
      summary: "What is in flight or open, by shard.",
      description:
        'Shards of routes with shards = "per-key" cannot be enumerated and are not counted. A shard that does not answer is named in unreachable and not counted, so nothing is in flight only if unreachable is empty. 503 when none answers.',
      answer: describedAnswer("The counts.", "Totals"),
      problems: ["Unavailable"],
    }),
  },
  "/layouts": {
    get: operationObject({
      id: "layouts",
      summary: "The layouts that the configuration lists, and which older one may go.",
      description: 'Asks every object, except those of layouts with shards = "per-key". 503 when none answers.',
      parameters: [
        queryParameter(
          "all",
          { type: "string", enum: ["1"] },
          'With 1, objects that no client has used are asked too (location_hint = "first-use"), which creates them. Those that have something are asked from then on.',
        ),
      ],
      answer: describedAnswer("The layouts.", "Layouts"),
      problems: ["Unavailable"],
    }),
  },
  "/metrics": {
    get: operationObject({
      id: "metrics",
      summary: "Metrics, as Prometheus reads them.",
      description:
        "Asks every shard that can be enumerated, one object request each, and one more that adds up what they have counted.",
      parameters: [
        queryParameter(
          "shards",
          { type: "string", enum: ["1"] },
          "With 1, every gauge of shards has a series for each of them.",
        ),
      ],
      answer: { description: "The metrics.", content: { "text/plain": { schema: { type: "string" } } } },
      problems: ["Unavailable"],
    }),
  },
  "/recent": {
    get: operationObject({
      id: "recent",
      summary: "The latest exchanges, oldest first; with a cursor, those that came since.",
      description:
        "The exchanges in the shards' memory: the last 100 of each shard, and none from before it was last evicted. An exchange appears 300 ms after its end.",
      parameters: [queryParameter("after", { type: "string" }, "A cursor from an earlier answer of this feed.")],
      answer: describedAnswer("The exchanges.", "Recent"),
      problems: ["Invalid", "Unavailable"],
    }),
  },
  "/sessions/end": {
    post: operationObject({
      id: "endSessions",
      summary: "Ends every session of the console, whoever started it.",
      description: "The tokens stay valid. A body is not read.",
      isAdmins: true,
      answer: describedAnswer("All sessions have ended.", "Ended"),
      problems: ["Forbidden", "Unavailable"],
    }),
  },
  "/records": {
    get: operationObject({
      id: "listRecords",
      summary: "Lists records, the last attempt that started latest first.",
      description:
        'A page may be shorter than limit, even empty, and not be the last: continue until cursor is null. One request looks at a bounded number of records: where a shard has more than about 4,000 that a filter may match, the list goes through all of them in parts, each in order, and total is an estimate. 400 for a cursor whose parts have grown four times as large: begin again. Records of routes with shards = "per-key" are found only by their key, or by 32 digits of their id. An unknown parameter is refused. A shard that does not answer is named in unreachable and left out of this page. 503 when none answers; with key or id, also when a shard that could hold the record does not.',
      parameters: listParameters(),
      answer: describedAnswer("A page.", "RecordPage"),
      problems: ["Invalid", "Unavailable"],
    }),
  },
  "/records/{id}": {
    get: operationObject({
      id: "inspectRecord",
      summary: "One record with its timeline, without its response's body.",
      parameters: [ID],
      answer: describedAnswer("The record as it is now.", "Record"),
      problems: ["NoRecord", "Unavailable"],
    }),
  },
  "/records/{id}/body": {
    get: operationObject({
      id: "responseBody",
      summary: "The bytes of the stored response.",
      isAdmins: true,
      parameters: [ID],
      answer: {
        description: "The bytes, in the response's content coding.",
        content: { "application/octet-stream": { schema: {} } },
      },
      problems: ["Forbidden", "NoRecord", "Unavailable"],
    }),
  },
  ...Object.fromEntries(
    RECORD_ACTIONS.map(({ name, words }) => [
      `/records/{id}/${name}`,
      {
        post: operationObject({
          id: name,
          summary: ACTION_TEXTS[name].summary,
          description: ACTION_TEXTS[name].description,
          isAdmins: true,
          parameters: [ID],
          request: words.title,
          answer: describedAnswer(ACTION_TEXTS[name].answer, "Record", ...(ANSWERS[name] ?? [])),
          problems: ["Invalid", "Forbidden", "NoRecord", "Refused", "TooLarge", "Unavailable"],
        }),
      },
    ]),
  ),
};

function listParameters(): readonly OpenApiJson[] {
  const { state, ...others } = {
    state: { description: "One state or more, separated by commas; all by default." },
    route: { description: "The path of the route, as configured." },
    since: {
      description:
        "Only records whose last attempt started at this time (RFC 3339) or later, or at most this long ago.",
      schema: { examples: ["24h", "2026-11-23T08:30:00Z"] },
    },
    until: {
      description:
        "Only records whose last attempt started at this time (RFC 3339) or before, or at least this long ago.",
      schema: { examples: ["5m", "2026-11-23T08:30:00Z"] },
    },
    key: { description: "The idempotency key, without quotes around it. Its records in all scopes." },
    id: {
      description:
        "The first digits of the record's id: a log's keyHash, or fewer or more digits. Not together with key. With shards = \"per-key\", at least 32 digits.",
    },
    caller: {
      description: "Only records of this caller: the digest that records show in request.caller.",
      schema: { examples: ["3f9a0c51d2be"] },
    },
    status: {
      description: "Only records whose result has this status.",
      schema: { type: "integer", minimum: 100, maximum: 599, examples: [201] },
    },
    ...pageTexts("records"),
  };
  const { state: _, ...entries } = RECORDS_QUERY;
  const states = { ...queryParameter("state", { type: "array", items: schemaRef("State") }, state.description) };
  return [{ ...states, style: "form", explode: false }, ...queryParameters(entries, others)];
}
