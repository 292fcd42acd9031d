// What has become of decisions about records. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { RECORD_STATES } from "../../../operator/request-schema.ts";
import {
  A_TIME,
  AN_ID,
  timeSchema,
  withDescription,
  wordsSchema,
  type WrittenBy,
} from "../../../operator/schema-members.ts";
import { DECISION_OUTCOMES } from "./decision-schema.ts";

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
