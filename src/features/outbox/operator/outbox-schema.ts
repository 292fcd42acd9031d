// The requests and answers of the operator API about events. As in record-schema.ts, the Worker takes only types and the schemas of
// requests from here.

import * as v from "valibot";

import { ALL_LANES, EVENT_STATES } from "../../../kernel/record/outbox.ts";

import { dropEvents, resendEvents } from "./events-request-schema.ts";
import {
  A_TIME,
  withDescription,
  AN_ID,
  countSchema,
  notAskedShards,
  recordIdSchema,
  timeSchema,
  unreachableShards,
  wordsSchema,
  type WrittenBy,
  documentedAction,
} from "../../../operator/schema-members.ts";

const destination = withDescription(v.string(), "The destination, as DESTINATIONS names it.", "billing");
const state = withDescription(
  wordsSchema(EVENT_STATES),
  "pending: it is tried until its destination takes it; dead: it was given up, and is kept until retention is over.",
  "dead",
);

export const outboxEventSchema = v.object({
  id: withDescription(v.string(), "The event's id, as its receiver gets it.", "5f0c2a52-5a62-4d36-8a5f-6a8f2f4f6f0e-0"),
  shard: withDescription(v.string(), "The shard that has it.", "shard-3-of-64"),
  place: withDescription(
    v.string(),
    "Where it lies there. A try moves it to another place.",
    "billing.1795250000000.1",
  ),
  recordId: withDescription(
    v.nullable(recordIdSchema),
    "The record whose result it tells; null for an alert about no record.",
    AN_ID,
  ),
  destination,
  state,
  tries: withDescription(countSchema, "How often it was tried without success.", 3),
  publishedAt: withDescription(timeSchema, "When it was published, or sent again by an operator.", A_TIME),
  nextTryAt: withDescription(
    v.nullable(timeSchema),
    "When it is due, if its lane does not rest; null when it is dead.",
    null,
  ),
  diedAt: withDescription(v.nullable(timeSchema), "When it was given up; null while it is tried.", A_TIME),
  reason: withDescription(v.nullable(v.string()), "Why the last try failed; null before that.", "status 500"),
});

const restSchema = v.object({
  shard: withDescription(v.string(), "The shard in which it rests.", "shard-3-of-64"),
  lanes: withDescription(
    countSchema,
    "How many of the lanes rest, because their last events were not taken: all, if the destination itself did not answer. Events of the others are sent.",
    3,
  ),
  of: withDescription(
    countSchema,
    "How many lanes there are: sixteen in which callers take turns, and one for alerts.",
    ALL_LANES,
  ),
  until: withDescription(timeSchema, "When the last of them is tried again, with one event.", A_TIME),
  failures: withDescription(
    countSchema,
    "How often in a row the lane has failed that has failed most, or the destination itself.",
    3,
  ),
  reason: withDescription(v.string(), "Why it failed last.", "status 500"),
});

export const outboxDestinationSchema = v.object({
  destination,
  target: withDescription(
    v.nullable(v.string()),
    "Where its events go; null: it is not configured, and its events are tried in vain until they are dead.",
    "billing (https://billing.example.com/hooks)",
  ),
  pending: withDescription(countSchema, "Events that are tried.", 0),
  dead: withDescription(countSchema, "Events that were given up.", 1),
  atLeast: withDescription(
    v.array(wordsSchema(EVENT_STATES)),
    "Which of the two may be larger: a shard counts at most 10,000 of each.",
    [],
  ),
  oldestPendingAt: withDescription(
    v.nullable(timeSchema),
    "When the oldest of these pending events was published; null without any.",
    null,
  ),
  oldestDeadAt: withDescription(
    v.nullable(timeSchema),
    "When the one died that has been dead for longest; null without any.",
    A_TIME,
  ),
  resting: withDescription(v.array(restSchema), "The shards in which lanes of it rest now."),
});

export const outboxPageSchema = v.object({
  destinations: withDescription(
    v.array(outboxDestinationSchema),
    "Every configured destination, and those that have events and are not configured any more.",
  ),
  events: withDescription(v.array(outboxEventSchema), "Shard by shard; in each by destination, pending ones first."),
  cursor: withDescription(v.nullable(v.string()), "For the next page; null: this is the last one.", null),
  notListed: withDescription(
    v.array(v.string()),
    "Layouts with an object for each key: their events are relayed, but cannot be listed or changed.",
    [],
  ),
  unreachable: unreachableShards,
  notAsked: notAskedShards,
});

export const outboxChangedSchema = v.object({
  events: withDescription(countSchema, "How many events this call has changed; with preview, how many would be.", 12),
  more: withDescription(v.boolean(), "Whether there may be more: call again.", false),
  unreachable: unreachableShards,
  notAsked: notAskedShards,
});

const CHANGE = {
  request: "OutboxChange",
  members: {
    destination: { description: "The destination whose events are changed.", example: "billing" },
    reason: { description: "Why this is done; written to the log.", example: "The receiver works again." },
    event: {
      description: "Only this one, wherever it stands in the list now; without it, all of the destination.",
      schema: v.strictObject({
        shard: withDescription(v.string(), "Its shard, as listed.", "shard-3-of-64"),
        place: withDescription(v.string(), "Its place, as listed.", "billing.1795250000000.1"),
        id: withDescription(v.string(), "Its id.", "5f0c2a52-5a62-4d36-8a5f-6a8f2f4f6f0e-0"),
      }),
    },
    state: { description: "Only these; both by default. Not together with event.", example: "dead" },
    preview: { description: "Counts the events and changes nothing.", example: true },
    confirm: { description: "Changes them. Needed unless event is given.", example: true },
  },
  answer: {
    description: "What this call has done; events is 0 if the event is not there any more.",
    name: "OutboxChanged",
    schema: outboxChangedSchema,
  },
};

export const EVENTS_ACTIONS = {
  resend: documentedAction(resendEvents, {
    id: "resendEvents",
    summary: "Sends events again: dead ones, and pending ones that are not due yet.",
    description:
      "They are due now, and are given up as late as if they had just been published. Their ids stay. Their destination's rest ends, so pending events that are due are tried as well. One call works for five seconds: call again while more is true. The log says how many events it were, and why.",
    ...CHANGE,
  }),
  drop: documentedAction(dropEvents, {
    id: "dropEvents",
    summary: "Erases events: nobody gets them.",
    description:
      "Cannot be undone. One that is being sent may still be taken. One call works for five seconds: call again while more is true. The log says how many events it were, and why.",
    ...CHANGE,
  }),
};

export type OutboxEventView = WrittenBy<typeof outboxEventSchema>;
export type OutboxDestinationView = WrittenBy<typeof outboxDestinationSchema>;
export type OutboxPageView = WrittenBy<typeof outboxPageSchema>;
export type OutboxChangedView = WrittenBy<typeof outboxChangedSchema>;
