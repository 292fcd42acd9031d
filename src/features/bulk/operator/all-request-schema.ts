// The request to change all records that match, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { ACTION_NAMES } from "../../../operator/record-actions/record-actions.ts";
import { givenResponseSchema, reasonSchema } from "../../../operator/request-schema.ts";

const FILTER =
  'filter must have the conditions of a list, each as text: write {"state":"unknown","route":"/v1/payments"}.';

const UNTIL = "until must be the time in the answer of the preview.";

/** All records that a filter matches. */
export const changeAllSchema = v.strictObject(
  {
    change: v.picklist(ACTION_NAMES, `change must be one of ${ACTION_NAMES.join(", ")}.`),
    filter: v.record(v.string(FILTER), v.string(FILTER), FILTER),
    reason: reasonSchema,
    response: v.exactOptional(givenResponseSchema),
    preview: v.exactOptional(v.boolean("preview must be true or false.")),
    confirm: v.exactOptional(v.boolean("confirm must be true or false.")),
    until: v.exactOptional(v.pipe(v.string(UNTIL), v.isoTimestamp(UNTIL))),
    cursor: v.exactOptional(v.string("cursor must be text from an answer before.")),
  },
  'The body must be JSON: write {"change":"release","filter":{"state":"unknown"},"reason":"…","preview":true}.',
);
