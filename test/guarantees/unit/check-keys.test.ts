// The checker's rules for what clients are told of their keys, and for keys that are given up: each accepts a good history and finds the violation in a bad
// one.

import { describe, expect, it } from "vitest";
import type { HistoryEvent } from "../history.ts";
import {
  acted,
  asked,
  beganAfresh,
  came,
  decided,
  expectBad,
  expectGood,
  gaveUp,
  LEFT,
  looked,
  lookedUp,
  LOST,
  outage,
  problem,
  replayed,
  reported,
  rulesBroken,
  story,
  verifiedAt,
} from "./story.ts";

const CALM = { calm: true };
const GIVEN_UP = "a key that was given up";
const SAFE = "a new key is safe";
const DOUBLED = "a new key never doubles";
const REPORTS = "true reports of keys";
const HONEST = "honest problems";
const STOLEN = "G7 nobody else's answer";

/** Refused at the origin: no effect. */
const refused = came(1, "q1", 20, { step: "refuse", status: 503 });
const notDone = [asked("q1", 0, 40, reported(refused)), refused] as const;
/** Lost after it had acted. */
const lost = came(1, "q1", 20, LOST);
const unknown = [asked("q1", 0, 40, problem("origin-dropped", 502)), lost, acted(lost)] as const;
const held = asked("q9", 9_000, 9_010, problem("outcome-unknown"), CALM);
const abandoned = asked("q9", 9_000, 9_010, problem("key-abandoned"), CALM);

describe("a key that was given up", () => {
  const later = came(2, "q2", 3_000, { attempt: 1 });
  const late = [asked("q2", 100, 3_030, reported(later)), later, acted(later)] as const;
  const last = asked("q9", 9_000, 9_010, replayed(later), CALM);

  it("starts no attempt until the retention ends, or an operator forgets it", () => {
    expectGood(story(...notDone, gaveUp("k1", 1_000), abandoned));
    expectBad(story(...notDone, gaveUp("k1", 1_000), ...late, last), GIVEN_UP);
    expectGood(story(...notDone, gaveUp("k1", 1_000), decided(-1, "forget", 2_000), ...late, last));
    const anew = came(2, "q2", 21_100, { attempt: 1 });
    const end = asked("q9", 25_000, 25_010, replayed(anew), CALM);
    const again = asked("q2", 21_090, 21_130, reported(anew));
    expectGood(story(...notDone, gaveUp("k1", 1_000), again, anew, acted(anew), end));
    // Its client does not know that it is given up, or that it is not.
    const second = came(2, "q2", 3_000);
    const tried = [asked("q2", 100, 3_030, reported(second)), second, acted(second)] as const;
    const settled = asked("q9", 9_000, 9_010, replayed(second), CALM);
    expectGood(story(...notDone, gaveUp("k1", 1_000, LEFT), ...tried, settled));
    expectGood(story(...notDone, gaveUp("k1", 1_000, problem("cancel-refused")), ...tried, settled));
  });

  it("had no attempt that may have acted", () => {
    expectBad(story(...unknown, gaveUp("k1", 2_000), held), GIVEN_UP);
    expectBad(story(...unknown, gaveUp("k1", 15), held), GIVEN_UP);
    expectGood(story(...unknown, gaveUp("k1", 2_000, problem("cancel-refused")), held));
    // A person has said that it may be tried again.
    const released = [decided(-1, "release", 1_800), gaveUp("k1", 2_000)] as const;
    expectGood(story(...unknown, ...released, abandoned));
  });

  it("had none of which the origin does not say that it did not act", () => {
    const VERIFY = { path: "/verify" };
    const gone = came(1, "q1", 20, { ...LOST, ...VERIFY });
    const open = [asked("q1", 0, 40, problem("origin-dropped", 502), VERIFY), gone] as const;
    const end = asked("q9", 9_000, 9_010, problem("key-abandoned"), { ...VERIFY, ...CALM });
    const word = { ...gaveUp("k1", 2_000), ...VERIFY };
    expectGood(story(...open, verifiedAt(2, 1_600), word, end));
    expectBad(story(...open, word, end), GIVEN_UP);
    expectBad(story(...open, verifiedAt(2, 1_400), word, end), GIVEN_UP);
  });

  it("is one that a client gave up", () => {
    expectBad(story(...notDone, abandoned), HONEST);
    expectGood(story(...notDone, gaveUp("k1", 1_000, LEFT), abandoned));
    expectBad(story(...notDone, gaveUp("k1", 1_000, problem("cancel-refused")), abandoned), HONEST);
  });
});

describe("an operation that is begun afresh", () => {
  it("has no effect with the key that was given up", () => {
    expectGood(story(...notDone, gaveUp("k1", 1_000), beganAfresh(1_020, "abandoned"), abandoned));
    expectBad(story(...unknown, gaveUp("k1", 2_000), beganAfresh(2_020, "abandoned"), held), DOUBLED);
    const later = came(2, "q2", 3_000, { attempt: 1 });
    const late = [asked("q2", 100, 3_030, reported(later)), later, acted(later)] as const;
    const last = asked("q9", 9_000, 9_010, replayed(later), CALM);
    const word = [gaveUp("k1", 1_000), beganAfresh(1_020, "abandoned")] as const;
    expectBad(story(...notDone, ...word, ...late, last), DOUBLED);
    expectGood(story(...notDone, ...word, decided(-1, "forget", 2_000), ...late, last));
  });

  it("has none with the key that nothing more is sent with", () => {
    expectGood(story(...notDone, beganAfresh(1_000, "safe")));
    expectBad(story(...unknown, beganAfresh(2_000, "safe")), DOUBLED);
    const later = acted(refused, 30_000);
    expectBad(story(...notDone, beganAfresh(1_000, "safe"), later), DOUBLED);
  });
});

describe("safeNewKey", () => {
  const safe = { state: "not-done", next: "send-same", safeNewKey: true };

  it("is true in a report if no attempt may have acted", () => {
    expectGood(story(...notDone, lookedUp("k1", 100, safe), beganAfresh(200, "safe")));
    expectBad(story(...unknown, lookedUp("k1", 2_000, safe), held), SAFE);
    // One that began while the question was on its way.
    expectGood(story(...unknown, lookedUp("k1", 15, safe), held));
    expectGood(story(...unknown, decided(-1, "release", 1_800), lookedUp("k1", 2_000, safe), held));
  });

  it("is true in a problem if no attempt may have acted", () => {
    const unreachable = (safeNewKey: boolean) => problem("origin-unreachable", 502, { safeNewKey });
    const tried = (safeNewKey: boolean) => asked("q2", 2_000, 2_010, unreachable(safeNewKey));
    expectGood(story(...notDone, tried(true), beganAfresh(3_000, "safe")));
    expectBad(story(...unknown, tried(true), held), SAFE);
    expectGood(story(...unknown, tried(false), held));
    const ACCEPTED = { path: "/accepted-hold" };
    const gone = came(1, "q1", 20, { ...LOST, ...ACCEPTED });
    const exhausted = looked("m1", 2_000, problem("attempts-exhausted", 409, { safeNewKey: true }));
    const end = asked("q9", 9_000, 9_010, problem("outcome-unknown"), { ...ACCEPTED, ...CALM });
    const dropped = asked("q1", 0, 40, problem("origin-dropped", 502), ACCEPTED);
    expectBad(story(dropped, gone, exhausted, end), SAFE);
  });

  it("goes with the state", () => {
    for (const [state, safeNewKey] of [
      ["not-done", false],
      ["in-flight", true],
      ["unknown", true],
    ] as const) {
      expectBad(story(...notDone, lookedUp("k1", 100, { state, safeNewKey }), beganAfresh(200, "safe")), REPORTS);
    }
  });
});

describe("a report of a key", () => {
  const first = came(1, "q1", 20);
  const done = [asked("q1", 0, 40, reported(first)), first, acted(first)] as const;
  const last = asked("q9", 9_000, 9_010, replayed(first), CALM);
  const completed = { state: "completed", next: "send-same", status: 201 };
  const ofDone = (sentAt: number, report: object) => story(...done, lookedUp("k1", sentAt, report), last);

  it("says that it took effect once a client has had the result, with its status", () => {
    expectGood(ofDone(100, completed));
    expectGood(ofDone(100, { ...completed, status: null }));
    expectBad(ofDone(100, { ...completed, status: 200 }), REPORTS);
    expectBad(ofDone(100, {}), REPORTS);
    expectGood(ofDone(30, {}));
  });

  it("knows what has begun, until it expires", () => {
    const none = { ending: problem("key-not-known", 404) };
    expectBad(story(...done, lookedUp("k1", 100, null, none), last), REPORTS);
    expectBad(story(...unknown, lookedUp("k1", 100, null, none), held), REPORTS);
    expectGood(story(...done, lookedUp("k1", 10, null, none), last));
    expectGood(story(...done, last, lookedUp("k1", 22_000, null, none)));
  });

  it("says who decides about an unknown outcome, as the route does", () => {
    const says = (next: string) => story(...unknown, lookedUp("k1", 2_000, { state: "unknown", next }), held);
    expectGood(says("ask-operator"));
    expectBad(says("wait"), REPORTS);
    expectBad(says("send-same"), REPORTS);
  });

  it("is abandoned or expired for a reason, and nothing that nobody knows", () => {
    const given = { state: "abandoned", next: "new-key", safeNewKey: true };
    expectGood(story(...notDone, gaveUp("k1", 1_000), lookedUp("k2", 2_000, given), abandoned));
    expectBad(story(...notDone, lookedUp("k2", 2_000, given), beganAfresh(3_000, "safe")), REPORTS);
    expectBad(story(...notDone, lookedUp("k2", 2_000, { state: "expired" }), beganAfresh(3_000, "safe")), REPORTS);
    expectBad(story(...notDone, lookedUp("k2", 2_000, { state: "lost" }), beganAfresh(3_000, "safe")), REPORTS);
  });

  it("does not come only where something was broken", () => {
    const away = lookedUp("k1", 100, null, { ending: problem("store-unavailable", 503) });
    expectBad(story(...done, away, last), REPORTS);
    expectGood(story(...done, outage("killed", 90, 120), away, last));
    const other = lookedUp("k1", 100, null, { ending: problem("in-flight") });
    expectBad(story(...done, outage("killed", 90, 120), other, last), REPORTS);
  });
});

describe("a stranger who asks about a key", () => {
  const first = came(1, "q1", 20);
  const done = [asked("q1", 0, 40, reported(first)), first, acted(first)] as const;
  const last = asked("q9", 9_000, 9_010, replayed(first), CALM);
  const strange = (id: string, ending = problem("key-not-known", 404)) =>
    lookedUp(id, 100, null, { isStranger: true, ending });

  it("learns nothing", () => {
    expectGood(story(...done, strange("k1"), strange("k2"), last));
    expectBad(story(...done, strange("k1", problem("", 200, { code: null })), last), STOLEN);
    expectBad(
      story(...done, strange("k1"), strange("k2", problem("key-not-known", 404, { sha256: "other" })), last),
      STOLEN,
    );
  });

  it("gives nothing up", () => {
    const word: HistoryEvent = { ...gaveUp("k1", 100), isStranger: true };
    expectBad(story(...done, word, last), STOLEN);
    expect(rulesBroken(story(...done, { ...word, ending: problem("key-not-known", 404) }, last))).toEqual([]);
  });
});
