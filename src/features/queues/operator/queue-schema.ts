// What came of a queue's trial. As in record-schema.ts, the Worker takes only types from here.

import * as v from "valibot";

import { DEAD_REASONS, DELIVERY_DECISIONS } from "../../../kernel/record/delivery.ts";
import {
  withDescription,
  AN_ID,
  countSchema,
  recordIdSchema,
  statusSchema,
  wordsSchema,
  type WrittenBy,
} from "../../../operator/schema-members.ts";
import { recordSchema } from "../../../operator/record-schema.ts";

const triedDeliverySchema = v.object({
  decision: withDescription(
    wordsSchema(DELIVERY_DECISIONS),
    "What a queue would have been answered: ack, retry, dead (acknowledged, because its dead letter was accepted) or park (acknowledged, because its record keeps the message).",
    "ack",
  ),
  reason: withDescription(
    v.nullable(wordsSchema(DEAD_REASONS)),
    "Why it became a dead letter; null when it did not.",
    null,
  ),
  afterMs: withDescription(
    v.nullable(countSchema),
    "After how many milliseconds the queue would deliver it again; null without a retry.",
    null,
  ),
  answer: withDescription(
    v.nullable(v.string()),
    "What its shard answered: first (an attempt was made, and this is its answer), replayed, attached, parked, or the code of a problem; null when it did not answer.",
    "first",
  ),
  status: withDescription(
    v.nullable(statusSchema),
    "The status of the origin's answer, first or replayed; null without one.",
    201,
  ),
});

export const trialSchema = v.object({
  queue: withDescription(v.string(), "The queue.", "orders"),
  messageId: withDescription(v.string(), "The id that the message was given.", "3f3c1c52-5d0f-4a55-9c39-3b8b6d7f0e11"),
  recordId: withDescription(recordIdSchema, "The record of its key.", AN_ID),
  deliveries: withDescription(v.array(triedDeliverySchema), "What was decided about each delivery, in their order."),
  attempts: withDescription(
    v.nullable(countSchema),
    "How many attempts the record has had at the origin, those before the trial included; null without a record.",
    1,
  ),
  record: withDescription(
    v.nullable(recordSchema),
    "The record after the last delivery; null when there is none.",
    null,
  ),
});

export type TrialView = WrittenBy<typeof trialSchema>;
