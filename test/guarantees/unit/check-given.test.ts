// The checker's rules for operators' decisions, for the origin's reports, for waiting and stalled clients, for a bucket and
// for streamed request bodies: each accepts a good history and finds the violation in a bad one.

import { describe, expect, it } from "vitest";
import type { Exchange, HistoryEvent } from "../history.ts";
import { sortHistory } from "../records.ts";
import {
  acted,
  ANN,
  asked,
  BOB,
  came,
  decided,
  expectBad,
  expectGood,
  given,
  LEFT,
  LOST,
  outage,
  problem,
  verifiedAt,
  replayed,
  story,
  reported,
} from "./story.ts";

type History = readonly HistoryEvent[];

const CALM = { calm: true };
const TWO = "G6 never two by guess";
const EFFECT = "G6 one effect";
const FIRST = "G2 first answer wins";
const BYTES = "G2 every byte";
const WEDGED = "G8 nothing wedges";

/** An attempt on a route with hold, whose connection was lost after it had acted. Its lock ends at 1500. */
const lost = came(1, "q1", 20, LOST);
const ambiguous = asked("q1", 0, 40, problem("origin-dropped", 502));
const begun = [ambiguous, lost, acted(lost)] as const;
const unknown = asked("q9", 9_000, 9_010, problem("outcome-unknown"), CALM);

describe("an operator's resolve", () => {
  const resolve = decided(-1, "resolve", 2_000);
  const settled = asked("q9", 9_000, 9_010, given(resolve), CALM);

  it("provides the answer from then on", () => {
    expectGood(story(...begun, resolve, settled));
    expectBad(story(...begun, resolve, unknown), FIRST);
    expectBad(story(...begun, resolve, asked("q2", 3_000, 3_010, replayed(lost)), settled), FIRST);
    const second = came(2, "q2", 3_000);
    expectBad(story(...begun, resolve, asked("q2", 2_990, 3_030, LEFT), second, settled), FIRST);
  });

  it("provides it from its first replay on if the operator's own answer was lost", () => {
    const silent = { ...resolve, outcome: "lost" } as const;
    expectGood(story(...begun, silent, unknown));
    expectBad(story(...begun, silent, asked("q2", 3_000, 3_010, given(silent)), unknown), FIRST);
  });

  it("ends with an operator's forget, and with the retention", () => {
    const next = came(2, "q2", 5_000, { attempt: 1 });
    const later = [asked("q2", 4_990, 5_030, reported(next)), next, acted(next)] as const;
    const last = asked("q9", 9_000, 9_010, replayed(next), CALM);
    expectGood(story(...begun, resolve, decided(-2, "forget", 4_000), ...later, last));
    // An isolate may remember a small replay for half a minute.
    const remembered = asked("q3", 6_000, 6_010, given(resolve));
    const large = asked("q3", 6_000, 6_010, given(resolve, { bytes: 10_000 }));
    expectGood(story(...begun, resolve, decided(-2, "forget", 4_000), ...later, remembered, last));
    expectBad(story(...begun, resolve, decided(-2, "forget", 4_000), ...later, large, last), FIRST);
    const late = came(2, "q2", 23_000, { attempt: 1 });
    const lateLast = asked("q9", 24_000, 24_010, replayed(late), CALM);
    const lateAsk = asked("q2", 22_990, 23_030, reported(late));
    expectGood(story(...begun, resolve, lateAsk, late, acted(late), lateLast));
  });

  it.each<[string, object]>([
    ["another status", { status: 200 }],
    ["other bytes", { body: "other" }],
    ["another body", { sha256: "another" }],
    ["no word that it is a replay", { replayed: false }],
  ])("is replayed byte for byte: finds %s", (_name, wrong) => {
    expectBad(story(...begun, resolve, asked("q2", 3_000, 3_010, given(resolve, wrong)), settled), BYTES);
  });

  it("never replaces an answer", () => {
    const first = came(1, "q1", 20);
    const answered = [asked("q1", 0, 40, reported(first)), first, acted(first)] as const;
    const last = asked("q9", 9_000, 9_010, replayed(first), CALM);
    expectGood(story(...answered, decided(-1, "resolve", 2_000, { outcome: "refused" }), last));
    expectBad(story(...answered, decided(-1, "resolve", 2_000), last), FIRST);
    expectBad(story(...answered, decided(-1, "release", 2_000), last), FIRST);
    expectBad(story(...begun, resolve, decided(-2, "release", 4_000), settled), FIRST);
  });
});

describe("an operator's release", () => {
  /** The second attempt on a route with hold. */
  function secondAt(at: number, ...between: History): History {
    const second = came(2, "q2", at);
    const last = asked("q9", at + 5_000, at + 5_010, replayed(second), CALM);
    return story(...begun, ...between, asked("q2", at - 10, at + 30, reported(second)), second, acted(second), last);
  }

  it("allows another attempt, with a higher number", () => {
    expectBad(secondAt(5_000), TWO);
    expectBad(secondAt(5_000), EFFECT);
    expectGood(secondAt(5_000, decided(-1, "release", 2_000)));
    expectGood(secondAt(5_000, decided(-1, "release", 2_000, { outcome: "lost" })));
    const again = came(2, "q2", 5_000, { attempt: 1 });
    const bad = story(...begun, decided(-1, "release", 2_000), asked("q2", 4_990, 5_030, reported(again)), again);
    expectBad(bad, "G3 claim before call");
  });

  it("restarts the retention, also before the lock has ended", () => {
    const anew = (releasedAt: number): History => {
      const again = came(2, "q2", 20_400, { attempt: 1 });
      const last = asked("q9", 25_000, 25_010, replayed(again), CALM);
      return story(
        ...begun,
        decided(-1, "release", releasedAt),
        asked("q2", 20_390, 20_430, reported(again)),
        again,
        last,
      );
    };
    expectGood(anew(200));
    expectBad(anew(600), "G3 claim before call");
  });

  it("allows no attempt if it was refused, if it came after the attempt, or before the lock has ended", () => {
    expectBad(secondAt(5_000, decided(-1, "release", 2_000, { outcome: "refused" })), TWO);
    expectBad(secondAt(5_000, decided(-1, "release", 6_000)), TWO);
    expectBad(secondAt(1_400, decided(-1, "release", 500)), TWO);
  });
});

describe("an operator's forget", () => {
  const forget = decided(-1, "forget", 2_000);

  it("allows a first attempt, but none before the lost one's lock has ended", () => {
    const next = came(2, "q2", 5_000, { attempt: 1 });
    const last = asked("q9", 9_000, 9_010, replayed(next), CALM);
    const rest = [asked("q2", 4_990, 5_030, reported(next)), next, acted(next), last] as const;
    expectGood(story(...begun, forget, ...rest));
    expectBad(story(...begun, ...rest), "G3 claim before call");
    const early = came(2, "q2", 1_400, { attempt: 1 });
    const bad = story(
      ...begun,
      { ...forget, sentAt: 500, endAt: 510 },
      asked("q2", 1_390, 1_430, reported(early)),
      early,
    );
    expectBad(bad, TWO);
  });

  it("of a result allows an attempt at once, also with retry", () => {
    const RETRY = { path: "/retry" };
    const answered = came(1, "q1", 20, RETRY);
    const next = came(2, "q2", 700, { ...RETRY, attempt: 1 });
    const last = asked("q9", 9_000, 9_010, replayed(next), { ...RETRY, ...CALM });
    const first = [asked("q1", 0, 40, reported(answered), RETRY), answered, acted(answered)] as const;
    const rest = [asked("q2", 690, 730, reported(next), RETRY), next, acted(next), last] as const;
    expectGood(story(...first, decided(-1, "forget", 500), ...rest));
    expectBad(story(...first, ...rest), TWO);
  });

  it("restarts the attempt numbers", () => {
    const next = came(2, "q2", 5_000, { attempt: 2 });
    const bad = story(...begun, forget, asked("q2", 4_990, 5_030, reported(next)), next);
    expectBad(bad, "forget begins anew");
    // Another attempt may have been claimed that never reached the origin.
    const unseen = asked("q3", 3_000, 3_010, problem("origin-unreachable", 502));
    const last = asked("q9", 9_000, 9_010, replayed(next), CALM);
    expectGood(story(...begun, forget, unseen, asked("q2", 4_990, 5_030, reported(next)), next, acted(next), last));
  });
});

describe("the answers that operators get", () => {
  it("are true", () => {
    const RULE = "honest problems";
    expectGood(story(...begun, decided(-1, "forget", 100, { outcome: "refused", retryAfterMs: 2_000 }), unknown));
    expectBad(story(...begun, decided(-1, "forget", 100, { outcome: "refused", retryAfterMs: 3_000 }), unknown), RULE);
    expectBad(story(...begun, decided(-1, "resolve", 100, { outcome: "invalid" }), unknown), RULE);
  });
});

describe("verify", () => {
  const VERIFY = { path: "/verify" };
  const gone = came(1, "q1", 20, { ...LOST, ...VERIFY });
  const gap = asked("q1", 0, 40, problem("origin-dropped", 502), VERIFY);
  const open = [gap, gone] as const;

  /** The second attempt, at 5000. */
  function second(...between: History): History {
    const next = came(3, "q2", 5_000, { ...VERIFY, attempt: 2 });
    const last = asked("q9", 9_000, 9_010, replayed(next), { ...VERIFY, ...CALM });
    return story(...open, ...between, asked("q2", 4_990, 5_030, reported(next), VERIFY), next, acted(next), last);
  }

  it("starts another attempt when the origin has said that it knows of none", () => {
    expectGood(second(verifiedAt(2, 2_000)));
    expectBad(second(), TWO);
    expectBad(second(verifiedAt(2, 2_000, { status: 503 })), TWO);
    expectBad(second(verifiedAt(2, 6_000)), TWO);
  });

  it("starts none when it said so before the lock's end, or to another credential", () => {
    expectBad(second(verifiedAt(2, 1_400)), TWO);
    expectBad(second(verifiedAt(2, 2_000, { credential: BOB })), TWO);
    expectBad(second(acted(gone), verifiedAt(2, 2_000, { credential: BOB })), EFFECT);
    expectGood(second(verifiedAt(2, 2_000), acted(gone, 2_500)));
  });

  it("replays what the origin reported", () => {
    const found = verifiedAt(2, 2_000, { effect: "e1" });
    const last = asked("q9", 9_000, 9_010, given(found), { ...VERIFY, ...CALM });
    const heard = asked("q2", 1_990, 2_030, given(found), VERIFY);
    expectGood(story(...open, acted(gone), found, heard, last));
    const undated = { gatewayHeaders: ["idempotency-key"] };
    for (const wrong of [{ status: 201 }, { headers: "others" }, { sha256: "another" }, { replayed: false }, undated]) {
      expectBad(story(...open, found, heard, asked("q3", 3_000, 3_010, given(found, wrong), VERIFY), last), BYTES);
    }
    const broken = { ...found, lastAt: null };
    expectBad(story(...open, broken, heard, last), BYTES);
    const other = asked("q3", 3_000, 3_010, problem("outcome-unknown", 409, { retryAfterMs: 1_000 }), VERIFY);
    expectBad(story(...open, found, heard, other, last), FIRST);
    const again = came(3, "q3", 3_000, { ...VERIFY, attempt: 2 });
    expectBad(story(...open, found, heard, asked("q3", 2_990, 3_010, LEFT, VERIFY), again, last), FIRST);
  });

  it("lets the reported answer expire, also when it was reported before the lock would have ended", () => {
    const found = verifiedAt(2, 200, { effect: "e1" });
    const heard = asked("q2", 190, 230, given(found), VERIFY);
    const anew = (at: number): History => {
      const next = came(3, "q3", at, { ...VERIFY, attempt: 1 });
      const last = asked("q9", at + 1_000, at + 1_010, replayed(next), { ...VERIFY, ...CALM });
      const ask = asked("q3", at - 10, at + 30, reported(next), VERIFY);
      return story(...open, acted(gone), found, heard, ask, next, acted(next), last);
    };
    expectGood(anew(15_300));
    expectBad(anew(15_100), TWO);
  });

  it("finds a question that does not end, whatever the origin answers", () => {
    const found = verifiedAt(2, 2_000, { effect: "e1" });
    const last = asked("q9", 9_000, 9_010, given(found), { ...VERIFY, ...CALM });
    for (const mode of ["trickle", "hang"]) {
      const long = verifiedAt(3, 1_600, { mode, status: null, lastAt: null, closedAt: 8_600, closedBy: "peer" });
      expectBad(story(...open, long, found, last), WEDGED);
      expectGood(story(...open, { ...long, closedAt: 3_200 }, found, last));
      expectGood(story(...open, long, outage("stopped", 2_000, 6_000), found, last));
    }
  });

  it("finds outcome-unknown without Retry-After, and a key that stays unknown", () => {
    const bare = asked("q2", 3_000, 3_010, problem("outcome-unknown"), VERIFY);
    const found = verifiedAt(2, 4_000, { effect: "e1" });
    const last = asked("q9", 9_000, 9_010, given(found), { ...VERIFY, ...CALM });
    expectBad(story(...open, bare, found, last), "honest problems");
    const never = asked("q9", 9_000, 9_010, problem("outcome-unknown", 409, { retryAfterMs: 1_000 }), {
      ...VERIFY,
      ...CALM,
    });
    expectBad(story(...open, never), WEDGED);
  });
});

describe("a body that outgrows the ledger", () => {
  it("is settled when a client has it whole, however long the bucket takes", () => {
    const SMALL = { path: "/hold-small", bytes: 250_000 };
    const large = came(1, "q1", 20, SMALL);
    const crash = outage("killed", 700, 900);
    const late = asked("q2", 2_500, 2_510, problem("outcome-unknown"), { path: "/hold-small" });
    const unsettled = asked("q9", 9_000, 9_010, problem("outcome-unknown"), { path: "/hold-small", ...CALM });
    const cut = { ...reported(large), complete: false, body: "prefix" } as const;
    expectGood(story(asked("q1", 0, 705, cut, { path: "/hold-small" }), large, acted(large), crash, late, unsettled));
    const whole = asked("q1", 0, 600, reported(large), { path: "/hold-small" });
    expectBad(story(whole, large, acted(large), crash, late, unsettled), "G4 durable before told");
  });

  it("is settled five seconds after its last byte if nothing was disturbed, also when nobody stayed", () => {
    const SMALL = { path: "/hold-small", bytes: 250_000 };
    const large = came(1, "q1", 20, SMALL);
    const left = asked("q1", 0, 30, LEFT, { path: "/hold-small" });
    const uncertain = asked("q9", 9_000, 9_010, problem("outcome-unknown"), { path: "/hold-small", ...CALM });
    expectBad(story(left, large, acted(large), uncertain), "G5 the client may leave");
    expectGood(story(left, large, acted(large), outage("killed", 700, 900), uncertain));
  });
});

describe("waiting duplicates", () => {
  const WAIT = { path: "/retry-wait" };
  const large = { ...WAIT, status: 503, step: "refuse", headAt: 600, lastAt: 650, closedAt: 651, bytes: 500_000 };
  const refused = came(1, "q1", 20, large);
  const passed = asked("q1", 0, 700, reported(refused), WAIT);

  function next(sentAt: number, at: number, more: Partial<Exchange> = {}): History {
    const second = came(2, "q2", at, WAIT);
    const last = asked("q9", 9_000, 9_010, replayed(second), { ...WAIT, ...CALM });
    return story(passed, refused, asked("q2", sentAt, at + 30, reported(second), { ...WAIT, ...more }), second, last);
  }

  it("share a refusal of any size", () => {
    expectGood(next(660, 670));
    expectBad(next(300, 670), "shared refusals");
    // Its wait may have been over; it may have come late, or with a body that takes its time.
    expectGood(next(20, 670));
    expectGood(next(600, 670));
    expectGood(next(300, 670, { bytes: 2_000_000 }));
  });

  it("do not wait for a refusal's body, because the head settles it", () => {
    const slow = { ...refused, lastAt: 1_200, closedAt: 1_201 };
    const second = came(2, "q2", 680, WAIT);
    const last = asked("q9", 9_000, 9_010, replayed(second), { ...WAIT, ...CALM });
    expectGood(story(passed, slow, asked("q2", 640, 710, reported(second), WAIT), second, last));
    expectBad(story(passed, slow, asked("q2", 300, 710, reported(second), WAIT), second, last), "shared refusals");
  });

  it("get in-flight in time", () => {
    const flying = (endAt: number): Exchange => asked("q2", 100, endAt, problem("in-flight"), WAIT);
    const second = came(2, "q3", 5_000, WAIT);
    const rest = [asked("q3", 4_990, 5_030, reported(second), WAIT), second] as const;
    const last = asked("q9", 9_000, 9_010, replayed(second), { ...WAIT, ...CALM });
    expectGood(story(passed, refused, flying(750), ...rest, last));
    expectBad(story(passed, refused, flying(2_300), ...rest, last), WEDGED);
  });
});

describe("a client that stops reading", () => {
  const first = came(1, "q1", 20);
  const rest = [asked("q1", 0, 40, reported(first)), first, acted(first)] as const;
  const last = asked("q9", 9_000, 9_010, replayed(first), CALM);

  it("may be disconnected after idle_timeout, and not before", () => {
    const broken = replayed(first, { complete: false, body: "prefix" });
    const stood = (stalledMs: number): Exchange => asked("q2", 100, 2_110, broken, { stalledMs });
    expectGood(story(...rest, stood(2_000), last));
    expectBad(story(...rest, stood(200), last), FIRST);
  });
});

describe("a bucket", () => {
  const SMALL = { path: "/hold-small" };
  const first = came(1, "q1", 20, { ...SMALL, bytes: 200_000 });
  const rest = [asked("q1", 0, 40, reported(first), SMALL), first, acted(first)] as const;
  const last = asked("q9", 9_000, 9_010, problem("response-not-kept"), { ...SMALL, ...CALM });

  it("keeps what is too large for the ledger, unless it fails", () => {
    const bucketFails = outage("bucket-fails", 25, 30);
    expectGood(story(...rest, bucketFails, last));
    expectBad(story(...rest, last), FIRST);
    expectBad(story(...rest, outage("bucket-fails", 5_000, 5_100), last), "honest problems");
  });

  it("is no excuse on a route without one", () => {
    const { meta } = sortHistory(story(...rest, last));
    expect(Object.values(meta.policies).every(({ hasBucket }) => hasBucket)).toBe(true);
    const plain = Object.fromEntries(
      Object.entries(meta.policies).map(([path, policy]) => [path, { ...policy, hasBucket: false }]),
    );
    const failing = asked("q2", 100, 110, problem("store-unavailable", 503), SMALL);
    const history = (policies: typeof meta.policies): History => [
      { ...meta, policies },
      ...story(...rest, outage("bucket-fails", 25, 120), failing, last).slice(1),
    ];
    expectGood(history(meta.policies));
    expectBad(history(plain), "honest problems");
  });
});

describe("streamed request bodies", () => {
  const NONE = { path: "/none" };
  const cut = asked("q1", 0, 10, LEFT, { ...NONE, partial: true, bytes: 2_000_000 });
  const begunThere = came(1, "q1", 5, { ...LOST, ...NONE, step: "none", bodySha256: null });
  const last = asked("q9", 9_000, 9_010, problem("outcome-unknown"), { ...NONE, ...CALM });

  it("may be cut by their client, and then never count as whole", () => {
    expectGood(story(cut, begunThere, last));
    expectBad(story({ ...cut, path: "/hold" }, { ...begunThere, path: "/hold" }, last), "G3 claim before call");
    expectBad(story(cut, { ...begunThere, bodySha256: "asked" }, last), "G3 claim before call");
    expectBad(story({ ...cut, bytes: 2_000 }, begunThere, last), "G3 claim before call");
  });

  it("arrive unchanged, as all bodies do", () => {
    const first = came(1, "q1", 20, { bodySha256: "another" });
    const history = story(
      asked("q1", 0, 40, reported(first)),
      first,
      acted(first),
      asked("q9", 9_000, 9_010, replayed(first), CALM),
    );
    expectBad(history, "G3 claim before call");
  });
});

describe("G7 with answers from resolve", () => {
  it("finds an answer of another key or scope", () => {
    const resolve = decided(-1, "resolve", 2_000, { scope: BOB });
    const stolen = asked("q2", 3_000, 3_010, given(resolve), { scope: ANN });
    const bobs = asked("q3", 9_000, 9_010, given(resolve), { scope: BOB, ...CALM });
    const other = { ...lost, seq: 5, request: "q5", scope: BOB };
    const bobsUnknown = asked("q5", 0, 40, problem("origin-dropped", 502), { scope: BOB });
    expectGood(story(...begun, unknown, bobsUnknown, other, resolve, bobs));
    expectBad(story(...begun, unknown, bobsUnknown, other, resolve, bobs, stolen), "G7 nobody else's answer");
  });
});
