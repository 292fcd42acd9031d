// The answers of the operator API about groups of consumers. As in record-schema.ts, the Worker takes only types from here.

import * as v from "valibot";

import { setPosition } from "./position-request-schema.ts";
import {
  A_TIME,
  withDescription,
  countSchema,
  notAskedShards,
  timeSchema,
  unreachableShards,
  type WrittenBy,
  documentedAction,
} from "../../../operator/schema-members.ts";

const group = withDescription(v.string(), "The group, as CONSUMERS names it.", "billing");

export const consumerGroupSchema = v.object({
  group,
  started: withDescription(countSchema, "Claims whose holder has the lock.", 12),
  failed: withDescription(
    countSchema,
    "Claims that were released without an effect, or lost where unknown is retry: the next claim gets them.",
    0,
  ),
  unknown: withDescription(countSchema, "Claims that may have had an effect, and wait for an operator.", 1),
  atLeast: withDescription(
    v.boolean(),
    "Whether there may be more: a shard looks for them among 10,000 records in flight, and as many failed or unknown.",
    false,
  ),
  partitions: withDescription(countSchema, "Partitions that have a position, or a claim that is not completed.", 8),
  heldSince: withDescription(
    v.nullable(timeSchema),
    "When the claim was first granted that has held back a position longest; null: none does.",
    A_TIME,
  ),
});

export const positionSchema = v.object({
  group,
  stream: withDescription(v.string(), "The stream, as the consumers call it.", "orders"),
  partition: withDescription(countSchema, "Its partition.", 3),
  next: withDescription(
    v.nullable(countSchema),
    "The offset where the group goes on: never past a claim that is not completed. null: nobody knows.",
    42,
  ),
  openClaims: withDescription(countSchema, "Claims of this partition that are not completed.", 2),
  heldSince: withDescription(
    v.nullable(timeSchema),
    "When the claim was first granted at which the position stands; null: it stands at none.",
    A_TIME,
  ),
  isUnclaimed: withDescription(
    v.boolean(),
    "Whether the position stands at a message that was never claimed, although the claim of a later one named it: it is claimed when the group reads it again, or an operator sets the position.",
    false,
  ),
  shard: withDescription(
    v.string(),
    "The shard that has it. While the layout changes, two may know one partition.",
    "shard-3-of-64",
  ),
});

export const positionPageSchema = v.object({
  groups: withDescription(
    v.array(consumerGroupSchema),
    "Every configured group, and those that have claims and are not configured any more.",
  ),
  positions: withDescription(v.array(positionSchema), "Shard by shard; in each by group, stream and partition."),
  cursor: withDescription(v.nullable(v.string()), "For the next page; null: this is the last one.", null),
  notListed: withDescription(
    v.array(v.string()),
    "Layouts with an object for each key: their claims and positions cannot be listed.",
    [],
  ),
  unreachable: unreachableShards,
  notAsked: notAskedShards,
});

export const positionSetSchema = v.object({
  set: withDescription(v.literal(true), "The group reads from there when it next asks where to go on."),
});

export const setPositionAction = documentedAction(setPosition, {
  id: "setPosition",
  summary: "Sets where a group goes on in a partition.",
  description:
    "Forward, past a message that is not to be read, such as one that was never claimed; or back, so that the group reads again: messages that were processed get their results, and nothing is done twice. No claim ends by that. It is read when a consumer next asks where to go on. The log says what was set, and why.",
  request: "PositionChange",
  members: {
    group: { description: "The group.", example: "billing" },
    stream: { description: "The stream.", example: "orders" },
    partition: { description: "Its partition.", example: 3 },
    next: { description: "The first message that the group is to read.", example: 42 },
    reason: { description: "Why this is done; written to the log.", example: "Message 41 cannot be read." },
  },
  answer: { description: "It is set.", name: "PositionSet", schema: positionSetSchema },
});

export type PositionSetView = WrittenBy<typeof positionSetSchema>;
export type ConsumerGroupView = WrittenBy<typeof consumerGroupSchema>;
export type PositionView = WrittenBy<typeof positionSchema>;
export type PositionPageView = WrittenBy<typeof positionPageSchema>;
