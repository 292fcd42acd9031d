// The request to change all records that match, as the Worker parses it. Imports nothing that needs the Worker.

import * as v from "valibot";

import { ACTION_NAMES } from "../../../operator/record-actions/record-actions.ts";
import { givenResponseSchema, reasonSchema } from "../../../operator/request-schema.ts";

const FILTER =
  'filter must have the conditions of a list, each as text: write {"state":"unknown","route":"/v1/payments"}.';

export const changeAllEntries = {
  change: v.picklist(ACTION_NAMES, `change must be one of ${ACTION_NAMES.join(", ")}.`),
  filter: v.record(v.string(FILTER), v.string(FILTER), FILTER),
  preview: v.boolean("preview must be true or false."),
  confirm: v.boolean("confirm must be true or false."),
  until: v.pipe(
    v.string("until must be the time in the answer of the preview."),
    v.isoTimestamp("until must be the time in the answer of the preview."),
  ),
  cursor: v.string("cursor must be text from an answer before."),
};

/** All records that a filter matches. */
export const changeAllSchema = v.strictObject(
  {
    change: changeAllEntries.change,
    filter: changeAllEntries.filter,
    reason: reasonSchema,
    response: v.exactOptional(givenResponseSchema),
    preview: v.exactOptional(changeAllEntries.preview),
    confirm: v.exactOptional(changeAllEntries.confirm),
    until: v.exactOptional(changeAllEntries.until),
    cursor: v.exactOptional(changeAllEntries.cursor),
  },
  'The body must be JSON: write {"change":"release","filter":{"state":"unknown"},"reason":"…","preview":true}.',
);
