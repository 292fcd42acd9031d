import { describe, expect, it } from "vitest";
import type { LifeCycleEvent } from "../../../../src/kernel/record/events.ts";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Policy } from "../../../../src/kernel/record/record.ts";
import { attemptId, durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import {
  FINGERPRINT,
  LOCK_MS,
  OTHER_FINGERPRINT,
  policyFor,
  REMEMBER_MS,
  RETENTION_MS,
  UNKNOWN_RETENTION_MS,
} from "../../../support/life-cycle-history.ts";

const T0 = 1_000_000;

function request(id: string) {
  return { type: "request", fingerprint: FINGERPRINT, attemptId: attemptId(id) } as const;
}

/** Plays events at times relative to T0. Returns the reply's type and the record's state after each. */
function tell(
  unknown: Policy["unknown"] | Policy,
  ...events: readonly (readonly [at: number, event: LifeCycleEvent])[]
): readonly string[] {
  let record: IdempotencyRecord | null = null;
  return events.map(([at, event]) => {
    const policy = typeof unknown === "string" ? policyFor(unknown) : unknown;
    const result = step(record, event, policy, epochMs(T0 + at));
    ({ record } = result);
    return `${result.reply.type} → ${record?.state ?? "none"}`;
  });
}

const result = { type: "result", attemptId: attemptId("a"), status: 201, kept: true, verified: false } as const;
const reason = { kind: "dropped" } as const;
const refused = { type: "refused", attemptId: attemptId("a"), reason } as const;
const ambiguous: LifeCycleEvent = { type: "ambiguous", attemptId: attemptId("a"), reason };
const tick: LifeCycleEvent = { type: "tick" };
const release: LifeCycleEvent = { type: "release", by: "admin", reason: "because" };
const resolve: LifeCycleEvent = { type: "resolve", by: "admin", reason: "because", status: 200 };
const [, LONG] = REMEMBER_MS;

describe("the arrows of the state machine (src/kernel/record/README.md)", () => {
  it("replays a result until it expires, and then starts again", () => {
    expect(
      tell(
        "hold",
        [0, request("a")],
        [5, result],
        [5 + RETENTION_MS - 1, request("b")],
        [5 + RETENTION_MS, request("c")],
      ),
    ).toEqual(["start → started", "settled → completed", "replay → completed", "start → started"]);
  });

  it("remembers the key of a result after its response has expired, and then starts again", () => {
    const until = 5 + LONG;
    expect(
      tell(
        policyFor("hold", LONG),
        [0, request("a")],
        [5, result],
        [5 + RETENTION_MS - 1, request("b")],
        [5 + RETENTION_MS, request("c")],
        [5 + RETENTION_MS, { ...request("c"), fingerprint: OTHER_FINGERPRINT }],
        [5 + RETENTION_MS, tick],
        [until - 1, request("d")],
        [until, request("e")],
      ),
    ).toEqual([
      "start → started",
      "settled → completed",
      "replay → completed",
      "key-expired → completed",
      "key-reused → completed",
      "nothing-due → remembered",
      "key-expired → remembered",
      "start → started",
    ]);
  });

  it.each([
    ["one whose response was not kept", [[5, { ...result, kept: false }]], 5 + RETENTION_MS],
    ["one that an operator has resolved", [[LOCK_MS, resolve]], LOCK_MS + RETENTION_MS],
    ["one that was never decided", [], LOCK_MS + UNKNOWN_RETENTION_MS],
  ] as const)("remembers the key of a record that has expired: %s", (_name, events, expiry) => {
    const policy = policyFor("hold", LONG);
    const reported = tell(policy, [0, request("a")], ...events, [expiry - 1, request("b")], [expiry, tick]);
    expect(reported.at(-2)).not.toMatch(/start |key-expired/);
    expect(reported.at(-1)).toBe("nothing-due → remembered");
  });

  it.each([
    ["the attempt was refused", "retry", [[5, refused]], [5 + RETENTION_MS, "start → started"]],
    ["the attempt was lost, and may have acted", "retry", [], [LOCK_MS + RETENTION_MS, "key-expired → started"]],
    [
      "the last attempt was refused, but one before it may have acted",
      "retry",
      [
        [5, ambiguous],
        [LOCK_MS, request("b")],
        [LOCK_MS + 1, { ...refused, attemptId: attemptId("b") }],
      ],
      [LOCK_MS + 1 + RETENTION_MS, "key-expired → failed"],
    ],
    [
      "the origin, asked, knew nothing of it",
      "verify",
      [[LOCK_MS, { type: "absent", attemptId: attemptId("a"), verifiedAt: epochMs(T0 + LOCK_MS) }]],
      [LOCK_MS + RETENTION_MS, "start → started"],
    ],
    ["an operator has released it", "hold", [[LOCK_MS, release]], [LOCK_MS + RETENTION_MS, "start → started"]],
  ] as const)("remembers a failed record's key if an attempt may have acted: %s", (_name, unknown, events, last) => {
    const [at, expected] = last;
    expect(tell(policyFor(unknown, LONG), [0, request("a")], ...events, [at, request("c")]).at(-1)).toBe(expected);
  });

  it("lets operators only forget a remembered record, and tells an owner that comes late that it is too late", () => {
    const at = 5 + RETENTION_MS;
    expect(
      tell(
        policyFor("hold", LONG),
        [0, request("a")],
        [5, result],
        [at, release],
        [at, resolve],
        [at, result],
        [at, { type: "forget", by: "admin", reason: "because" }],
        [at, request("b")],
      ).slice(2),
    ).toEqual([
      "unchangeable → completed",
      "unchangeable → completed",
      "superseded → completed",
      "changed → none",
      "start → started",
    ]);
  });

  it("reports that a result was too large to keep", () => {
    expect(tell("retry", [0, request("a")], [5, { ...result, kept: false }], [6, request("b")])).toEqual([
      "start → started",
      "settled → completed",
      "not-kept → completed",
    ]);
  });

  it("starts the next attempt at once after a refusal, also under hold", () => {
    expect(tell("hold", [0, request("a")], [5, refused], [5, request("b")])).toEqual([
      "start → started",
      "settled → failed",
      "start → started",
    ]);
  });

  it("takes the origin's word about a lost attempt, and never about one that is running", () => {
    const verified = { ...result, verified: true } as const;
    expect(tell("verify", [0, request("a")], [5, verified], [6, result])).toEqual([
      "start → started",
      "superseded → started",
      "settled → completed",
    ]);
    expect(tell("verify", [0, request("a")], [LOCK_MS, verified])).toEqual(["start → started", "settled → completed"]);
  });

  it("waits for the lock's end after an ambiguous end, since attempts never overlap", () => {
    expect(
      tell("retry", [0, request("a")], [5, ambiguous], [LOCK_MS - 1, request("b")], [LOCK_MS, request("b")]),
    ).toEqual(["start → started", "settled → failed", "in-flight → failed", "start → started"]);
  });

  it.each(["hold", "verify"] as const)(
    "%s: an unknown outcome outlasts the retention, up to unknown_retention after the lock",
    (unknown) => {
      const end = LOCK_MS + UNKNOWN_RETENTION_MS;
      expect(
        tell(
          unknown,
          [0, request("a")],
          [5, ambiguous],
          [LOCK_MS + RETENTION_MS, request("b")],
          [end - 1, request("b")],
          [end, request("b")],
        ),
      ).toEqual([
        "start → started",
        "settled → unknown",
        "outcome-unknown → unknown",
        "outcome-unknown → unknown",
        "start → started",
      ]);
    },
  );

  it.each([
    ["retry", "failed", "start → started"],
    ["hold", "unknown", "outcome-unknown → unknown"],
  ] as const)("ends a lost attempt's lock under %s", (unknown, state, next) => {
    expect(tell(unknown, [0, request("a")], [LOCK_MS - 1, tick], [LOCK_MS, tick], [LOCK_MS, request("b")])).toEqual([
      "start → started",
      "nothing-due → started",
      `nothing-due → ${state}`,
      next,
    ]);
  });

  it.each(["retry", "hold"] as const)(
    "lets a late answer of the same attempt settle the record under %s",
    (unknown) => {
      expect(
        tell(unknown, [0, request("a")], [LOCK_MS, tick], [LOCK_MS + 1, result], [LOCK_MS + 2, request("b")]).slice(2),
      ).toEqual(["settled → completed", "replay → completed"]);
    },
  );

  it("ignores a late answer of a superseded attempt", () => {
    expect(tell("retry", [0, request("a")], [LOCK_MS, request("b")], [LOCK_MS + 1, result])).toEqual([
      "start → started",
      "start → started",
      "superseded → started",
    ]);
  });

  it("keeps the lock of an attempt that renews it, however long it lives", () => {
    const renew: LifeCycleEvent = { type: "renew", attemptId: attemptId("a") };
    expect(tell("hold", [0, request("a")], [30, renew], [60, renew], [90, request("b")], [95, result])).toEqual([
      "start → started",
      "settled → started",
      "settled → started",
      "in-flight → started",
      "settled → completed",
    ]);
  });

  it("treats the same attempt's second claim as a duplicate", () => {
    expect(tell("retry", [0, request("a")], [1, request("a")])).toEqual(["start → started", "in-flight → started"]);
  });

  it("starts no attempt under the id of one that has ended", () => {
    expect(tell("retry", [0, request("a")], [1, refused], [2, request("a")], [3, request("b")])).toEqual([
      "start → started",
      "settled → failed",
      "in-flight → failed",
      "start → started",
    ]);
  });

  const verify: LifeCycleEvent = { type: "verify" };
  const absent = (verifiedAt: number): LifeCycleEvent => ({
    type: "absent",
    attemptId: attemptId("a"),
    verifiedAt: epochMs(T0 + verifiedAt),
  });

  it("accepts the origin's report as the result, also while the lock lasts", () => {
    expect(
      tell("verify", [0, request("a")], [1, ambiguous], [2, verify], [3, result], [4, request("b")], [5, absent(5)]),
    ).toEqual([
      "start → started",
      "settled → unknown",
      "verify → unknown",
      "settled → completed",
      "replay → completed",
      "superseded → completed",
    ]);
  });

  it("starts again when the origin reports no effect, but only if it was asked after the lock had ended", () => {
    const until = [0, request("a")] as const;
    expect(
      tell(
        "verify",
        until,
        [1, ambiguous],
        [LOCK_MS - 1, verify],
        [LOCK_MS + 1, absent(LOCK_MS - 1)],
        [LOCK_MS + 2, request("b")],
        [LOCK_MS + 3, verify],
        [LOCK_MS + 9, absent(LOCK_MS + 3)],
        [LOCK_MS + 9, request("c")],
      ),
    ).toEqual([
      "start → started",
      "settled → unknown",
      "verify → unknown",
      "settled → unknown",
      "outcome-unknown → unknown",
      "verify → unknown",
      "settled → failed",
      "start → started",
    ]);
  });

  it("starts again when the origin reports no effect, but only if it was asked when its reads could lag no more", () => {
    const settleMs = durationMs(50);
    const late = (verifiedAt: number) =>
      ({ type: "absent", attemptId: attemptId("a"), verifiedAt: epochMs(T0 + verifiedAt), settleMs }) as const;
    const lost = [
      [0, request("a")],
      [1, ambiguous],
      [LOCK_MS, { type: "verify", settleMs }],
    ] as const;
    expect(tell("verify", ...lost, [LOCK_MS + 60, late(LOCK_MS + 49)], [LOCK_MS + 61, request("b")]).slice(-2)).toEqual(
      ["settled → unknown", "outcome-unknown → unknown"],
    );
    expect(tell("verify", ...lost, [LOCK_MS + 60, late(LOCK_MS + 50)], [LOCK_MS + 61, request("b")]).slice(-2)).toEqual(
      ["settled → failed", "start → started"],
    );
  });

  it("answers a reused key in every state, before anything else", () => {
    const other: LifeCycleEvent = {
      type: "request",
      fingerprint: OTHER_FINGERPRINT,
      attemptId: attemptId("z"),
    };
    expect(
      tell(
        "retry",
        [0, request("a")],
        [1, other],
        [2, ambiguous],
        [3, other],
        [LOCK_MS, request("b")],
        [LOCK_MS, { ...result, attemptId: attemptId("b") }],
        [LOCK_MS, other],
      ),
    ).toEqual([
      "start → started",
      "key-reused → started",
      "settled → failed",
      "key-reused → failed",
      "start → started",
      "settled → completed",
      "key-reused → completed",
    ]);
    expect(tell("hold", [0, request("a")], [2, ambiguous], [3, other]).at(-1)).toBe("key-reused → unknown");
  });

  it("keeps a key that was given up for the whole retention from the last time on", () => {
    const abandon: LifeCycleEvent = { type: "abandon" };
    const until = 5 + RETENTION_MS;
    // The clock goes back: nothing that was promised is shortened.
    const again = [
      [0, abandon],
      [5, abandon],
      [3, abandon],
      [until - 1, request("a")],
      [until, request("b")],
    ] as const;
    expect(tell("hold", ...again)).toEqual([
      "abandoned → remembered",
      "abandoned → remembered",
      "abandoned → remembered",
      "key-expired → remembered",
      "start → started",
    ]);
  });
});
