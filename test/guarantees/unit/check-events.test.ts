// G11 in the checker: each rule for events accepts a good history and finds the violation in a bad one.

import { describe, it } from "vitest";
import type { HistoryEvent } from "../history.ts";
import {
  acted,
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
  outboxWith,
  problem,
  published,
  publishedByOrigin,
  verifiedAt,
  replayed,
  story,
  reported,
} from "./story.ts";

const MISSING = "G11 no result without its events";
const FALSE = "G11 no event without its result";

/** A route that publishes; one that keeps small answers only; one that forgets; one that asks. */
const HOLD = { path: "/hold-wait" };
const SMALL = { path: "/hold-small" };
const RETRY = { path: "/retry" };
const VERIFY = { path: "/verify" };
const CALM = { calm: true };

/** The request has its result, and everybody has heard of it. */
const done = came(1, "q1", 10, HOLD);
const first = asked("q1", 0, 30, reported(done), HOLD);
const last = asked("q9", 3_000, 3_010, replayed(done), { ...HOLD, ...CALM });
const completed = [first, done, acted(done), last] as const;
const events = [published(done), publishedByOrigin(done)] as const;
const NONE_LEFT = outboxWith();

function completedWith(...more: readonly HistoryEvent[]) {
  return story(...completed, ...more, NONE_LEFT);
}

describe("a result", () => {
  it("has an event at each destination, however often it is sent", () => {
    expectGood(completedWith(...events));
    expectGood(completedWith(published(done, { answer: "503" }), published(done, { answer: "reset" }), ...events));
  });

  it("that a client knows is not without its event", () => {
    expectBad(completedWith(publishedByOrigin(done)), MISSING);
    expectBad(completedWith(published(done)), MISSING);
    expectBad(completedWith(published(done, { answer: "503" }), publishedByOrigin(done)), MISSING);
    expectBad(completedWith(published(done, { arrival: 7 }), publishedByOrigin(done)), MISSING);
  });

  it("that nobody was told may have been lost before it was stored", () => {
    const other = asked("q1", 0, 30, LEFT, HOLD);
    const ambiguous = came(1, "q1", 10, { ...HOLD, closedBy: "peer" });
    const resolved = decided(-1, "resolve", 2_000);
    const replay = asked("q9", 3_000, 3_010, given(resolved), { ...HOLD, ...CALM });
    const killed = outage("killed", 5, 100);
    expectGood(story(other, ambiguous, acted(ambiguous), killed, resolved, replay, published(resolved), NONE_LEFT));
  });

  it("that an operator has given has an event", () => {
    const lost = came(1, "q1", 10, { ...HOLD, ...LOST });
    const resolved = decided(-1, "resolve", 2_000);
    const replay = asked("q9", 3_000, 3_010, given(resolved), { ...HOLD, ...CALM });
    const history = [asked("q1", 0, 30, LEFT, HOLD), lost, acted(lost), resolved, replay] as const;
    expectGood(story(...history, published(resolved), NONE_LEFT));
    expectBad(story(...history, NONE_LEFT), MISSING);
  });

  it("that the origin has reported has an event", () => {
    const lost = came(1, "q1", 10, { ...VERIFY, ...LOST });
    const found = verifiedAt(2, 2_000, { effect: "e1" });
    const replay = asked("q9", 3_000, 3_010, given(found), { ...VERIFY, ...CALM });
    const history = [asked("q1", 0, 30, LEFT, VERIFY), lost, acted(lost), found, replay] as const;
    expectGood(story(...history, published(found), NONE_LEFT));
    expectBad(story(...history, NONE_LEFT), MISSING);
  });

  it("of a route that publishes nothing has none", () => {
    const plain = came(1, "q1", 10);
    const history = [asked("q1", 0, 30, reported(plain)), plain, acted(plain)] as const;
    const replay = asked("q9", 3_000, 3_010, replayed(plain), CALM);
    expectGood(story(...history, replay, NONE_LEFT));
    expectBad(story(...history, replay, published(plain), NONE_LEFT), FALSE);
  });

  it("has no event that is left in the end", () => {
    expectBad(story(...completed, ...events, outboxWith("event-1-0")), MISSING);
  });
});

describe("an event", () => {
  it("of no result is a lie", () => {
    expectBad(completedWith(...events, published(came(2, "q1", 40, HOLD))), FALSE);
    const refused = came(1, "q1", 10, { ...HOLD, step: "refuse", status: 503 });
    const again = came(2, "q9", 3_000, HOLD);
    const history = [
      asked("q1", 0, 30, reported(refused), HOLD),
      refused,
      asked("q9", 2_990, 3_030, reported(again), { ...HOLD, ...CALM }),
      again,
      acted(again),
      published(again),
      publishedByOrigin(again),
    ] as const;
    expectGood(story(...history, NONE_LEFT));
    expectBad(story(...history, published(refused), NONE_LEFT), FALSE);
  });

  it("of an attempt whose answer never came to its end is one, unless it is too large to be kept", () => {
    const cut = { lastAt: null, sha256: null, step: "cut" };
    const half = came(1, "q1", 10, { ...HOLD, ...cut });
    const resolved = decided(-1, "resolve", 2_000);
    const replay = asked("q9", 3_000, 3_010, given(resolved), { ...HOLD, ...CALM });
    const history = [asked("q1", 0, 30, LEFT, HOLD), half, acted(half), resolved, replay, published(resolved)] as const;
    expectBad(story(...history, published(half), NONE_LEFT), FALSE);
    const large = came(1, "q1", 10, { ...SMALL, ...cut, bytes: 200_000 });
    expectGood(
      story(
        asked("q1", 0, 30, LEFT, SMALL),
        large,
        acted(large),
        published(large, { arrival: null }),
        publishedByOrigin(large),
        outage("bucket-fails", 0, 500),
        asked("q9", 3_000, 3_010, problem("response-not-kept"), { ...SMALL, ...CALM }),
        NONE_LEFT,
      ),
    );
  });

  it("is signed, and named as it names itself", () => {
    expectBad(completedWith(...events, published(done, { isSigned: false })), FALSE);
    expectBad(completedWith(published(done, { webhookId: "another" }), publishedByOrigin(done)), FALSE);
  });

  it("tells its result's status and attempt", () => {
    expectBad(completedWith(published(done, { status: 200 }), publishedByOrigin(done)), FALSE);
    expectBad(completedWith(published(done, { attempt: 2 }), publishedByOrigin(done)), FALSE);
    expectBad(
      completedWith(...events, published(done, { arrival: null, status: 500, webhookId: "e", id: "e" })),
      FALSE,
    );
  });

  it("is the same each time, and the only one of its result", () => {
    expectBad(completedWith(...events, published(done, { sha256: "other" })), FALSE);
    expectBad(completedWith(...events, published(done, { webhookId: "event-1-2", id: "event-1-2" })), FALSE);
  });

  it("tells of the one result that a record has while it lives", () => {
    const late = came(1, "q1", 10, { ...RETRY, step: "late", headAt: 1_900, lastAt: 1_910, closedBy: "peer" });
    const next = came(2, "q2", 1_700, { ...RETRY, attempt: 2 });
    const history = [
      asked("q1", 0, 900, LEFT, RETRY),
      late,
      acted(late),
      asked("q2", 1_690, 1_730, reported(next), RETRY),
      next,
      acted(next),
      asked("q9", 3_000, 3_010, replayed(next), { ...RETRY, ...CALM }),
      published(next),
      publishedByOrigin(next),
    ] as const;
    expectGood(story(...history, NONE_LEFT));
    expectBad(story(...history, published(late), NONE_LEFT), FALSE);
  });

  it("may be of another caller's record with the same key", () => {
    const bobs = came(2, "q2", 40, { ...HOLD, scope: BOB, credential: BOB });
    const other = [
      asked("q2", 35, 60, reported(bobs), { ...HOLD, scope: BOB, credential: BOB }),
      bobs,
      acted(bobs),
      asked("q8", 3_000, 3_010, replayed(bobs), { ...HOLD, ...CALM, scope: BOB, credential: BOB }),
    ] as const;
    expectGood(completedWith(...events, ...other, published(bobs), publishedByOrigin(bobs)));
    expectBad(completedWith(...events, ...other, publishedByOrigin(bobs)), MISSING);
    expectBad(completedWith(...other, published(bobs), publishedByOrigin(bobs), publishedByOrigin(done)), MISSING);
  });
});
