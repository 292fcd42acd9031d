// The decision about many records, as the OpenAPI document describes it and the command line calls it.

import * as v from "valibot";

import { givenResponseMembers, reasonMember } from "../../../operator/change-schema.ts";
import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { A_TIME, AN_ID, describedBody, documentedAction } from "../../../operator/schema-members.ts";
import { DECIDE, decisionSchema, MAX_DECISIONS } from "./decision-schema.ts";
import { decidedSchema } from "./decisions-schema.ts";

const { status, headers, body, bodyBase64 } = givenResponseMembers.entries;

const decisionMembers = describedBody(decisionSchema, {
  key: { description: "Either the key, which only one record may have,", example: "order-17" },
  id: { description: "or the record's id.", example: AN_ID },
  decision: { description: "What is done.", example: "resolve" },
  status: { described: status },
  headers: { described: headers.wrapped },
  body: { described: body.wrapped },
  bodyBase64: { described: bodyBase64.wrapped },
  reason: { described: reasonMember },
});

export const decideManyAction = documentedAction(DECIDE, {
  id: "decide",
  summary: "Decides about many records, each as it is.",
  description:
    "Either preview or confirm must be true. Ask for a preview, look at it, and send the same request with confirm and the until of its answer: what began, ended or was decided after that time is left. All decisions are checked before the first is carried out, and two that may name one record are refused. Each record is changed as it is alone, with the same refusals, and the log has an entry for each, with its key. One call works for about five seconds: what it has not got to is not-reached, and can be sent again. So can all of it: what was done is answered already.",
  request: "Decide",
  members: {
    decisions: {
      description:
        "Each is about another record. The response of a resolve is status, headers, and body or bodyBase64, as for a single record.",
      schema: v.pipe(v.array(decisionMembers), v.minLength(1), v.maxLength(MAX_DECISIONS)),
    },
    reason: {
      description: "Of decisions without their own.",
      example: "Reconciled with the ledger.",
      schema: reasonMember,
    },
    preview: { description: "Only say what would become of each.", example: true },
    confirm: { description: "Carry them out.", example: true },
    until: {
      description: "From the answer of the preview; a preview without it takes the time of the call.",
      example: A_TIME,
    },
  },
  answer: { description: "What has become of each decision, or would.", name: "Decided", schema: decidedSchema },
});

export const decisionsOpenApi: OpenApiFeature = { name: "decisions", actions: [decideManyAction] };
