// The checker's rules for routes whose origin is asked about a state: each accepts a good history and finds the violation in a bad one.

import { describe, it } from "vitest";
import type { Effect, HistoryEvent, SaidState, Undo, Verification } from "../history.ts";
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
  KEY,
  LOST,
  problem,
  replayed,
  reported,
  story,
  verifiedAt,
} from "./story.ts";

type History = readonly HistoryEvent[];

const STATE = { path: "/state-resource" };
const CALM = { calm: true };
const TWO = "G6 never two by guess";
const EFFECT = "G6 one effect";
const FIRST = "G2 first answer wins";
const BYTES = "G2 every byte";
const WEDGED = "G8 nothing wedges";
const SO = "verified answers";

/** Its connection was lost. Its lock ends at 1500, and a "no" counts 1500 ms later. */
const lost = came(1, "q1", 20, { ...LOST, ...STATE });
const open = [asked("q1", 0, 40, problem("origin-dropped", 502), STATE), lost] as const;

function said(seq: number, at: number, says: SaidState["says"], more: Partial<Verification> = {}): Verification {
  const settled = { status: 200, headers: `headers ${seq}`, sha256: `item ${seq}` };
  return verifiedAt(seq, at, { status: 200, state: { says, given: says === "happened" ? settled : null }, ...more });
}

/** As clients get it. */
function givenItem(of: Verification, more: object = {}) {
  return given({ ...of, status: 200, sha256: `item ${of.seq}` }, more);
}

function undone(of: Effect, at: number): Undo {
  return { type: "undo", effect: of.id, key: KEY, scope: ANN, at };
}

/** A second attempt at 5000. */
function second(...between: History): History {
  const next = came(9, "q2", 5_000, { ...STATE, attempt: 2 });
  const last = asked("q9", 9_000, 9_010, replayed(next), { ...STATE, ...CALM });
  return story(...open, ...between, asked("q2", 4_990, 5_030, reported(next), STATE), next, acted(next), last);
}

describe("a second attempt", () => {
  it("starts after a no that came after the lock and the settling time", () => {
    expectGood(second(said(2, 3_000, "not-happened")));
    expectBad(second(said(2, 2_990, "not-happened")), TWO);
    expectBad(second(said(2, 1_600, "not-happened")), TWO);
    expectBad(second(said(2, 6_000, "not-happened")), TWO);
  });

  it("does not start after what says neither, or something else", () => {
    expectBad(second(said(2, 3_000, "open")), TWO);
    expectBad(second(said(2, 3_000, "happened", { effect: "e1" })), TWO);
    expectBad(second(said(2, 3_000, "not-happened", { credential: BOB })), TWO);
    expectBad(second(said(2, 3_000, "not-happened", { lastAt: null })), TWO);
    // It says 404, and nothing of the state.
    expectBad(second(said(2, 3_000, "open", { status: 404 })), TWO);
  });

  it("does not start if the journal has an effect of the first that must have shown", () => {
    expectBad(second(acted(lost), said(2, 3_000, "not-happened")), TWO);
    expectBad(second(acted(lost), said(2, 3_000, "not-happened")), EFFECT);
    expectBad(second(acted(lost, 1_499), said(2, 3_000, "not-happened")), EFFECT);
    // After the lock, within the time in which reads may lag: the origin's own second effect.
    expectGood(second(acted(lost, 1_600), said(2, 3_000, "not-happened")));
  });

  it("starts when an operator says so", () => {
    expectGood(second(acted(lost), decided(-1, "release", 2_000)));
  });
});

describe("a verified answer", () => {
  const effect = acted(lost);
  const found = said(2, 3_300, "happened", { effect: effect.id });
  const heard = asked("q2", 3_290, 3_330, givenItem(found), STATE);
  const last = asked("q9", 9_000, 9_010, givenItem(found), { ...STATE, ...CALM });

  it("is the part of the state that the settings name, byte for byte, from then on", () => {
    expectGood(story(...open, effect, found, heard, last));
    for (const wrong of [{ status: 201 }, { headers: "others" }, { sha256: "body 2" }, { replayed: false }]) {
      const bad = asked("q3", 4_000, 4_010, givenItem(found, wrong), STATE);
      expectBad(story(...open, effect, found, heard, bad, last), BYTES);
    }
    const other = asked("q3", 4_000, 4_010, problem("outcome-unknown", 409, { retryAfterMs: 1_000 }), STATE);
    expectBad(story(...open, effect, found, heard, other, last), FIRST);
  });

  it("says that it took effect", () => {
    for (const says of ["open", "not-happened"] as const) {
      expectBad(story(...open, effect, { ...found, state: { says, given: null } }, heard, last), SO);
    }
    expectBad(story(...open, effect, { ...found, lastAt: null }, heard, last), SO);
  });

  it("names an effect of the journal, which had not been undone", () => {
    expectBad(story(...open, found, heard, last), SO);
    expectBad(story(...open, { ...effect, at: 3_400 }, found, heard, last), SO);
    expectBad(story(...open, effect, undone(effect, 2_000), found, heard, last), SO);
    expectGood(story(...open, effect, undone(effect, 3_400), found, heard, last));
  });

  it("may be what somebody else has done", () => {
    const foreign = { ...effect, id: "foreign-1", arrival: 0, at: 3_250 };
    expectGood(story(...open, foreign, { ...found, effect: "foreign-1" }, heard, last));
    // It is no effect of this key.
    const next = came(9, "q2", 5_000, { ...STATE, attempt: 2 });
    const again = asked("q2", 4_990, 5_030, reported(next), STATE);
    const end = asked("q9", 9_000, 9_010, replayed(next), { ...STATE, ...CALM });
    const no = said(3, 3_000, "not-happened");
    expectGood(story(...open, no, again, next, acted(next), { ...foreign, at: 5_010 }, end));
  });
});

describe("a key whose state says neither in the end", () => {
  const unknown = problem("outcome-unknown", 409, { retryAfterMs: 1_000 });
  const last = asked("q9", 9_000, 9_010, unknown, { ...STATE, ...CALM });
  const effect = acted(lost);

  it("stays unknown if what it did was undone, or stands there twice", () => {
    expectGood(story(...open, effect, undone(effect, 500), last));
    expectGood(story(...open, effect, acted(lost, 30), last));
    expectBad(story(...open, effect, last), WEDGED);
    expectBad(story(...open, last), WEDGED);
  });
});
