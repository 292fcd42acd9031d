// A queue's message that is stored with its record, and what operators read of records that nobody waits for.

import { describe, expect, it } from "vitest";
import { describeRecord, type RecordDescription } from "../../../../src/kernel/record/describe-record.ts";
import { isToMonitor, type LifeCycleEvent, type LifeCycleReply } from "../../../../src/kernel/record/events.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Policy } from "../../../../src/kernel/record/record.ts";
import { type TimelineEvent, updateHistory } from "../../../../src/kernel/record/timeline.ts";
import { attemptId, durationMs, epochMs, fingerprint, NO_LOCK } from "../../../../src/kernel/record/units.ts";
import { FINGERPRINT, LOCK_MS, policyFor, UNKNOWN_RETENTION_MS } from "../../../support/life-cycle-history.ts";

const SCHEDULE = {
  firstPauseMs: durationMs(10),
  longestPauseMs: durationMs(10),
  giveUpAfterMs: durationMs(1000),
};

type Events = readonly (readonly [at: number, event: LifeCycleEvent])[];

interface Lived {
  readonly record: IdempotencyRecord | null;
  readonly replies: readonly LifeCycleReply["type"][];
  readonly history: readonly TimelineEvent[];
}

/** `attempts`: how many are promised; 0: the route accepts nothing. */
function live(unknown: Policy["unknown"], events: Events, attempts = 1): Lived {
  const policy = { ...policyFor(unknown), ...(attempts > 0 && { schedule: { ...SCHEDULE, attempts } }) };
  let record: IdempotencyRecord | null = null;
  let history: readonly TimelineEvent[] = [];
  const replies: LifeCycleReply["type"][] = [];
  for (const [at, event] of events) {
    const next = step(record, event, policy, epochMs(at));
    if (next.record !== record) history = updateHistory(history, record, event, next.record, epochMs(at));
    ({ record } = next);
    replies.push(next.reply.type);
  }
  return { record, replies, history };
}

const request = (id: string, accept?: "wait"): LifeCycleEvent => ({
  type: "request",
  fingerprint: FINGERPRINT,
  attemptId: attemptId(id),
  accept,
});
const ended = (type: "refused" | "ambiguous", id: string): LifeCycleEvent => ({
  type,
  attemptId: attemptId(id),
  reason: { kind: "status", status: 503 },
  pause: { jitter: 0, retryAfterMs: null },
});
const due = (id: string): LifeCycleEvent => ({ type: "due", attemptId: attemptId(id) });
const unreadable: LifeCycleEvent = { type: "unreadable" };
const park: LifeCycleEvent = { type: "park", fingerprint: FINGERPRINT };
const release: LifeCycleEvent = { type: "release", by: "admin", reason: "because" };

/** Unknown after its first attempt, and stored. */
const PARKED: Events = [
  [0, request("a")],
  [1, ended("ambiguous", "a")],
  [2, park],
];

describe("a message with an unknown outcome", () => {
  it("is stored once, and with its own content only", () => {
    const { record, replies } = live("hold", [...PARKED, [3, park], [4, request("b")]]);
    expect(replies).toEqual(["start", "settled", "parked", "parked", "outcome-unknown"]);
    expect(record).toMatchObject({ state: "unknown", accepted: { isParked: true, lastAttempt: 1, acceptedAt: 2 } });
    const other: LifeCycleEvent = { type: "park", fingerprint: fingerprint("other") };
    expect(live("hold", [...PARKED.slice(0, 2), [2, other]]).replies.at(-1)).toBe("nothing-due");
    expect(
      live("hold", [
        [0, request("a")],
        [1, park],
      ]).replies.at(-1),
    ).toBe("nothing-due");
    expect(live("hold", [[0, park]]).replies).toEqual(["nothing-due"]);
    expect(live("hold", PARKED, 0).replies.at(-1)).toBe("nothing-due");
  });

  it("is tried after a release, and kept again when no attempt is left, without its lock", () => {
    const { record, replies, history } = live("hold", [
      ...PARKED,
      [LOCK_MS + 2, release],
      [LOCK_MS + 2, due("b")],
      [LOCK_MS + 5, ended("refused", "b")],
    ]);
    expect(replies.slice(3)).toEqual(["changed", "start", "settled"]);
    expect(record).toMatchObject({
      state: "unknown",
      attempt: { number: 2, lockedUntil: NO_LOCK, mayHaveActed: false },
      expiresAt: LOCK_MS + 5 + UNKNOWN_RETENTION_MS,
      accepted: { isParked: true },
    });
    expect(descriptionOf(record, history).headline).toBe(
      "Attempt 2 did not take effect: the origin answered 503. No attempt is left, and its message is kept.",
    );
  });

  it("is kept for an operator if it cannot be read after its release", () => {
    const { record, history } = live("hold", [
      ...PARKED,
      [LOCK_MS + 2, release],
      [LOCK_MS + 2, unreadable],
      [LOCK_MS + 12, unreadable],
      [LOCK_MS + 2000, unreadable],
    ]);
    expect(record).toMatchObject({ state: "unknown", accepted: { isParked: true }, verifyAt: null });
    expect(descriptionOf(record, history).headline).toContain("What is stored of the request cannot be read");
  });

  it("waits for a place after its release as long as it takes", () => {
    const { replies } = live("hold", [...PARKED, [LOCK_MS + 2, release], [LOCK_MS + 5000, due("b")]]);
    expect(replies.at(-1)).toBe("start");
  });
});

function descriptionOf(record: IdempotencyRecord | null, history: readonly TimelineEvent[]): RecordDescription {
  if (record === null) throw new Error("there is no record");
  const { state, attempt, policy } = record;
  const known = { status: null, responseKept: null, accepted: "accepted" in record, policy };
  const described = { state, attempt: attempt.number, lockedUntil: attempt.lockedUntil, ...known };
  return describeRecord(described, history, epochMs(LOCK_MS + 100));
}

describe("an operator reads of an accepted request", () => {
  it.each<[string, Policy["unknown"], Events, string, readonly string[]]>([
    [
      "untried",
      "hold",
      [[0, request("a", "wait")]],
      "Accepted. Its first attempt waits for its turn.",
      ["release", "resolve", "forget"],
    ],
    [
      "untried, because it cannot be read",
      "hold",
      [
        [0, request("a", "wait")],
        [0, unreadable],
      ],
      "What is stored of the request cannot be read, so the gateway cannot try it. It looks again, and gives it up when give_up says.",
      ["release", "resolve", "forget"],
    ],
    [
      "given up, because it cannot be read",
      "hold",
      [
        [0, request("a", "wait")],
        [995, unreadable],
      ],
      "Given up without an attempt. What is stored of the request cannot be read, so the gateway cannot try it.",
      ["resolve", "forget"],
    ],
    [
      "given up after an attempt that may have acted, because it cannot be read",
      "retry",
      [
        [0, request("a", "wait")],
        [0, due("b")],
        [1, ended("ambiguous", "b")],
        [995, unreadable],
      ],
      'Outcome unknown: attempt 1 may have succeeded (the origin answered 503). The route retries it (unknown = "retry"). What is stored of the request cannot be read, so the gateway cannot try it.',
      ["resolve", "forget"],
    ],
    [
      "in flight",
      "hold",
      [
        [0, request("a", "wait")],
        [0, due("b")],
      ],
      "Attempt 1 is in flight.",
      [],
    ],
    [
      "cancelled after an attempt that may have acted",
      "retry",
      [
        [0, request("a", "wait")],
        [0, due("b")],
        [1, ended("ambiguous", "b")],
        [LOCK_MS + 1, { type: "cancel", fingerprintPrefix: FINGERPRINT }],
      ],
      "Cancelled by its client.",
      ["resolve", "forget"],
    ],
  ])("%s", (_what, unknown, events, headline, changes) => {
    const { record, history } = live(unknown, events, 2);
    expect(descriptionOf(record, history)).toMatchObject({ headline, changes });
  });

  it("unknown, that a release has it tried", () => {
    const { record, history } = live("hold", PARKED);
    expect(descriptionOf(record, history).advice).toContain(
      "release it if it did not: the request will be tried by the gateway.",
    );
  });
});

it("a monitor gets no reply of another kind", () => {
  const others: readonly LifeCycleReply[] = [{ type: "settled" }, { type: "parked" }, { type: "nothing-due" }];
  expect([{ type: "unseen" } as const, ...others].filter(isToMonitor)).toEqual([{ type: "unseen" }]);
});
