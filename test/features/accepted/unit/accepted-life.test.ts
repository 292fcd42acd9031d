// The life of an accepted request: each arrow from and to `waiting`, and what its monitor is told.

import { describe, expect, it } from "vitest";
import type { LifeCycleEvent } from "../../../../src/kernel/record/events.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Policy } from "../../../../src/kernel/record/record.ts";
import { type TimelineEvent, timelineOf, updateHistory } from "../../../../src/kernel/record/timeline.ts";
import { attemptId, durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { FINGERPRINT, LOCK_MS, policyFor, RETENTION_MS } from "../../../support/life-cycle-history.ts";

const SCHEDULE = {
  attempts: 3,
  firstPauseMs: durationMs(20),
  longestPauseMs: durationMs(80),
  giveUpAfterMs: durationMs(1000),
};
const accepting = (unknown: Policy["unknown"]): Policy => ({ ...policyFor(unknown), schedule: SCHEDULE });

type Events = readonly (readonly [at: number, event: LifeCycleEvent])[];

function live(policy: Policy, events: Events) {
  let record: IdempotencyRecord | null = null;
  let history: readonly TimelineEvent[] = [];
  const reported = events.map(([at, event]) => {
    const next = step(record, event, policy, epochMs(at));
    if (next.record !== record) history = updateHistory(history, record, event, next.record, epochMs(at));
    ({ record } = next);
    const from = record?.state === "waiting" ? ` ${record.startAt}` : "";
    return `${next.reply.type} → ${record?.state ?? "none"}${from}`;
  });
  return { reported, record: record as IdempotencyRecord | null, history };
}

const tell = (unknown: Policy["unknown"], ...events: Events): readonly string[] =>
  live(accepting(unknown), events).reported;

function request(id: string, accept?: "begin" | "wait"): LifeCycleEvent {
  return { type: "request", fingerprint: FINGERPRINT, attemptId: attemptId(id), accept };
}
const due = (id: string): LifeCycleEvent => ({ type: "due", attemptId: attemptId(id) });
const unreadable: LifeCycleEvent = { type: "unreadable" };
const pause = { jitter: 0, retryAfterMs: null };
const reason = { kind: "status", status: 503 } as const;
const refused = (id: string, retryAfterMs: number | null = null): LifeCycleEvent => ({
  type: "refused",
  attemptId: attemptId(id),
  reason,
  pause: { jitter: 0, retryAfterMs },
});
const ambiguous = (id: string): LifeCycleEvent => ({ type: "ambiguous", attemptId: attemptId(id), reason, pause });
const result = (id: string): LifeCycleEvent => ({
  type: "result",
  attemptId: attemptId(id),
  status: 201,
  kept: true,
  verified: false,
});
const renew = (id: string): LifeCycleEvent => ({ type: "renew", attemptId: attemptId(id) });
const tick: LifeCycleEvent = { type: "tick" };
const look: LifeCycleEvent = { type: "look", fingerprintPrefix: FINGERPRINT };
const cancel: LifeCycleEvent = { type: "cancel", fingerprintPrefix: FINGERPRINT };
const release: LifeCycleEvent = { type: "release", by: "admin", reason: "because" };
const resolve: LifeCycleEvent = { type: "resolve", by: "admin", reason: "because", status: 200 };
const forget: LifeCycleEvent = { type: "forget", by: "admin", reason: "because" };

describe("an accepted request", () => {
  it("begins at once or waits for its turn, and its duplicates are told so", () => {
    expect(tell("hold", [0, request("a", "begin")], [1, request("b")], [1, look])).toEqual([
      "start → started",
      "accepted → started",
      "accepted → started",
    ]);
    expect(tell("hold", [5, request("a", "wait")], [6, request("b", "begin")], [6, look], [7, due("c")])).toEqual([
      "accepted → waiting 5",
      "accepted → waiting 5",
      "accepted → waiting 5",
      "start → started",
    ]);
  });

  it("is a request like any other where the route accepts none", () => {
    expect(live(policyFor("hold"), [[0, request("a", "wait")]]).record).not.toHaveProperty("accepted");
    expect(
      live(policyFor("hold"), [
        [0, request("a", "wait")],
        [1, request("b", "wait")],
      ]).reported,
    ).toEqual(["start → started", "in-flight → started"]);
  });

  it("begins no attempt before its time", () => {
    expect(tell("hold", [0, request("a", "begin")], [5, refused("a")], [14, due("b")], [15, due("b")])).toEqual([
      "start → started",
      "settled → waiting 15",
      "nothing-due → waiting 15",
      "start → started",
    ]);
  });

  it("that cannot be read is looked at after pauses that double, and given up without an attempt", () => {
    const looks: Events = [0, 20, 40, 80, 160, 960].map((at) => [at, unreadable]);
    const { reported, record, history } = live(accepting("hold"), [[0, request("a", "wait")], ...looks]);
    expect(reported).toEqual([
      "accepted → waiting 0",
      "nothing-due → waiting 20",
      "nothing-due → waiting 40",
      "nothing-due → waiting 80",
      "nothing-due → waiting 160",
      "nothing-due → waiting 240",
      "nothing-due → failed",
    ]);
    expect(record).toMatchObject({ state: "failed", attempt: { number: 0, mayHaveActed: false }, retryFrom: 960 });
    expect(record).not.toHaveProperty("accepted");
    // Written once, and not five times.
    expect(history).toMatchObject([{ type: "change", action: "unreadable", at: 0, by: "gateway" }]);
    const readAgain = [
      [0, request("a", "wait")],
      [0, unreadable],
      [20, due("b")],
    ] as const;
    expect(live(accepting("hold"), readAgain).history).toEqual(history);
    expect(tell("hold", [0, request("a", "begin")], [0, unreadable])).toContain("nothing-due → started");
    expect(tell("hold", [5, request("a", "wait")], [4, unreadable])).toContain("nothing-due → waiting 5");
    expect(tell("hold", [0, unreadable])).toEqual(["nothing-due → none"]);
  });

  it("has no history in common with an expired record", () => {
    const events = [
      [0, request("a")],
      [0, refused("a")],
      [2 * RETENTION_MS, request("b", "wait")],
    ] as const;
    expect(live(accepting("hold"), events.slice(0, 2)).history).toHaveLength(1);
    expect(live(accepting("hold"), events)).toMatchObject({ record: { attempt: { number: 0 } }, history: [] });
  });

  it("waits as long as the origin asks for, up to the longest pause", () => {
    expect(tell("hold", [0, request("a", "begin")], [5, refused("a", 50)])).toContain("settled → waiting 55");
    expect(tell("hold", [0, request("a", "begin")], [5, refused("a", 5000)])).toContain("settled → waiting 85");
  });

  it("is given up after its last attempt, and the next request starts anew", () => {
    const twice: Events = [
      [0, request("a", "begin")],
      [0, refused("a")],
      [10, due("b")],
      [10, refused("b")],
    ];
    expect(tell("hold", ...twice, [30, due("c")], [30, refused("c")], [31, look], [31, request("d", "begin")])).toEqual(
      [
        "start → started",
        "settled → waiting 10",
        "start → started",
        "settled → waiting 30",
        "start → started",
        "settled → failed",
        "given-up → failed",
        "start → started",
      ],
    );
  });

  it("begins its first attempt however late, and no other after its limit", () => {
    expect(tell("hold", [0, request("a", "wait")], [5000, due("b")])).toContain("start → started");
    const refusedOnce: Events = [
      [0, request("a", "begin")],
      [0, refused("a")],
    ];
    expect(tell("hold", ...refusedOnce, [1000, due("b")])).toContain("start → started");
    expect(tell("hold", ...refusedOnce, [1001, look], [1001, due("b")], [1000 + RETENTION_MS, tick])).toEqual([
      "start → started",
      "settled → waiting 10",
      "given-up → waiting 10",
      "nothing-due → failed",
      "nothing-due → none",
    ]);
  });

  it.each([
    ["retry", `waiting ${LOCK_MS + 10}`, `waiting ${LOCK_MS + 15}`],
    ["hold", "unknown", "unknown"],
    ["verify", "unknown", "unknown"],
  ] as const)("that may have acted follows the route's rule: %s", (unknown, reported, lost) => {
    expect(tell(unknown, [0, request("a", "begin")], [5, ambiguous("a")]).at(-1)).toBe(`settled → ${reported}`);
    expect(tell(unknown, [0, request("a", "begin")], [LOCK_MS, tick]).at(-1)).toBe(`nothing-due → ${lost}`);
  });

  it("is tried again once the origin, asked, does not know it", () => {
    const absent: LifeCycleEvent = { type: "absent", attemptId: attemptId("a"), verifiedAt: epochMs(LOCK_MS) };
    expect(tell("verify", [0, request("a", "begin")], [LOCK_MS, tick], [LOCK_MS, absent]).at(-1)).toBe(
      `settled → waiting ${LOCK_MS + 15}`,
    );
  });

  it("is settled by a late result, and runs on if its attempt is heard of", () => {
    const lost: Events = [
      [0, request("a", "begin")],
      [LOCK_MS, tick],
    ];
    expect(tell("retry", ...lost, [LOCK_MS + 1, result("a")], [LOCK_MS + 2, look]).slice(-2)).toEqual([
      "settled → completed",
      "replay → completed",
    ]);
    const { reported, record } = live(accepting("retry"), [
      ...lost,
      [LOCK_MS + 1, renew("a")],
      [LOCK_MS + 20, due("b")],
    ]);
    expect(reported.slice(-2)).toEqual(["settled → started", "nothing-due → started"]);
    expect(record).toHaveProperty("accepted.lastAttempt", 3);
  });
});

describe("what people decide about an accepted request", () => {
  const lost: Events = [
    [0, request("a", "begin")],
    [5, ambiguous("a")],
  ];

  it("waits again when it is released, with a promise of its own", () => {
    const { reported, record } = live(accepting("hold"), [...lost, [50, release]]);
    expect(reported.at(-1)).toBe("changed → waiting 50");
    expect(record).toMatchObject({ accepted: { acceptedAt: 0, giveUpAt: 1050, lastAttempt: 4 } });
    expect(tell("hold", ...lost, [6, release]).at(-1)).toBe(`changed → waiting ${LOCK_MS}`);
  });

  it("has its end when it is resolved or forgotten", () => {
    expect(live(accepting("hold"), [...lost, [50, resolve]]).record).not.toHaveProperty("accepted");
    expect(tell("hold", [0, request("a", "wait")], [1, resolve]).at(-1)).toBe("changed → completed");
    expect(tell("hold", [0, request("a", "wait")], [1, forget]).at(-1)).toBe("changed → none");
    expect(tell("hold", ...lost, [6, forget]).at(-1)).toBe("unchangeable → unknown");
  });

  it("is cancelled only while nothing is in flight", () => {
    expect(tell("hold", [0, request("a", "wait")], [1, cancel])).toContain("changed → none");
    expect(tell("hold", [0, request("a", "begin")], [1, cancel])).toContain("accepted → started");
    expect(tell("retry", ...lost, [LOCK_MS - 1, cancel]).at(-1)).toContain("accepted → waiting");
    expect(tell("hold", ...lost, [50, cancel]).at(-1)).toBe("outcome-unknown → unknown");
  });

  it("leaves a cancelled request that may have acted, and says so", () => {
    const { reported, history } = live(accepting("retry"), [...lost, [LOCK_MS, cancel]]);
    expect(reported.at(-1)).toBe("changed → failed");
    expect(history.at(-1)).toEqual({ type: "change", action: "cancel", at: LOCK_MS, by: "client", reason: "" });
  });

  it("is told to nobody with another fingerprint", () => {
    const other = { fingerprintPrefix: "other" };
    expect(tell("hold", [0, request("a", "wait")], [1, { ...look, ...other }], [1, { ...cancel, ...other }])).toEqual([
      "accepted → waiting 0",
      "unseen → waiting 0",
      "unseen → waiting 0",
    ]);
  });
});

describe("the timeline of an accepted request", () => {
  it("goes on from its acceptance through each of its attempts", () => {
    const { record, history } = live(accepting("hold"), [
      [0, request("a", "wait")],
      [1, due("b")],
      [2, refused("b")],
      [12, due("c")],
      [13, result("c")],
    ]);
    const timeline = record === null ? [] : timelineOf(history, record, epochMs(20));
    expect(timeline.map((one) => (one.type === "attempt" ? `${one.attempt} ${one.verdict}` : one.type))).toEqual([
      "1 refused",
      "2 result",
    ]);
  });
});
