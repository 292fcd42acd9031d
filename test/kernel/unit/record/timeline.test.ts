import { describe, expect, it } from "vitest";
import type { LifeCycleEvent } from "../../../../src/kernel/record/events.ts";
import { claimText } from "../../../../src/kernel/record/describe-record.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Policy } from "../../../../src/kernel/record/record.ts";
import {
  historyWithFinding,
  historyWithNote,
  type TimelineEvent,
  timelineOf,
  updateHistory,
  verdictOf,
} from "../../../../src/kernel/record/timeline.ts";
import { attemptId, durationMs, epochMs, fingerprint } from "../../../../src/kernel/record/units.ts";

const LOCK_MS = 40;
const TIMES = {
  lockMs: durationMs(LOCK_MS),
  retentionMs: durationMs(1000),
  unknownRetentionMs: durationMs(4000),
};

/** The timeline after these events, one line each; `at` counts from 0. */
function tell(
  unknown: Policy["unknown"],
  upTo: number,
  ...events: readonly (readonly [at: number, event: LifeCycleEvent])[]
): readonly string[] {
  const policy = { unknown, ...TIMES };
  let record: IdempotencyRecord | null = null;
  let history: readonly TimelineEvent[] = [];
  for (const [at, event] of events) {
    const next = step(record, event, policy, epochMs(at));
    if (next.record !== record) history = updateHistory(history, record, event, next.record, epochMs(at));
    ({ record } = next);
  }
  return record === null ? ["none"] : timelineOf(history, record, epochMs(upTo)).map(line);
}

function line(event: TimelineEvent): string {
  switch (event.type) {
    case "attempt": {
      const { attempt, startedAt, endedAt, verdict, reason, status } = event;
      const why = reason?.kind === "status" ? String(reason.status) : (reason?.kind ?? status ?? "");
      return `${attempt}: ${startedAt}-${endedAt ?? ""} ${verdict ?? "runs"} ${why}`.trim();
    }
    case "claim":
      return `${event.attempt}: claimed${claimText(event)} at ${event.at}`;
    case "verification":
      return `${event.attempt}: asked, ${event.answer} at ${event.at}`;
    case "change":
      return `${event.action} by ${event.by} at ${event.at}: ${event.reason}`;
    case "note":
      return `note by ${event.by} at ${event.at}: ${event.text}`;
  }
}

const request = (id: string): LifeCycleEvent => ({
  type: "request",
  fingerprint: fingerprint("f"),
  attemptId: attemptId(id),
});
const result = (id: string, verified = false): LifeCycleEvent => ({
  type: "result",
  attemptId: attemptId(id),
  status: 201,
  kept: true,
  verified,
});
const refused = (id: string): LifeCycleEvent => ({
  type: "refused",
  attemptId: attemptId(id),
  reason: { kind: "status", status: 503 },
});
const ambiguous = (id: string): LifeCycleEvent => ({
  type: "ambiguous",
  attemptId: attemptId(id),
  reason: { kind: "timed-out" },
});
const absent = (id: string): LifeCycleEvent => ({ type: "absent", attemptId: attemptId(id), verifiedAt: epochMs(50) });
const tick: LifeCycleEvent = { type: "tick" };
const by = { by: "admin", reason: "asked the bank" };

describe("notes", () => {
  const note = (text: string) => ({ type: "note", by: "ann", text }) as const;

  it("are the last ten, and take the place of no attempt", () => {
    const attempt = { type: "verification", attempt: 1, at: epochMs(0), answer: "absent" } as const;
    let history: readonly TimelineEvent[] = [attempt];
    for (let at = 1; at <= 12; at += 1) history = historyWithNote(history, note(`${at}`), epochMs(at));
    expect(history).toHaveLength(11);
    expect([history[0], history[1], history[10]]).toMatchObject([attempt, { text: "3" }, { text: "12" }]);
    const full = Array.from({ length: 50 }, (_, at) => ({ ...attempt, attempt: at + 1 }));
    expect(historyWithNote(full, note("x"), epochMs(1))).toEqual([...full, { ...note("x"), at: 1 }]);
  });

  it("stand where they were written, before and after the end that the record itself holds", () => {
    const [before, later] = [historyWithNote([], note("before"), epochMs(3)), note("later")];
    const policy = { unknown: "hold", ...TIMES } as const;
    const begun = step(null, request("a"), policy, epochMs(0)).record;
    const { record } = step(begun, result("a"), policy, epochMs(5));
    if (record === null) throw new Error("no record");
    const history = historyWithNote(before, later, epochMs(7));
    expect(timelineOf(history, record, epochMs(9)).map(line)).toEqual([
      "note by ann at 3: before",
      "1: 0-5 result 201",
      "note by ann at 7: later",
    ]);
  });
});

describe("the timeline of a record", () => {
  it("has its attempt: running, lost or with its result", () => {
    expect(tell("hold", 1, [0, request("a")])).toEqual(["1: 0- runs"]);
    expect(tell("hold", LOCK_MS, [0, request("a")])).toEqual(["1: 0-40 lost"]);
    expect(tell("hold", 9, [0, request("a")], [5, result("a")])).toEqual(["1: 0-5 result 201"]);
  });

  it("names each attempt with its verdict and its reason", () => {
    expect(
      tell(
        "retry",
        99,
        [0, request("a")],
        [5, refused("a")],
        [6, request("b")],
        [9, ambiguous("b")],
        [46, request("c")],
        [50, result("c")],
      ),
    ).toEqual(["1: 0-5 refused 503", "2: 6-9 ambiguous timed-out", "3: 46-50 result 201"]);
  });

  it("ends a lost attempt with its lock, whenever the loss was noticed", () => {
    const expected = ["1: 0-40 lost", "2: 90- runs"];
    expect(tell("retry", 91, [0, request("a")], [90, request("b")])).toEqual(expected);
    expect(tell("retry", 91, [0, request("a")], [41, tick], [60, tick], [90, request("b")])).toEqual(expected);
  });

  it("keeps a late result beside the earlier verdict", () => {
    expect(tell("hold", 99, [0, request("a")], [41, tick], [60, result("a")])).toEqual([
      "1: 0-40 lost",
      "1: 0-60 result 201",
    ]);
    expect(tell("hold", 99, [0, request("a")], [60, result("a")])).toEqual(["1: 0-60 result 201"]);
  });

  it("shows what the origin answered when it was asked", () => {
    expect(tell("verify", 99, [0, request("a")], [41, tick], [60, result("a", true)])).toEqual([
      "1: 0-40 lost",
      "1: asked, done at 60",
      "1: 0-60 result 201",
    ]);
    expect(tell("verify", 99, [0, request("a")], [41, tick], [60, absent("a")], [61, request("b")])).toEqual([
      "1: 0-40 lost",
      "1: asked, absent at 60",
      "2: 61- runs",
    ]);
  });

  it("names an operator's change, with its reason", () => {
    expect(
      tell("hold", 99, [0, request("a")], [5, ambiguous("a")], [50, { type: "release", ...by }], [60, request("b")]),
    ).toEqual(["1: 0-5 ambiguous timed-out", "release by admin at 50: asked the bank", "2: 60- runs"]);
    expect(
      tell("hold", 99, [0, request("a")], [5, ambiguous("a")], [50, { type: "resolve", status: 200, ...by }]),
    ).toEqual(["1: 0-5 ambiguous timed-out", "resolve by admin at 50: asked the bank"]);
  });

  it("shows the loss of an attempt before the decision about it, also if it was noticed only then", () => {
    expect(tell("hold", 99, [0, request("a")], [LOCK_MS, { type: "release", ...by }])).toEqual([
      "1: 0-40 lost",
      "release by admin at 40: asked the bank",
    ]);
  });

  it("does not contain events of an expired record with the same name", () => {
    expect(
      tell("retry", 5000, [0, request("a")], [5, refused("a")], [2000, request("b")], [2001, result("b")]),
    ).toEqual(["1: 2000-2001 result 201"]);
  });

  it("names the claim of each record, also if a consumer uses an id again after the record has expired", () => {
    const [stream, partition] = ["orders", 0];
    const claim = (offset: number): LifeCycleEvent => ({
      type: "claim",
      fingerprint: fingerprint("f"),
      attemptId: attemptId("a"),
      note: { holder: null, position: { stream, partition, offset } },
    });
    const lines = tell("retry", 2001, [0, claim(5)], [5, refused("a")], [2000, claim(6)]);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^1: claimed.*6 at 2000$/);
    expect(lines[1]).toBe("1: 2000- runs");
  });

  it("counts how an attempt ends, by the event that shows it", () => {
    const policy = { unknown: "hold", ...TIMES } as const;
    const { record } = step(null, request("a"), policy, epochMs(0));
    if (record === null) throw new Error("no record");
    const verdictAt = (at: number, event: LifeCycleEvent) => verdictOf(record, event, epochMs(at));
    expect([result("a"), refused("a"), ambiguous("a"), result("a", true)].map((event) => verdictAt(1, event))).toEqual([
      "result",
      "refused",
      "ambiguous",
      null,
    ]);
    expect([verdictAt(LOCK_MS - 1, tick), verdictAt(LOCK_MS, tick)]).toEqual([null, "lost"]);
  });

  it("keeps the latest fifty events of a key that is retried endlessly", () => {
    const tries = Array.from({ length: 80 }, (_, n) => [
      [2 * n, request(`${n}`)] as const,
      [2 * n + 1, refused(`${n}`)] as const,
    ]).flat();
    const reported = tell("retry", 999, ...tries);
    expect(reported).toHaveLength(50);
    expect(reported.at(-1)).toBe("80: 158-159 refused 503");
  });
});

it("says when a client gave its key up, whether or not an attempt was made, and however often it says so", () => {
  const told = ["abandon by client at 7: "];
  expect(tell("hold", 20, [7, { type: "abandon" }])).toEqual(told);
  const events = [[0, request("a")] as const, [5, refused("a")] as const];
  expect(tell("hold", 20, ...events, [7, { type: "abandon" }], [9, { type: "abandon" }])).toEqual(told);
});

describe("an operator's change", () => {
  const policy = { unknown: "hold", ...TIMES } as const;
  const changes: readonly LifeCycleEvent[] = [
    { type: "release", ...by },
    { type: "resolve", status: 200, ...by },
    { type: "forget", ...by },
  ];

  function after(...events: readonly (readonly [at: number, event: LifeCycleEvent])[]): IdempotencyRecord | null {
    let record: IdempotencyRecord | null = null;
    for (const [at, event] of events) ({ record } = step(record, event, policy, epochMs(at)));
    return record;
  }

  it("needs a record", () => {
    for (const change of changes) {
      expect(step(null, change, policy, epochMs(0)).reply).toEqual({ type: "unchangeable", why: "none" });
    }
  });

  it("never touches an attempt in flight", () => {
    const record = after([0, request("a")]);
    for (const change of changes) {
      const { reply, record: left } = step(record, change, policy, epochMs(1));
      expect([reply, left]).toEqual([{ type: "unchangeable", why: "in-flight" }, record]);
    }
  });

  it("allows no other attempt while one may still run at the origin", () => {
    const record = after([0, request("a")], [5, ambiguous("a")]);
    expect(step(record, { type: "forget", ...by }, policy, epochMs(39)).reply.type).toBe("unchangeable");
    expect(step(record, { type: "forget", ...by }, policy, epochMs(40)).record).toBeNull();
    const released = step(record, { type: "release", ...by }, policy, epochMs(6)).record;
    expect(step(released, request("b"), policy, epochMs(39)).reply.type).toBe("in-flight");
    expect(step(released, request("b"), policy, epochMs(40)).reply.type).toBe("start");
  });

  it("allows none through resolve either, which may be done at once", () => {
    const resolved = after([0, request("a")], [5, ambiguous("a")], [6, { type: "resolve", status: 200, ...by }]);
    const forget = { type: "forget", ...by } as const;
    expect(step(resolved, forget, policy, epochMs(39)).reply).toEqual({ type: "unchangeable", why: "in-flight" });
    expect(step(resolved, forget, policy, epochMs(40)).record).toBeNull();
    // The attempt is over: the origin has said whether it acted.
    const refusedOne = after([0, request("a")], [5, refused("a")], [6, { type: "resolve", status: 200, ...by }]);
    for (const record of [refusedOne, after([0, request("a")], [5, result("a")])]) {
      expect(step(record, forget, policy, epochMs(7)).record).toBeNull();
    }
  });

  it("never changes the first answer: a completed record can only be forgotten", () => {
    const record = after([0, request("a")], [5, result("a")]);
    for (const change of changes.slice(0, 2)) {
      expect(step(record, change, policy, epochMs(6)).reply).toEqual({ type: "unchangeable", why: "completed" });
    }
    expect(step(record, { type: "forget", ...by }, policy, epochMs(6)).record).toBeNull();
  });

  it("that resolves a record makes its response the replay, and the late attempt changes nothing", () => {
    const record = after([0, request("a")], [5, ambiguous("a")], [6, { type: "resolve", status: 200, ...by }]);
    expect(step(record, request("b"), policy, epochMs(7)).reply.type).toBe("replay");
    expect(step(record, result("a"), policy, epochMs(7)).reply.type).toBe("superseded");
    expect(record).toMatchObject({ state: "completed", status: 200, kept: true, completedAt: 6, expiresAt: 1006 });
  });
});

it("keeps the latest finding that says nothing, each answer that says something, and no finding twice", () => {
  const done: TimelineEvent = { type: "verification", attempt: 1, at: epochMs(1), answer: "done" };
  const finding = { answer: "pending", saw: null, countsFrom: null } as const;
  const first = historyWithFinding([done], 2, finding, epochMs(2));
  const later = historyWithFinding(first, 2, { ...finding, answer: "unreadable" }, epochMs(3));
  const event = { type: "verification", attempt: 2, at: epochMs(3), ...finding, answer: "unreadable" };
  expect(later).toEqual([done, event]);
  expect(historyWithFinding(later, 2, { ...finding, answer: "unreadable" }, epochMs(4))).toBe(later);
});
