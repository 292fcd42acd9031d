// G10 in the checker: each rule for accepted requests accepts a good history and finds the violation in a bad one.

import { describe, expect, it } from "vitest";
import type { Exchange, HistoryEvent } from "../history.ts";
import {
  accepted,
  acted,
  ANN,
  asked,
  BOB,
  came,
  decided,
  expectBad,
  expectGood,
  LOST,
  looked,
  outage,
  problem,
  replayed,
  rulesBroken,
  story,
  verifiedAt,
} from "./story.ts";

const RULE = "G10 accepted is kept";
const HOLD = { path: "/accepted-hold" };
const RETRY = { path: "/accepted-retry" };
const CALM = { calm: true };

const REFUSED = { step: "refuse", status: 503, lastAt: 30 };

/** Accepted at 0; refused once, then carried out by the gateway's second attempt. */
const promise = asked("q1", 0, 20, accepted(), HOLD);
const refused = came(1, "q1", 20, { ...HOLD, ...REFUSED });
const done = came(2, "q1", 1_200, { ...HOLD, attempt: 2 });
const last = asked("q9", 9_000, 9_010, replayed(done), { ...HOLD, ...CALM });
const kept = [promise, refused, done, acted(done), last] as const;

const reported = (ending = replayed(done)) => looked("m9", 9_020, ending);
const EXPIRES = { expiresAt: 16_000 };

function refusal(...more: readonly HistoryEvent[]) {
  return story(promise, refused, ...more);
}

describe("an accepted request", () => {
  it("is tried until it has a result, which its monitor tells", () => {
    expectGood(story(...kept, looked("m1", 100, accepted()), reported()));
  });

  it("that is forgotten leaves who waits for it without an answer", () => {
    const duplicate = asked("q2", 500, 1_100, problem("store-unavailable", 503), HOLD);
    expectGood(story(...kept, duplicate, decided(-1, "forget", 700), reported()));
    expectBad(story(...kept, duplicate, reported()), "honest problems");
    expectBad(story(...kept, duplicate, decided(-1, "forget", 1_200), reported()), "honest problems");
  });

  it("is known to its monitor until it may have expired", () => {
    const gone = problem("monitor-not-found", 404);
    expectBad(story(...kept, looked("m1", 500, gone)), RULE);
    expectGood(story(...kept, looked("m1", 15_000, gone)));
    expectGood(story(...kept, decided(-1, "forget", 9_100), looked("m1", 9_500, gone)));
    expectBad(story(...kept, decided(-1, "forget", 9_100, { outcome: "refused" }), looked("m1", 9_500, gone)), RULE);
  });

  it("is not known to a monitor that an earlier record of its key has left, for other content", () => {
    const gone = problem("monitor-not-found", 404);
    expectGood(story(...kept, looked("m1", 500, gone, { monitor: "/monitor?print=2" })));
  });

  it("begins no attempt twice, and no more than its route promises", () => {
    const twice = came(3, "q1", 1_300, { ...HOLD, attempt: 2 });
    expectBad(story(...kept, twice), RULE);
    const tries = [1, 2, 3, 4, 5].map((n) => came(n, "q1", n * 2_000, { ...RETRY, ...LOST }));
    const start = asked("q1", 0, 20, accepted(), RETRY);
    expect(rulesBroken(story(start, ...tries.slice(0, 4)))).not.toContain(RULE);
    expectBad(story(start, ...tries), RULE);
    expect(rulesBroken(story(start, ...tries, decided(-1, "release", 8_500)))).not.toContain(RULE);
  });

  it("waits for the lock between two attempts of its own", () => {
    const tries = [100, 1_550, 1_590].map((at, n) => came(n + 1, "q1", at, { ...RETRY, ...LOST, closedAt: at + 20 }));
    const start = asked("q1", 0, 20, accepted(), RETRY);
    expectBad(story(start, ...tries), "G6 never two by guess");
    expect(rulesBroken(story(start, ...tries.slice(0, 2)))).not.toContain("G6 never two by guess");
  });
});

describe("its monitor", () => {
  it("tells the origin's result to the byte", () => {
    for (const wrong of [{ status: 200 }, { sha256: "another" }, { replayed: false }]) {
      expectBad(story(...kept, reported(replayed(done, wrong))), RULE);
    }
    expectBad(story(...kept, reported(replayed(refused))), RULE);
    expectBad(story(...kept, reported(replayed(came(7, "q1", 5, { ...HOLD, scope: BOB })))), RULE);
  });

  it("tells of no work and no end without a result after a result", () => {
    const had = looked("m1", 5_000, replayed(done, EXPIRES));
    expectBad(story(...kept, had, reported(accepted())), RULE);
    expectBad(story(...kept, had, reported(problem("attempts-exhausted", 502))), RULE);
    expectGood(story(...kept, reported(accepted())));
  });

  it("tells of an unknown outcome only where a route keeps it, and of a failing store only when something failed", () => {
    const ambiguous = looked("m1", 5_000, problem("outcome-unknown"), RETRY);
    expectBad(story(asked("q1", 0, 20, accepted(), RETRY), ambiguous), RULE);
    const down = looked("m1", 5_000, problem("store-unavailable", 503));
    expectBad(story(...kept, down), RULE);
    expectGood(story(...kept, down, outage("killed", 4_990, 5_000)));
    expectBad(story(...kept, looked("m1", 5_000, problem("", 500, { code: null }))), RULE);
  });

  it("tells all strangers the same", () => {
    const gone = (sha256: string) => problem("monitor-not-found", 404, { sha256 });
    const strangers = (other: string): readonly HistoryEvent[] => [
      looked("m1", 500, gone("one"), { isStranger: true }),
      looked("m2", 600, gone(other), { isStranger: true }),
    ];
    expectGood(story(...kept, ...strangers("one"), reported()));
    expectBad(story(...kept, ...strangers("other"), reported()), RULE);
  });

  it("has no credential any more when it has its result", () => {
    const look = (...credentials: readonly string[]): HistoryEvent => {
      return { type: "ledger", at: 20_000, records: 1, overdue: 0, orphans: 0, strays: [], unread: 0, credentials };
    };
    expectGood(story(...kept, reported(), look()));
    expectBad(story(...kept, reported(), look("k")), RULE);
  });

  it("tells strangers nothing", () => {
    const other = { isStranger: true };
    expectGood(story(...kept, looked("m1", 5_000, problem("monitor-not-found", 404), other)));
    expectBad(story(...kept, looked("m1", 100, accepted(), other)), RULE);
    expectBad(story(...kept, looked("m1", 5_000, replayed(done), other)), RULE);
    expectBad(story(...kept, looked("m1", 5_000, problem("outcome-unknown"), other)), RULE);
  });
});

describe("an answer of a monitor", () => {
  const LACKS = [
    { contentPolicy: null },
    { contentPolicy: "default-src 'none'" },
    { contentPolicy: "sandbox allow-scripts" },
    { typeOptions: null },
  ];

  it("is nothing that a browser shows as a page, whatever it says and whoever asks", () => {
    const answers = [
      looked("m1", 5_000, replayed(done)),
      looked("m2", 5_000, problem("", 200, { code: null }), { method: "HEAD" }),
      looked("m3", 5_000, problem("monitor-not-found", 404), { isStranger: true }),
    ];
    expectGood(story(...kept, ...answers));
    for (const look of answers) {
      const { ending } = look;
      if (ending.kind === "none") throw new Error("a look without an answer");
      for (const lack of LACKS) {
        expect(rulesBroken(story(...kept, { ...look, ending: { ...ending, ...lack } }))).toEqual(["inert monitors"]);
      }
    }
  });

  it("has no header that is said to the gateway alone", () => {
    const answer = replayed(done, { gatewayHeaders: ["idempotency-small"] });
    expect(rulesBroken(story(...kept, looked("m1", 5_000, answer)))).toEqual(["private headers"]);
  });

  it("may be marked as verified without a body that says by which answer, if the origin was asked", () => {
    const marked = looked("m1", 5_000, replayed(done, { gatewayHeaders: ["idempotency-verified"], origin: null }));
    const head = { ...marked, method: "HEAD" } as const;
    const verified = verifiedAt(3, 3_000);
    expect(rulesBroken(story(...kept, verified, head))).not.toContain("private headers");
    expect(rulesBroken(story(...kept, head))).toContain("private headers");
    expect(rulesBroken(story(...kept, verified, marked))).toContain("private headers");
  });
});

describe("a cancelled request", () => {
  const cancelled = looked("m1", 500, problem("", 204, { code: null }), { method: "DELETE" });
  const again = came(3, "q2", 6_000, { ...HOLD, attempt: 1 });
  const anew: readonly [Exchange, ...HistoryEvent[]] = [
    asked("q2", 5_990, 6_020, accepted(), HOLD),
    again,
    acted(again),
    asked("q9", 9_000, 9_010, replayed(again), { ...HOLD, ...CALM, credential: ANN }),
  ];

  it("leaves its key free, and is not tried", () => {
    expectGood(refusal(cancelled, ...anew));
    expectBad(refusal(cancelled, done, ...anew), RULE);
  });

  it("was not in flight", () => {
    const busy = came(1, "q1", 20, { ...HOLD, ...LOST, closedAt: 700 });
    expectBad(story(promise, busy, cancelled, ...anew), RULE);
  });
});

describe("in-flight on a route that accepts requests", () => {
  it("has a cause if the gateway may have claimed an attempt by itself and was killed", () => {
    const late = asked("q5", 6_000, 6_010, problem("in-flight"), HOLD);
    expectBad(story(...kept, late, last), "G8 nothing wedges");
    const open = [promise, refused] as const;
    const end = came(9, "q6", 7_000, { ...HOLD, attempt: 3 });
    const settled = asked("q9", 9_000, 9_010, replayed(end), { ...HOLD, ...CALM });
    const again = [asked("q6", 6_990, 7_020, accepted(), HOLD), end, acted(end), settled] as const;
    expectBad(story(...open, late, ...again), "G8 nothing wedges");
    expectGood(story(...open, outage("killed", 5_500, 5_900), late, ...again));
    expectBad(story(...open, outage("killed", 1_500, 1_600), late, ...again), "G8 nothing wedges");
  });
});
