// The events of a record's timeline, as the API shows them.

import * as v from "valibot";

import { ATTEMPT_VERDICTS, OPEN_FINDINGS } from "../kernel/record/timeline.ts";
import { CHANGES } from "./request-schema.ts";
import { A_TIME, withDescription, attemptNumber, statusSchema, timeSchema, wordsSchema } from "./schema-members.ts";

const attemptEvent = v.pipe(
  v.object({
    type: v.literal("attempt"),
    attempt: withDescription(attemptNumber, "The number of the attempt.", 1),
    startedAt: withDescription(timeSchema, "When the attempt started.", A_TIME),
    endedAt: withDescription(
      v.nullable(timeSchema),
      "null while the attempt runs; of a lost one, the end of its lock.",
      "2026-11-21T08:30:30.000Z",
    ),
    verdict: withDescription(
      v.nullable(wordsSchema(ATTEMPT_VERDICTS)),
      "How the attempt ended; null while it runs.",
      "ambiguous",
    ),
    reason: withDescription(
      v.nullable(
        v.pipe(
          v.string(),
          // Only documented: a gateway of another version may have other reasons.
          v.metadata({
            pattern:
              "^(status-[0-9]{3}|body-[0-9]{3}: .*|origin-unreachable|origin-dropped|origin-timeout|consumer: .*)$",
          }),
        ),
      ),
      "Why the attempt ended without a result; null when it has one, runs, or was lost.",
      "origin-timeout",
    ),
    status: withDescription(v.nullable(statusSchema), "The status, if the verdict is a result.", null),
  }),
  v.description("One attempt at the origin."),
);

const claimEvent = v.pipe(
  v.object({
    type: v.literal("claim"),
    attempt: withDescription(attemptNumber, "The number of the attempt.", 1),
    at: withDescription(timeSchema, "When it was granted.", A_TIME),
    holder: withDescription(
      v.nullable(v.string()),
      "Which of the consumer's processes has claimed it, as it says.",
      "worker-3",
    ),
    position: withDescription(
      v.nullable(
        v.object({
          stream: withDescription(v.string(), "The stream, as the consumer calls it.", "orders"),
          partition: withDescription(v.number(), "The partition of the stream.", 0),
          offset: withDescription(v.number(), "The message's place in the partition.", 41),
          previous: v.optional(
            withDescription(v.nullable(v.number()), "The message before it, if its consumer says so.", 40),
          ),
        }),
      ),
      "Where its message is in the stream.",
      { stream: "orders", partition: 0, offset: 41 },
    ),
  }),
  v.description("A consumer was granted the attempt, and said something of its claim."),
);

const verificationEvent = v.pipe(
  v.object({
    type: v.literal("verification"),
    attempt: withDescription(attemptNumber, "The number of the attempt.", 1),
    at: withDescription(timeSchema, "When the origin answered.", A_TIME),
    answer: withDescription(
      wordsSchema(["done", "absent", ...OPEN_FINDINGS]),
      "Whether the attempt took effect (`done`) or not (`absent`). Any other finding leaves that open; only the latest of them is kept.",
      "done",
    ),
    saw: v.optional(
      withDescription(
        v.nullable(
          v.object({
            at: withDescription(v.string(), "A JSON pointer, `header:NAME`, `status` or `body`.", "/status"),
            value: withDescription(v.string(), "What is there, shortened.", '"completed"'),
          }),
        ),
        "What of the answer led to that.",
        { at: "/status", value: '"completed"' },
      ),
    ),
    countsFrom: v.optional(
      withDescription(
        v.nullable(timeSchema),
        "Of a finding that leaves it open: from when on an answer counts that nothing happened; null if the origin cannot be asked.",
        A_TIME,
      ),
    ),
  }),
  v.description("The origin was asked whether the attempt took effect."),
);

const changeEvent = v.pipe(
  v.object({
    type: v.literal("change"),
    action: withDescription(
      wordsSchema([...CHANGES, "cancel", "abandon", "unreadable"]),
      "What was done; `cancel` is its client's, who cancelled an accepted request, `abandon` too, who gave the key up, and `unreadable` the gateway's own: an accepted request cannot be tried.",
      "release",
    ),
    at: withDescription(timeSchema, "When it was done.", A_TIME),
    by: withDescription(v.string(), "Who did it.", "admin"),
    reason: withDescription(v.string(), "Why, in the operator's words.", "The origin's log has no such payment."),
  }),
  v.description(
    "An operator's change, a client's that cancelled its accepted request or gave its key up, or the gateway's word that it cannot read a request.",
  ),
);

const noteEvent = v.pipe(
  v.object({
    type: v.literal("note"),
    at: withDescription(timeSchema, "When it was written.", A_TIME),
    by: withDescription(v.string(), "Who wrote it.", "ann"),
    text: withDescription(v.string(), "What.", "Asked the bank, ticket 4711."),
  }),
  v.description("What an operator has written down. The last ten are kept."),
);

export const eventSchema = v.variant("type", [attemptEvent, claimEvent, verificationEvent, changeEvent, noteEvent]);
