// What each step of the life cycle gives back.

import type { Reply, Step } from "./events.ts";
import type { IdempotencyRecord } from "./record.ts";
import { earliest, type EpochMs } from "./units.ts";

/** When the record next changes without an event. */
export function deadlineOf(record: IdempotencyRecord): EpochMs {
  switch (record.state) {
    case "started":
      return record.attempt.lockedUntil;
    case "waiting":
      return record.startAt;
    case "unknown":
      return record.verifyAt === null ? record.expiresAt : earliest(record.verifyAt, record.expiresAt);
    case "failed":
    case "completed":
    case "remembered":
      return record.expiresAt;
  }
}

export function changed(record: IdempotencyRecord, reply: Reply): Step {
  return { record, reply, deadline: deadlineOf(record) };
}

export function unchanged(record: IdempotencyRecord | null, reply: Reply): Step {
  return { record, reply, deadline: record === null ? null : deadlineOf(record) };
}
