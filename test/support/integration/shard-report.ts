// What an object reports that has counted and holds nothing.

import type { ShardReport } from "../../../src/kernel/object/gathering.ts";
import type { ShardNumbers } from "../../../src/kernel/object/operator-calls.ts";

export const IDLE: ShardNumbers = {
  inFlight: 0,
  waiting: 0,
  failed: 0,
  unknown: 0,
  atLeast: [],
  oldestMs: 0,
  oldestUnknownMs: 0,
  oldestWaitingMs: 0,
  placesTaken: 0,
  bytes: 4096,
  callsInFlight: 0,
  overdueMs: 0,
  isUnwritten: false,
  closed: null,
  lastExpiresAt: null,
  since: 0,
  routes: [],
  features: { outbox: [], claims: null },
};

export const REPORT: ShardReport = { numbers: IDLE, hours: [] };
