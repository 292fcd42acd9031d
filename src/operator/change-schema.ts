// The operator API's requests that change records, and their answers. As in record-schema.ts, the Worker imports only types from here.

import * as v from "valibot";

import { givenResponseEntries, reasonSchema } from "./request-schema.ts";
import { withDescription, countSchema, headerPairs, statusSchema, type WrittenBy } from "./schema-members.ts";

export const previewEntries = {
  status: withDescription(statusSchema, "The status.", 201),
  headers: withDescription(
    headerPairs,
    "As retries get them, except what the gateway adds to every replay, and the body's length.",
    [["content-type", "application/json"]],
  ),
  omittedHeaders: withDescription(v.array(v.string()), "Names of those that the route leaves out of replays.", []),
  sizeBytes: withDescription(countSchema, "The size of the body.", 14),
  body: withDescription(v.nullable(v.string()), "null when the body is not text.", '{"id":"pay_1"}'),
  warnings: withDescription(v.array(v.string()), "What may be right but deserves a second look.", []),
};

export const previewSchema = v.object({
  preview: withDescription(v.object(previewEntries), "What retries would get."),
});

export const forgottenSchema = v.object({
  forgotten: withDescription(
    v.boolean(),
    "The record is erased; false: this was a preview of a record that can be erased and not be shown, because it cannot be read.",
    true,
  ),
});

export const reasonMember = withDescription(
  reasonSchema,
  "Why this is done; written to the record's timeline.",
  "The origin's log has no such payment.",
);

export const givenResponseMembers = v.strictObject({
  status: withDescription(givenResponseEntries.status, "The status that retries get.", 201),
  headers: v.exactOptional(
    withDescription(givenResponseEntries.headers, "Without hop-by-hop headers, Content-Length and the gateway's own.", [
      ["content-type", "application/json"],
    ]),
  ),
  body: v.exactOptional(withDescription(givenResponseEntries.body, "The body as text.", '{"id":"pay_1"}')),
  bodyBase64: v.exactOptional(
    v.pipe(
      withDescription(givenResponseEntries.bodyBase64, "The body as bytes, in base64.", "eyJpZCI6InBheV8xIn0="),
      v.metadata({ contentEncoding: "base64" }),
    ),
  ),
});

export type PreviewView = WrittenBy<typeof previewSchema>;
export type ForgottenView = WrittenBy<typeof forgottenSchema>;
