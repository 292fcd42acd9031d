// The operator API as an OpenAPI document: its paths, parameters and statuses. src/cli/write-openapi.ts converts the schemas
// and writes the whole to openapi.json; tests hold the routes of api.ts and real answers against that file. Must never be
// imported by the Worker.

import { auditPaths } from "../features/audit/operator/openapi.ts";
import { components, type Json, queryParameter } from "./openapi-components.ts";
import { answer, operation, type Operation } from "./openapi-operation.ts";
import { outboxPaths, positionsPaths } from "../features/outbox/operator/openapi.ts";
import { listParameters } from "./openapi-records.ts";

/** `schemas`: those of openapi-components.ts, converted. */
export function openApiDocument(version: string, schemas: Json): object {
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
    paths: paths(),
    components: components(schemas),
  };
}

function paths(): Json {
  return {
    "/health": {
      get: operation({
        id: "health",
        summary: "Whether the Worker answers, its version, and what operators should change.",
        answer: answer("The Worker answers.", "Health"),
        problems: ["Unavailable"],
      }),
    },
    "/drain": {
      get: operation({
        id: "drain",
        summary: "What is in flight or open, by shard.",
        description:
          'Shards of routes with shards = "per-key" cannot be enumerated and are not counted. A shard that does not answer is named in unreachable and not counted, so nothing is in flight only if unreachable is empty. 503 when none answers.',
        answer: answer("The counts.", "Totals"),
        problems: ["Unavailable"],
      }),
    },
    "/layouts": {
      get: operation({
        id: "layouts",
        summary: "The layouts that the configuration lists, and which older one may go.",
        description: 'Asks every object, except those of layouts with shards = "per-key". 503 when none answers.',
        answer: answer("The layouts.", "Layouts"),
        problems: ["Unavailable"],
      }),
    },
    "/layouts/{layout}/close": {
      post: operation({
        id: "closeLayout",
        summary: "Seals every object of an older layout: no new key begins there.",
        description:
          "Seals the objects that are still open; the others are sealed already. Cannot be undone, and loses nothing: new keys begin in the layout in force. Refused for a layout in force. Objects that do not answer are named in unreachable: send it again. A body is not read.",
        isAdmins: true,
        parameters: [LAYOUT],
        answer: answer("The layout as it is now.", "Layout"),
        problems: ["Invalid", "Forbidden", "Unavailable"],
      }),
    },
    "/metrics": {
      get: operation({
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
      get: operation({
        id: "recent",
        summary: "The latest exchanges, oldest first; with a cursor, those that came since.",
        description:
          "The exchanges in the shards' memory: the last 100 of each shard, and none from before it was last evicted. An exchange appears 300 ms after its end.",
        parameters: [queryParameter("after", { type: "string" }, "A cursor from an earlier answer of this feed.")],
        answer: answer("The exchanges.", "Recent"),
        problems: ["Invalid", "Unavailable"],
      }),
    },
    "/hours": {
      get: operation({
        id: "hours",
        summary: "What was counted in each of the last 24 hours and the current one, by route.",
        description:
          "Asks every shard that can be enumerated, one object request each. What a shard counted in its last ten minutes is missing if it left memory then.",
        answer: answer("The hours.", "Hours"),
        problems: ["Unavailable"],
      }),
    },
    "/sessions/end": {
      post: operation({
        id: "endSessions",
        summary: "Ends every session of the console, whoever started it.",
        description: "The tokens stay valid. A body is not read.",
        isAdmins: true,
        answer: answer("All sessions have ended.", "Ended"),
        problems: ["Forbidden", "Unavailable"],
      }),
    },
    "/scopes/forget": {
      post: operation({
        id: "forgetScope",
        summary: "Forgets all records of one caller: of one scope.",
        description:
          "Either preview or confirm must be true. One call looks at a bounded number of records: continue with the cursor until it is null, and add the counts up. Records that come meanwhile may be left: send it again. Asks every object of every layout, except those with an object for each key, which notListed names. A shard that does not answer is named in unreachable, and has to be asked again from the start. No answer repeats a value of the scope. For up to 30 seconds some Workers may still replay a forgotten record from their memory.",
        isAdmins: true,
        request: "ForgetScope",
        answer: answer("What this call has done.", "ScopeErased"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
    ...auditPaths(),
    ...outboxPaths(),
    ...positionsPaths(),
    "/queues/{queue}/try": {
      post: operation({
        id: "tryQueue",
        summary: "Gives the queue's consumer one message twice.",
        description:
          "As a queue does whose first acknowledgement is lost: what the second delivery finds is decided by the record of the first. Everything is real: the call to the origin, the record, a dead letter. Only the message is given here, and the queue knows nothing of it. 400, and nothing is done, for an unknown queue and for a message that its consumer would not send to the origin, for example one without a key. Takes as long as the origin does, twice at most.",
        isAdmins: true,
        parameters: [QUEUE],
        request: "QueueTrial",
        answer: answer("What was decided.", "Trial"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
    "/records": {
      get: operation({
        id: "listRecords",
        summary: "Lists records, the last attempt that started latest first.",
        description:
          'A page may be shorter than limit, even empty, and not be the last: continue until cursor is null. One request looks at a bounded number of records: where a shard has more than about 4,000 that a filter may match, the list goes through all of them in parts, each in order, and total is an estimate. 400 for a cursor whose parts have grown four times as large: begin again. Records of routes with shards = "per-key" are found only by their key, or by 32 digits of their id. An unknown parameter is refused. A shard that does not answer is named in unreachable and left out of this page. 503 when none answers; with key or id, also when a shard that could hold the record does not.',
        parameters: listParameters(),
        answer: answer("A page.", "RecordPage"),
        problems: ["Invalid", "Unavailable"],
      }),
    },
    "/records/change": {
      post: operation({
        id: "changeAll",
        summary: "Changes all records that a filter matches.",
        description:
          "Either preview or confirm must be true. Ask for a preview, look at it, and send the same request with confirm and the until of its answer: records whose last attempt began after that time are left, and so are those that an operator has changed since. The ages of the filter count from until. One call works for about five seconds: continue with the cursor until it is null, and add the counts up. Each record is changed as it is alone, with the same refusals, and only if it is still what the list showed; its timeline has who, and why. It can be sent again: what has been changed is neither changed nor counted again. A filter that would match every record is refused. The log has the filter and the counts.",
        isAdmins: true,
        request: "ChangeAll",
        answer: answer("What this call has done, or would do.", "AllChanged"),
        problems: ["Invalid", "Forbidden", "TooLarge", "Unavailable"],
      }),
    },
    "/records/{id}": {
      get: operation({
        id: "inspectRecord",
        summary: "One record with its timeline, without its response's body.",
        parameters: [ID],
        answer: answer("The record as it is now.", "Record"),
        problems: ["NoRecord", "Unavailable"],
      }),
    },
    "/records/{id}/body": {
      get: operation({
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
    "/records/{id}/release": {
      post: changeOperation({
        id: "release",
        summary: "Lets the next request start another attempt.",
        description:
          "For failed and unknown records. Attempts never overlap: the next one starts when the last one's lock has ended.",
        request: "Reason",
        answer: answer("The record, now failed.", "Record"),
      }),
    },
    "/records/{id}/resolve": {
      post: changeOperation({
        id: "resolve",
        summary: "Gives the record its response: every retry gets it from now on.",
        description:
          "For failed and unknown records. A response that contradicts itself is refused: a body that is not JSON under a JSON content-type, a body where the status allows none, one that is not encoded as content-encoding says, a header that may appear once but is given twice. Either preview or confirm must be true: preview changes nothing and returns what retries would get, confirm gives them the response.",
        request: "Resolve",
        answer: answer("The record, now completed; with preview, what retries would get.", "Record", "Preview"),
      }),
    },
    "/records/{id}/forget": {
      post: changeOperation({
        id: "forget",
        summary: "Erases the record: the next request with its key is a first request.",
        description:
          "Refused while an attempt may still be running. The log keeps the reason. For up to 30 seconds some Workers may still replay a completed record from their memory.",
        request: "Reason",
        answer: answer("The record is erased.", "Forgotten"),
      }),
    },
  };
}

const LAYOUT: Json = { $ref: "#/components/parameters/Layout" };
const QUEUE: Json = { $ref: "#/components/parameters/Queue" };
const ID: Json = { $ref: "#/components/parameters/Id" };

function changeOperation(change: Omit<Operation, "isAdmins" | "parameters" | "problems">): Json {
  return operation({
    ...change,
    isAdmins: true,
    parameters: [ID],
    problems: ["Invalid", "Forbidden", "NoRecord", "Refused", "TooLarge", "Unavailable"],
  });
}
