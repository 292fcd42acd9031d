// The checker: each rule accepts a history that keeps the guarantee, and finds the violation in a hand-made one.

import { describe, expect, it } from "vitest";
import { checkHistory } from "../check-history.ts";
import type { Arrival, HistoryEvent } from "../history.ts";
import {
  acted,
  ANN,
  asked,
  BOB,
  BROKEN,
  came,
  decided,
  expectBad,
  expectGood,
  LEFT,
  LOST,
  outage,
  problem,
  replayed,
  story,
  reported,
} from "./story.ts";

type History = readonly HistoryEvent[];

const RETRY = { path: "/retry" };
const CALM = { calm: true };

/** A first request and its answer; each test adds the rest. */
const first = came(1, "q1", 20);
const begun = [asked("q1", 0, 40, reported(first)), first, acted(first)] as const;
const settled = asked("q9", 9_000, 9_010, replayed(first), CALM);
const GOOD = story(...begun, settled);

/** An attempt whose connection was lost, which the gateway reports at once. */
const lost = came(1, "q1", 20, LOST);
const ambiguous = asked("q1", 0, 40, problem("origin-dropped", 502));
const lostRetry = came(1, "q1", 20, { ...LOST, ...RETRY });
const unknownRetry = asked("q1", 0, 40, problem("origin-dropped", 502), RETRY);

/** The second attempt on a route with retry. The lock lasts 1500 ms from the first request at time 0. */
function secondTry(at: number, more: Partial<Arrival> = {}): History {
  const second = came(2, "q2", at, { ...RETRY, ...more });
  const retry = asked("q2", at - 10, at + 30, reported(second), RETRY);
  const last = asked("q9", at + 5_000, at + 5_010, replayed(second), { ...RETRY, ...CALM });
  return story(unknownRetry, lostRetry, acted(lostRetry), retry, second, acted(second), last);
}

describe("the checker", () => {
  it("accepts a history without violations", () => {
    expectGood(GOOD);
    expectGood(secondTry(1_510));
  });

  it("refuses a history without its meta line", () => {
    expect(() => checkHistory(GOOD.slice(1))).toThrow("meta");
  });
});

describe("private headers", () => {
  it("are found on every answer: the origin's, a replay, a problem, and one that was cut short", () => {
    const named = ["idempotency-expires", "idempotency-status", "idempotent-replayed"];
    const answers = [
      reported(first),
      replayed(first),
      problem("in-flight"),
      replayed(first, { complete: false, left: true, body: "prefix" }),
    ];
    for (const answer of answers) {
      const having = (gatewayHeaders: readonly string[]): History => [
        ...(answer.replayed ? begun : [asked("q1", 0, 40, { ...answer, gatewayHeaders }), first, acted(first)]),
        ...(answer.replayed ? [asked("q2", 500, 520, { ...answer, gatewayHeaders })] : []),
        settled,
      ];
      expectGood(story(...having(named)));
      for (const name of [
        "onceway-event",
        "onceway-elsewhere",
        "idempotency-small",
        "idempotency-verified",
        "onceway-anything",
      ])
        expectBad(story(...having([...named, name])), "private headers");
    }
  });
});

describe("G1 one at a time", () => {
  const slow = came(1, "q1", 20, { ...LOST, ...RETRY, step: "stall", closedAt: 3_000, closedBy: "peer" });

  it("finds two attempts at the origin at once", () => {
    const second = came(2, "q2", 2_000, RETRY);
    const bad = story(unknownRetry, slow, asked("q2", 1_990, 2_030, reported(second), RETRY), second);
    expectBad(bad, "G1 one at a time");
  });

  it("accepts a next attempt that crosses the end of the one before", () => {
    const crossing = { ...slow, closedAt: 1_550 };
    const second = came(2, "q2", 1_510, RETRY);
    const last = asked("q9", 5_000, 5_010, replayed(second), { ...RETRY, ...CALM });
    expectGood(story(unknownRetry, crossing, asked("q2", 1_500, 1_540, reported(second), RETRY), second, last));
  });
});

describe("G2 first answer wins", () => {
  const second = came(2, "q2", 5_000);

  it("finds a second answer for the key", () => {
    expectBad(story(...begun, asked("q2", 4_990, 5_030, reported(second)), second, settled), "G2 first answer wins");
  });

  it("finds a call to the origin after the answer, whatever the client got", () => {
    expectBad(story(...begun, asked("q2", 4_990, 5_030, LEFT), second, settled), "G2 first answer wins");
  });

  it("accepts both once the retention is over", () => {
    const late = came(2, "q2", 21_000, { attempt: 1 });
    const last = asked("q9", 22_000, 22_010, replayed(late), CALM);
    expectGood(story(...begun, asked("q2", 20_990, 21_030, reported(late)), late, acted(late), last));
  });

  it.each(["in-flight", "outcome-unknown", "origin-timeout"])("finds %s instead of the answer", (code) => {
    expectBad(story(...begun, asked("q2", 100, 110, problem(code)), settled), "G2 first answer wins");
  });

  it.each(["store-unavailable", "identity-unavailable"])("accepts %s only during a fault", (code) => {
    const retry = asked("q2", 3_000, 3_010, problem(code, 503));
    expectBad(story(...begun, retry, settled), "G2 first answer wins");
    expectGood(story(...begun, retry, settled, outage("stopped", 2_900, 3_005)));
  });

  it("finds a replay that breaks off, and accepts it if the gateway was killed or the client left", () => {
    const broken = replayed(first, { complete: false, body: "prefix" });
    expectBad(story(...begun, asked("q2", 100, 110, broken), settled), "G2 first answer wins");
    expectGood(story(...begun, asked("q2", 100, 110, broken), outage("killed", 105, 200), settled));
    expectGood(story(...begun, asked("q2", 100, 110, { ...broken, left: true }), settled));
  });

  it.each<[string, object]>([
    ["another status", { status: 200 }],
    ["other headers", { headers: "others" }],
    ["other bytes", { body: "other" }],
    ["half a body as a whole one", { body: "prefix" }],
    ["another body", { sha256: "another" }],
    ["the first client's cookie", { hasCookie: true }],
    ["no word that it is a replay", { replayed: false }],
  ])("finds a replay with %s", (_name, wrong) => {
    expectBad(story(...begun, asked("q2", 100, 110, replayed(first, wrong)), settled), "G2 every byte");
  });

  it("finds a broken body that is passed off as whole", () => {
    const cut = came(1, "q1", 20, { lastAt: null, sha256: null, step: "cut" });
    expectBad(story(asked("q1", 0, 40, reported(cut)), cut), "G2 every byte");
  });

  it("finds a replay after its expiry, and an expiry that does not fit the retention", () => {
    const fits = 20_030;
    expectGood(story(...begun, asked("q2", 19_000, 19_010, replayed(first, { expiresAt: fits })), settled));
    const late = asked("q2", 21_100, 21_110, replayed(first, { expiresAt: fits }));
    expectBad(story(...begun, late, settled), "G2 until it expires");
    for (const expiresAt of [15_000, 30_000]) {
      const wrong = asked("q2", 100, 110, replayed(first, { expiresAt }));
      expectBad(story(...begun, wrong, settled), "G2 until it expires");
    }
  });
});

describe("G3 claim before call", () => {
  it("finds an attempt that was forgotten", () => {
    expectBad(secondTry(1_510, { attempt: 1 }), "G3 claim before call");
    expectGood(secondTry(1_510, { attempt: 3 }));
  });

  it("finds a forwarded request that was incomplete, that no client sent, or that was changed", () => {
    const partial = asked("q1", 0, 40, LEFT, { partial: true });
    expectBad(story(partial, first, settled), "G3 claim before call");
    expectBad(story(...begun, came(2, "q77", 9_500, { attempt: 2 }), settled), "G3 claim before call");
    expectBad(story(...begun, came(2, "q1", 9_500, { path: "/retry" }), settled), "G3 claim before call");
  });

  it("finds an attempt without its number or its key", () => {
    for (const wrong of [{ attempt: null }, { hasKey: false }]) {
      expectBad(story(begun[0], { ...first, ...wrong }, settled), "G3 claim before call");
    }
  });
});

describe("G4 durable before told", () => {
  it("finds an answer that was lost in a crash", () => {
    const second = came(2, "q2", 2_000, RETRY);
    const told1 = came(1, "q1", 20, RETRY);
    const crash = outage("killed", 41, 300);
    const again = asked("q2", 1_990, 2_030, reported(second), RETRY);
    expectBad(story(asked("q1", 0, 40, reported(told1), RETRY), told1, crash, again, second), "G4 durable before told");
  });

  it("accepts the loss of an answer that no client had when the gateway was killed", () => {
    const unheard = came(1, "q1", 20, RETRY);
    const second = came(2, "q2", 2_000, RETRY);
    const crash = outage("killed", 35, 300);
    const again = asked("q2", 1_990, 2_030, reported(second), RETRY);
    const last = asked("q9", 5_000, 5_010, replayed(second), { ...RETRY, ...CALM });
    expectGood(story(asked("q1", 0, 40, BROKEN, RETRY), unheard, crash, again, second, last));
  });
});

describe("G5 the client may leave", () => {
  const left = asked("q1", 0, 25, LEFT);

  it("finds an answer that was lost with its client", () => {
    expectBad(story(left, first, asked("q2", 900, 910, problem("outcome-unknown"))), "G5 the client may leave");
    expectGood(story(left, first, asked("q2", 900, 910, replayed(first)), settled));
  });

  it("accepts the loss if the machine was too busy, or the origin slow", () => {
    const unknown = asked("q2", 2_900, 2_910, problem("outcome-unknown"), CALM);
    expectGood(story(left, first, outage("lag", 10, 300), unknown));
    const slow = came(1, "q1", 20, { headAt: 700, lastAt: 705, closedAt: 706 });
    expectGood(story(left, slow, unknown));
  });
});

describe("G6 never two by guess", () => {
  const RULE = "G6 never two by guess";

  it("finds a next attempt before the lock's end, and accepts one after a refusal", () => {
    expectBad(secondTry(1_490), RULE);
    const refused = came(1, "q1", 20, { ...RETRY, status: 503, step: "refuse" });
    const second = came(2, "q2", 60, RETRY);
    const last = asked("q9", 5_000, 5_010, replayed(second), { ...RETRY, ...CALM });
    const passedOn = asked("q1", 0, 40, reported(refused), RETRY);
    expectGood(story(passedOn, refused, asked("q2", 50, 80, reported(second), RETRY), second, last));
  });

  it("accepts the next attempt while the body of a refusal still arrives, but finds one before its head", () => {
    const trickling = came(1, "q1", 20, {
      ...RETRY,
      status: 503,
      headAt: 25,
      lastAt: null,
      sha256: null,
      closedAt: 900,
    });
    const second = came(2, "q2", 60, RETRY);
    const last = asked("q9", 5_000, 5_010, replayed(second), { ...RETRY, ...CALM });
    const next = [asked("q2", 50, 80, reported(second), RETRY), second, last];
    const passedOn = asked("q1", 0, 910, reported(trickling, { complete: false, body: "prefix" }), RETRY);
    expectGood(story(passedOn, trickling, ...next));
    expectBad(story(passedOn, { ...trickling, headAt: null }, ...next), RULE);
  });

  it("finds any second attempt with hold, and a second effect", () => {
    const second = came(2, "q2", 5_000);
    const bad = story(ambiguous, lost, acted(lost), asked("q2", 4_990, 5_030, reported(second)), second, acted(second));
    expectBad(bad, RULE);
    expectBad(bad, "G6 one effect");
    const last = asked("q9", 5_000, 5_010, problem("outcome-unknown"), CALM);
    expectGood(story(ambiguous, lost, acted(lost), last));
  });

  it("finds an attempt after a client got outcome-unknown", () => {
    const told409 = asked("q2", 100, 110, problem("outcome-unknown"));
    const second = came(2, "q3", 5_000);
    expectBad(story(ambiguous, told409, asked("q3", 4_990, 5_030, reported(second)), second), RULE);
  });

  it("finds one that starts because the retention is over, and accepts it after unknown_retention", () => {
    const told409 = asked("q2", 20_000, 20_010, problem("outcome-unknown"), CALM);
    const restarted = (at: number): History => {
      const second = came(2, "q3", at, { attempt: 1 });
      const last = asked("q9", at + 1_000, at + 1_010, replayed(second), CALM);
      return story(ambiguous, told409, asked("q3", at - 10, at + 30, reported(second)), second, last);
    };
    expectBad(restarted(25_000), RULE);
    expectGood(restarted(32_000));
  });
});

describe("a remembered key", () => {
  /** Its retention is 3 s. */
  const LATE = { path: "/hold-late" };
  const answered = came(1, "q1", 20, LATE);
  const began = [asked("q1", 0, 40, reported(answered), LATE), answered, acted(answered)] as const;
  const expired = (at: number): HistoryEvent => asked("q2", at, at + 10, problem("key-expired"), { ...LATE, ...CALM });

  it("is told once its record has expired, and not before", () => {
    expectGood(story(...began, expired(3_100)));
    expectBad(story(...began, expired(2_900)), "G2 first answer wins");
    expectBad(story(...began, expired(2_900)), "honest problems");
    expectBad(story(...begun, asked("q2", 30_000, 30_010, problem("key-expired"), CALM)), "honest problems");
  });

  it("has no second attempt, except after an operator's forget", () => {
    const second = came(2, "q2", 100_000, { ...LATE, attempt: 1 });
    const again = asked("q2", 99_990, 100_020, reported(second), LATE);
    const last = asked("q9", 100_100, 100_110, replayed(second), { ...LATE, ...CALM });
    const restarted = [...began, again, second, acted(second), last];
    expectBad(story(...restarted), "G6 one effect");
    expectGood(story(...restarted, decided(-1, "forget", 50_000)));
  });
});

describe("G7 nobody else's answer", () => {
  const RULE = "G7 nobody else's answer";

  it("finds the answer of another scope or another key, and one that the origin never sent", () => {
    const bobs = came(2, "q2", 100, { scope: BOB, attempt: 1 });
    const asBob = asked("q2", 90, 130, reported(bobs), { scope: BOB });
    const bobSettled = asked("q8", 9_000, 9_010, replayed(bobs), { scope: BOB, ...CALM });
    expectGood(story(...begun, settled, asBob, bobs, bobSettled));
    expectBad(story(...begun, settled, asked("q2", 90, 130, replayed(first), { scope: BOB })), RULE);
    const { origin } = reported(first);
    if (origin === null) throw new Error("an answer of the origin without its marks");
    for (const wrong of [{ key: "other" }, { scope: BOB }, { arrival: 5 }]) {
      const answer = replayed(first, { origin: { ...origin, ...wrong } });
      expectBad(story(...begun, asked("q2", 100, 110, answer), settled), RULE);
    }
  });

  it("finds a problem that reveals a part of an answer", () => {
    const leak = problem("in-flight", 409, { leaks: true });
    expectBad(story(asked("q2", 1, 10, leak, { scope: ANN }), ...begun, settled), RULE);
  });
});

describe("G8 nothing wedges", () => {
  const RULE = "G8 nothing wedges";

  it("finds a connection that was lost while the gateway ran, and one without an answer", () => {
    expectBad(story(...begun, asked("q2", 100, 110, BROKEN), settled), RULE);
    expectBad(story(...begun, asked("q2", 100, 15_100, { kind: "none", why: "patience" }), settled), RULE);
    expectGood(story(...begun, asked("q2", 100, 110, BROKEN), outage("killed", 90, 200), settled));
    // A machine that stood still all the while, in parts that overlap, says nothing of the gateway; one that ran for most of it does.
    const silent = asked("q2", 100, 15_100, { kind: "none", why: "patience" });
    const lags = [outage("lag", 0, 8_000), outage("slow-disk", 7_000, 9_000), outage("lag", 9_400, 15_000)];
    expectGood(story(...begun, silent, ...lags, settled));
    expectBad(story(...begun, silent, ...lags.slice(0, 2), settled), RULE);
    const cut = came(1, "q1", 20, { step: "cut", lastAt: null, sha256: null });
    expectGood(story(asked("q1", 0, 40, BROKEN), cut, asked("q9", 9_000, 9_010, problem("outcome-unknown"), CALM)));
  });

  it("finds in-flight after every lock has ended", () => {
    const unknown = asked("q9", 9_000, 9_010, problem("outcome-unknown"), CALM);
    expectBad(story(ambiguous, lost, asked("q2", 4_000, 4_010, problem("in-flight")), unknown), RULE);
    expectGood(story(ambiguous, lost, asked("q2", 1_400, 1_410, problem("in-flight")), unknown));
  });

  it("accepts a lock that a stopped gateway has renewed", () => {
    const slow = came(1, "q1", 20, { ...LOST, step: "stall", closedAt: 1_000 });
    const stop = outage("stopped", 500, 3_000);
    const unknown = asked("q9", 9_000, 9_010, problem("outcome-unknown"), CALM);
    const flying = asked("q2", 4_000, 4_010, problem("in-flight"));
    expectGood(story(asked("q1", 0, 3_010, problem("origin-timeout", 504)), slow, stop, flying, unknown));
  });

  it("finds a key that is never settled, is settled too late, or was not requested in the final phase", () => {
    const flying = asked("q8", 9_000, 9_010, problem("in-flight"), CALM);
    expectBad(story(...begun, flying), RULE);
    expectBad(story(ambiguous, lost, flying, asked("q9", 19_000, 19_010, problem("outcome-unknown"), CALM)), RULE);
    expectBad(story(...begun), RULE);
  });

  it("restarts the time to settle at an attempt that timed out, and at no other", () => {
    const calm = { ...RETRY, ...CALM };
    const slow = came(2, "q8", 9_010, { ...RETRY, ...LOST, step: "stall", closedAt: 9_810 });
    const late = came(3, "q9", 20_020, RETRY);
    const last = asked("q9", 20_000, 20_040, reported(late), calm);
    const until = (at: number, code: string, status: number): History =>
      story(
        unknownRetry,
        lostRetry,
        asked("q7", 9_000, 9_810, problem(code, status), calm),
        slow,
        asked("q8", at, at + 810, problem(code, status), calm),
        late,
        last,
      );
    expectBad(until(9_900, "in-flight", 409), RULE);
    expectBad(until(9_900, "origin-timeout", 504), RULE);
    expectGood(until(18_000, "origin-timeout", 504));
  });

  it("finds overdue records on the disk, bodies without a record, and a gateway that died", () => {
    for (const wrong of [{ overdue: 1 }, { orphans: 1 }, { strays: ["a"] }, { unread: 1 }]) {
      expectBad(
        [...GOOD, { type: "ledger", at: 0, records: 1, overdue: 0, orphans: 0, strays: [], unread: 0, ...wrong }],
        RULE,
      );
    }
    expectBad(
      GOOD.filter(({ type }) => type !== "ledger"),
      RULE,
    );
    expectBad([...GOOD, { type: "died", at: 0, output: "" }], RULE);
  });
});

describe("the mismatch", () => {
  const RULE = "mismatch";
  const other = { fingerprint: "other" };

  it("finds a different request that is answered or forwarded under a key in use", () => {
    expectGood(story(...begun, asked("q2", 100, 110, problem("key-reused", 422), other), settled));
    expectBad(story(...begun, asked("q2", 100, 110, replayed(first), other), settled), RULE);
    expectBad(story(...begun, asked("q2", 100, 110, problem("in-flight"), other), settled), RULE);
    const second = came(2, "q2", 100);
    expectBad(story(...begun, asked("q2", 90, 130, reported(second), other), second, settled), RULE);
  });

  it("finds a retry that is refused as a different request", () => {
    expectBad(story(...begun, asked("q2", 100, 110, problem("key-reused", 422)), settled), RULE);
  });
});

// feature: verdicts begins
describe("a route that takes other requests after a refusal", () => {
  const JUDGED = { path: "/hold-verdicts" };
  const other = { ...JUDGED, fingerprint: "other" };
  const refused = came(1, "q1", 20, { ...JUDGED, status: 290, step: "refuse" });
  const taken = came(2, "q2", 100, JUDGED);
  const last = asked("q9", 9_000, 9_010, replayed(taken), { ...other, calm: true });
  const rest = [asked("q2", 90, 130, reported(taken), other), taken, acted(taken), last] as const;

  it("lets another follow one that the body says was refused", () => {
    expectGood(story(asked("q1", 0, 40, reported(refused), JUDGED), refused, ...rest));
  });

  it("lets another follow one that may have acted if an operator has released the record, and not before", () => {
    const open = { ...refused, status: 291, step: "ambiguous" } as const;
    const next = came(2, "q2", 1_600, JUDGED);
    const history = [
      asked("q1", 0, 40, reported(open), JUDGED),
      open,
      asked("q2", 1_590, 1_630, reported(next), other),
      next,
      acted(next),
      asked("q9", 9_000, 9_010, replayed(next), { ...other, calm: true }),
    ];
    expectGood(story(...history, decided(-1, "release", 1_550)));
    expectBad(story(...history, decided(-1, "release", 1_650)), "mismatch");
    expectBad(story(...history, decided(-1, "release", 1_550, { outcome: "refused" })), "mismatch");
  });

  it.each([
    ["may have acted", { status: 291, step: "ambiguous" }],
    ["was refused in a body that did not come whole", { lastAt: null }],
  ])("finds another that follows one that %s", (_what, more) => {
    const open = { ...refused, ...more };
    expectBad(story(asked("q1", 0, 40, reported(open), JUDGED), open, ...rest), "mismatch");
  });

  it("finds another on any other route", () => {
    const plain = { path: "/hold" };
    const [one, two] = [
      { ...refused, ...plain, status: 503 },
      { ...taken, ...plain },
    ];
    const others = { fingerprint: "other" };
    const history = [
      asked("q1", 0, 40, reported(one)),
      one,
      asked("q2", 90, 130, reported(two), others),
      two,
      acted(two),
    ];
    expectBad(story(...history, asked("q9", 9_000, 9_010, replayed(two), { ...others, ...CALM })), "mismatch");
  });
});
// feature: verdicts ends

describe("the gateway's problems", () => {
  const RULE = "honest problems";

  it.each<[string, ReturnType<typeof problem>]>([
    ["an unknown code", problem("surprise", 500)],
    ["no code at all", { ...problem("", 500), code: null }],
    ["no key", problem("in-flight", 409, { echo: null })],
    ["a Retry-After beyond the lock", problem("in-flight", 409, { retryAfterMs: 3_000 })],
    ["no Retry-After", problem("in-flight", 409, { retryAfterMs: null })],
    ["a response that was not kept, and small", problem("response-not-kept")],
    ["a store that fails by itself", problem("store-unavailable", 503)],
  ])("finds %s", (_name, answer) => {
    expectBad(story(asked("q2", 1, 30, answer), ...begun, settled), RULE);
  });

  it("knows that the bucket may stand still, and a large response is then not kept", () => {
    const small = { path: "/hold-small" };
    const large = came(1, "q1", 20, { ...small, bytes: 200_000 });
    const unkept = asked("q9", 2_000, 2_010, problem("response-not-kept"), { ...small, calm: true });
    const history = [asked("q1", 0, 40, BROKEN, small), large, acted(large), unkept, outage("killed", 30, 35)];
    expectBad(story(...history), RULE);
    expectGood(story(...history, outage("lag", 40, 400)));
  });

  it("knows that a slow upload may fail until a client is told that the response was not kept, and no later", () => {
    const small = { path: "/hold-small" };
    const large = came(1, "q1", 20, { ...small, bytes: 200_000 });
    const unkept = asked("q9", 3_000, 3_010, problem("response-not-kept"), { ...small, calm: true });
    const history = [asked("q1", 0, 40, LEFT, small), large, acted(large), unkept];
    expectGood(story(...history, outage("bucket-fails", 1_500, 2_000)));
    expectBad(story(...history, outage("bucket-fails", 3_020, 3_030)), RULE);
  });

  it("finds a body that was called too slow although the origin was reached, and a request that was called invalid", () => {
    expectBad(story(asked("q1", 0, 40, problem("request-invalid", 408)), lost), RULE);
    expectBad(story(asked("q1", 0, 40, problem("request-invalid", 400))), RULE);
  });

  it("finds origin-unreachable although the origin was reached", () => {
    expectBad(story(asked("q1", 0, 40, problem("origin-unreachable", 502)), lost), RULE);
  });

  it("finds origin-dropped and origin-timeout although the answer arrived", () => {
    for (const code of ["origin-dropped", "origin-timeout"]) {
      expectBad(story(asked("q1", 0, 40, problem(code, 502)), first), RULE);
    }
  });

  it("finds outcome-unknown on a route with retry", () => {
    const unknown = asked("q2", 100, 110, problem("outcome-unknown"), RETRY);
    expectBad(story(unknownRetry, lostRetry, unknown), RULE);
  });
});
