import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeKey, leastSafe, type KeyReport } from "../../../../src/features/look-up/key-report.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import { ABANDONED_KEY, type IdempotencyRecord, type Policy } from "../../../../src/kernel/record/record.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../../../../src/kernel/record/units.ts";

const NOW = epochMs(1_000_000);
const POLICY: Policy = {
  unknown: "retry",
  lockMs: durationMs(40_000),
  retentionMs: durationMs(86_400_000),
  unknownRetentionMs: durationMs(86_400_000),
};
const PRINT = fingerprint("f".repeat(64));

const at = (ms: number) => epochMs(NOW + ms);

function base(mayHaveActed = false) {
  const attempt = { id: attemptId("a"), number: 1, startedAt: at(-9000), lockedUntil: at(9000), mayHaveActed };
  return { fingerprint: PRINT, attempt, policy: POLICY };
}

const accepted = {
  schedule: {
    attempts: 3,
    firstPauseMs: durationMs(1000),
    longestPauseMs: durationMs(9000),
    giveUpAfterMs: durationMs(90_000),
  },
  acceptedAt: at(-9000),
  giveUpAt: at(90_000),
  lastAttempt: 3,
};
const completed = { state: "completed", completedAt: at(-1), expiresAt: at(9000), ...base() } as const;
const failed = { state: "failed", expiresAt: at(9000) } as const;
const unknown = { state: "unknown", verifications: 0, expiresAt: at(9000), ...base(true) } as const;

const ROWS: readonly (readonly [string, IdempotencyRecord, KeyReport])[] = [
  [
    "waits for its turn",
    { state: "waiting", accepted, startAt: at(5000), ...base() },
    { state: "in-flight", next: "wait", safeNewKey: false, retryAfterMs: durationMs(5000) },
  ],
  [
    "has an attempt",
    { state: "started", ...base() },
    { state: "in-flight", next: "wait", safeNewKey: false, retryAfterMs: durationMs(1000) },
  ],
  [
    "has lost an attempt that may still run",
    { ...failed, retryFrom: at(7000), ...base(true) },
    { state: "in-flight", next: "wait", safeNewKey: false, retryAfterMs: durationMs(7000) },
  ],
  ["was refused", { ...failed, retryFrom: NOW, ...base() }, { state: "not-done", next: "send-same", safeNewKey: true }],
  [
    "may have acted, and may be repeated",
    { ...failed, retryFrom: NOW, ...base(true) },
    { state: "unknown", next: "send-same", safeNewKey: false },
  ],
  [
    "is for people to decide",
    { ...unknown, verifyAt: null },
    { state: "unknown", next: "ask-operator", safeNewKey: false },
  ],
  [
    "is asked about at the origin",
    { ...unknown, verifyAt: at(200) },
    { state: "unknown", next: "wait", safeNewKey: false, retryAfterMs: durationMs(1000) },
  ],
  [
    "has its response",
    { ...completed, kept: true, status: 201 },
    { state: "completed", next: "send-same", safeNewKey: false, status: 201 },
  ],
  [
    "has an encrypted response",
    { ...completed, kept: true, status: null },
    { state: "completed", next: "send-same", safeNewKey: false },
  ],
  [
    "has lost its response",
    { ...completed, kept: false, status: 402 },
    { state: "completed", next: "read-api", safeNewKey: false, status: 402 },
  ],
  [
    "has expired",
    { state: "remembered", status: 201, expiresAt: at(9000), ...base() },
    { state: "expired", next: "read-api", safeNewKey: false, status: 201 },
  ],
  [
    "was abandoned",
    { state: "remembered", status: null, expiresAt: at(9000), ...base(), fingerprint: ABANDONED_KEY },
    { state: "abandoned", next: "new-key", safeNewKey: true },
  ],
  [
    "has expired without a result",
    { state: "remembered", status: null, expiresAt: at(9000), ...base() },
    { state: "expired", next: "read-api", safeNewKey: false },
  ],
];

describe("what a client is told of a record that", () => {
  it.each(ROWS)("%s", (_, record, report) => {
    expect(describeKey(record, NOW)).toEqual(report);
  });

  it.each(ROWS)("%s: a retry gets what it says", (_, record, { state, next, safeNewKey }) => {
    const { reply } = step(record, { type: "request", fingerprint: PRINT, attemptId: attemptId("b") }, POLICY, NOW);
    const replies = {
      "in-flight": ["in-flight", "accepted"],
      "not-done": ["start"],
      unknown: ["start", "outcome-unknown"],
      completed: ["replay", "not-kept"],
      expired: ["key-expired"],
      abandoned: ["key-expired"],
    }[state];
    expect(replies).toContain(reply.type);
    if (next === "send-same") expect(["start", "replay"]).toContain(reply.type);
    // Safe is only what would begin, and has never acted, or what never begins.
    const begins = reply.type === "start" && !reply.record.attempt.mayHaveActed;
    expect(safeNewKey).toBe(begins || state === "abandoned");
  });
});

it("of several records that a key may mean, one with which a new key is not safe counts", () => {
  const reports = fc.array(fc.constantFrom(...ROWS.map(([, , report]) => report)));
  fc.assert(
    fc.property(reports, (all) => {
      const told = leastSafe(all);
      expect(told === null).toBe(all.length === 0);
      if (told !== null) expect(told.safeNewKey).toBe(all.every(({ safeNewKey }) => safeNewKey));
    }),
  );
});
