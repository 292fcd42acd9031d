// What each step of the life cycle gives back.

import type { OutcomeReply, LifeCycleReply, LifeCycleStep } from "./events.ts";
import type { Completed, IdempotencyRecord, Remembered, Unknown } from "./record.ts";
import { earliestTime, type EpochMs } from "./units.ts";

/** When the record next changes without an event. */
export function deadlineOf(record: IdempotencyRecord): EpochMs {
  switch (record.state) {
    case "started":
      return record.attempt.lockedUntil;
    case "waiting":
      return record.startAt;
    case "unknown":
      return record.verifyAt === null ? record.expiresAt : earliestTime(record.verifyAt, record.expiresAt);
    case "failed":
    case "completed":
    case "remembered":
      return record.expiresAt;
  }
}

/** What a record says that has no attempt in flight, and that starts none: to a request, and to a monitor. */
export function outcomeReply(record: Unknown | Completed | Remembered): OutcomeReply {
  switch (record.state) {
    case "unknown":
      return { type: "outcome-unknown", record };
    case "completed":
      return { type: record.kept ? "replay" : "not-kept", record };
    case "remembered":
      return { type: "key-expired", record };
  }
}

export function changedStep(record: IdempotencyRecord, reply: LifeCycleReply): LifeCycleStep {
  return { record, reply, deadline: deadlineOf(record) };
}

export function unchangedStep(record: IdempotencyRecord | null, reply: LifeCycleReply): LifeCycleStep {
  return { record, reply, deadline: record === null ? null : deadlineOf(record) };
}
