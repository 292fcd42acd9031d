// The operator API's request to decide about records, and its answer. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { givenResponseMembers, reasonMember } from "../../../operator/change-schema.ts";
import { RECORD_STATES } from "../../../operator/request-schema.ts";
import {
  A_TIME,
  AN_ID,
  timeSchema,
  withDescription,
  wordsSchema,
  type WrittenBy,
  describedBody,
} from "../../../operator/schema-members.ts";
import { decideSchema, DECISION_OUTCOMES, decisionSchema, MAX_DECISIONS } from "./decision-schema.ts";

const { status, headers, body, bodyBase64 } = givenResponseMembers.entries;

export const decisionMembers = describedBody(decisionSchema, {
  key: { description: "Either the key, which only one record may have,", example: "order-17" },
  id: { description: "or the record's id.", example: AN_ID },
  decision: { description: "What is done.", example: "resolve" },
  status: { described: status },
  headers: { described: headers.wrapped },
  body: { described: body.wrapped },
  bodyBase64: { described: bodyBase64.wrapped },
  reason: { described: reasonMember },
});

export const decideRequestSchema = describedBody(decideSchema, {
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
});

export const decidedSchema = v.object({
  until: withDescription(
    timeSchema,
    "What began, ended or was decided later is left: give it with the next call.",
    A_TIME,
  ),
  results: withDescription(
    v.array(
      v.object({
        outcome: withDescription(
          wordsSchema(DECISION_OUTCOMES),
          "changed, in a preview would-change; already: an earlier call has done it, or the record has this response; decided-since, began-since, ended-since: left, because an operator decided otherwise, another attempt began, or its attempt ended after until; in-flight, completed, remembered: refused, as for the record alone; not-found; several: give the id of one; unreachable: nothing was sent; unanswered: it may have been changed; not-reached: send it again.",
          "changed",
        ),
        id: withDescription(v.nullable(v.string()), "The record's; null if none was found, or several.", AN_ID),
        key: withDescription(v.nullable(v.string()), "Its key.", "order-17"),
        route: withDescription(v.nullable(v.string()), "Its route.", "/v1/payments/*"),
        state: withDescription(v.nullable(wordsSchema(RECORD_STATES)), "Its state before.", "unknown"),
        ids: withDescription(v.array(v.string()), "With several, the first ten records of the key.", []),
        warnings: withDescription(
          v.array(v.string()),
          "With preview, what of the response may be right but deserves a second look.",
          [],
        ),
      }),
    ),
    "One for each decision, in their order.",
  ),
  unreachable: withDescription(v.array(v.string()), "Shards that did not answer within five seconds.", []),
});

export type DecidedView = WrittenBy<typeof decidedSchema>;
