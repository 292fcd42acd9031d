// Records and a response, as the tests of the ledger and of the alarm store them.

import { storeDues } from "../../../src/kernel/object/store-dues.ts";
import { nextDue } from "../../../src/kernel/due.ts";
import { step } from "../../../src/kernel/record/life-cycle.ts";
import type { Completed, Policy, Started } from "../../../src/kernel/record/record.ts";
import {
  attemptId,
  durationMs,
  type EpochMs,
  epochMs,
  fingerprint,
  type RecordId,
  recordId,
} from "../../../src/kernel/record/units.ts";
import type { Ledger } from "../../../src/kernel/store/ledger.ts";
import type { ListQuery } from "../../../src/kernel/store/list-query.ts";
import type { StoredResponse } from "../../../src/kernel/store/response-rows.ts";

export const HOUR_MS = 3_600_000;
export const NOW = epochMs(1_800_000_000_000);
export const policy: Policy = {
  unknown: "hold",
  lockMs: durationMs(40_000),
  retentionMs: durationMs(24 * HOUR_MS),
  unknownRetentionMs: durationMs(48 * HOUR_MS),
};
export const response: StoredResponse = {
  status: 201,
  statusText: "Créé",
  headers: [
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["x-latin", "é"],
  ],
  body: { kind: "inline", bytes: new Uint8Array([0, 255, 1, 254]) },
};

/** Asks a shard for all of its records, on one page. */
export const EVERY_RECORD: ListQuery = {
  keyHash: null,
  states: [],
  route: null,
  since: null,
  until: null,
  parts: null,
  part: null,
  direction: "after",
  position: null,
  limit: 500,
};

/** When the alarm would have to come for the store alone. */
export function nextDeadline(ledger: Ledger): EpochMs | null {
  const never = (): void => undefined;
  return nextDue(storeDues(ledger, { erase: never, endLocks: never, waitUntil: never }), NOW);
}

export function freshId(): RecordId {
  return recordId(`${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", ""));
}

export function started(at = NOW): Started {
  const lockedUntil = epochMs(at + 40_000);
  const attempt = {
    id: attemptId(crypto.randomUUID()),
    number: 1,
    startedAt: at,
    lockedUntil,
    mayHaveActed: false,
  };
  return { state: "started", fingerprint: fingerprint("f".repeat(64)), attempt, policy };
}

export function completed(record: Started, now = NOW): Completed {
  const event = { type: "result", attemptId: record.attempt.id, status: 201, kept: true, verified: false } as const;
  const next = step(record, event, policy, now).record;
  if (next?.state !== "completed") throw new Error("not completed");
  return next;
}
