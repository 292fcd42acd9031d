// The request to change all records that match, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { ACTION_NAMES } from "../../../operator/record-actions/record-actions.ts";
import { givenResponseSchema, previewStepEntries, reasonSchema } from "../../../operator/request-schema.ts";

const FILTER =
  'filter must have the conditions of a list, each as text: write {"state":"unknown","route":"/v1/payments"}.';

/** All records that a filter matches. */
export const changeAllSchema = v.strictObject(
  {
    change: v.picklist(ACTION_NAMES, `change must be one of ${ACTION_NAMES.join(", ")}.`),
    filter: v.record(v.string(FILTER), v.string(FILTER), FILTER),
    reason: reasonSchema,
    response: v.exactOptional(givenResponseSchema),
    ...previewStepEntries,
    cursor: v.exactOptional(v.string("cursor must be text from an answer before.")),
  },
  'The body must be JSON: write {"change":"release","filter":{"state":"unknown"},"reason":"…","preview":true}.',
);

export const CHANGE_ALL = { path: "/records/change", body: changeAllSchema };
