// G12 in the checker: each rule for claims accepts a good history and finds the violation in a bad one.

import { describe, it } from "vitest";
import type {
  ClaimCall,
  ClaimEntry,
  ClaimsEnd,
  ClaimWords,
  ConsumerEffect,
  HistoryEvent,
  PositionLook,
} from "../history.ts";
import { came, expectBad, expectGood, published, story } from "./story.ts";

const RULE = "G12 a claim is a lease";
const EVENTS = "G11 no result without its events";

/** A call about one message, which takes 10 ms. */
function call(
  verb: ClaimCall["verb"],
  attemptId: string,
  sentAt: number,
  reported: ClaimWords | null,
  more: Partial<ClaimEntry> & Partial<Pick<ClaimCall, "group" | "endAt">> = {},
): ClaimCall {
  const { group = "retry", endAt = sentAt + 10, ...rest } = more;
  const entry = { key: "message-5", attemptId, offset: 5, ...rest };
  return {
    type: "claim-call",
    group,
    verb,
    sentAt,
    endAt,
    entries: [entry],
    answers: reported === null ? null : [reported],
  };
}

const HOLD = { group: "hold" } as const;
const granted = (attempt: number, lockedForMs = 1_000): ClaimWords => ({ state: "granted", attempt, lockedForMs });
const completed = (result: string): ClaimWords => ({ state: "completed", result });
const SETTLED = { state: "settled" };
const RELEASED = { state: "released" };
const SUPERSEDED = { state: "superseded" };

function at(next: number | null, sentAt: number): PositionLook {
  return { type: "position", group: "retry", sentAt, endAt: sentAt + 10, next };
}

/** `a` claims and completes; `b` gets its result. */
const claim = call("claim", "a", 0, granted(1));
const done = call("complete", "a", 500, SETTLED, { result: "a" });
const replay = call("claim", "b", 600, completed("a"));

const expectGoodOf = (...events: readonly HistoryEvent[]): void => expectGood(story(...events));
const expectBadOf = (...events: readonly HistoryEvent[]): void => expectBad(story(...events), RULE);

describe("a lease", () => {
  it("is of one attempt until it ends", () => {
    expectGoodOf(claim, done, replay);
    expectGoodOf(claim, call("claim", "b", 1_050, granted(2)));
    expectBadOf(claim, call("claim", "b", 700, granted(2)));
  });

  it("may have ended before its holder hears of its own release", () => {
    const release = call("release", "a", 500, RELEASED, { effect: "none", endAt: 600 });
    expectGoodOf(claim, release, call("claim", "b", 520, granted(2)));
    expectBadOf(claim, release, call("claim", "b", 450, granted(2)));
  });

  it("lasts for as long as it is extended", () => {
    const extended = call("extend", "a", 800, granted(1));
    expectGoodOf(claim, extended, call("claim", "b", 1_850, granted(2)));
    expectBadOf(claim, extended, call("claim", "b", 1_500, granted(2)));
  });

  it("is granted again to its own attempt, with its number", () => {
    expectGoodOf(claim, call("claim", "a", 300, granted(1, 700)));
    expectGoodOf(claim, call("claim", "a", 1_100, { state: "in-flight" }));
    expectBadOf(claim, call("claim", "a", 300, { state: "in-flight" }));
    expectBadOf(claim, call("claim", "a", 300, granted(2)));
  });

  it("is ended by its own attempt alone", () => {
    expectBadOf(claim, call("complete", "a", 500, SUPERSEDED, { result: "a" }));
    expectBadOf(claim, call("extend", "a", 500, SUPERSEDED));
    expectBadOf(claim, call("release", "a", 500, SUPERSEDED, { effect: "none" }));
    expectGoodOf(claim, call("complete", "a", 500, null, { result: "a" }), call("release", "a", 520, SUPERSEDED));
    expectGoodOf(claim, call("complete", "a", 500, { state: "unavailable" }, { result: "a" }));
  });

  it("that another has taken over cannot be completed", () => {
    const next = call("claim", "b", 1_100, granted(2));
    expectGoodOf(claim, next, call("complete", "a", 1_200, SUPERSEDED, { result: "a" }));
    expectBadOf(claim, next, call("complete", "a", 1_200, SETTLED, { result: "a" }));
  });

  it("is another when its id claims again after another attempt has ended, and is completed then", () => {
    const next = [call("claim", "b", 1_100, granted(2)), call("release", "b", 1_200, RELEASED, { effect: "none" })];
    const again = call("claim", "a", 1_300, granted(3));
    expectGoodOf(claim, ...next, again, call("complete", "a", 1_400, SETTLED, { result: "a" }));
    expectBadOf(claim, ...next, call("complete", "a", 1_400, SETTLED, { result: "a" }));
  });

  it("has a higher number than those before it", () => {
    expectBadOf(claim, call("claim", "b", 1_100, granted(1)));
    expectBadOf(call("claim", "a", 0, granted(3)), call("claim", "b", 1_100, granted(2)));
    expectGoodOf(claim, call("claim", "b", 130_000, granted(1)));
  });

  it("that ended unknown is followed by none where an unknown outcome is held", () => {
    const [first, next] = [call("claim", "a", 0, granted(1), HOLD), call("claim", "b", 1_100, granted(2), HOLD)];
    expectBadOf(first, next);
    expectBadOf(first, call("release", "a", 500, RELEASED, { ...HOLD, effect: "unknown" }), next);
    expectGoodOf(first, call("release", "a", 500, RELEASED, { ...HOLD, effect: "none" }), next);
    expectGoodOf(first, call("release", "a", 500, null, { ...HOLD, effect: "none" }), next);
  });
});

describe("a result", () => {
  it("is one, and everybody's", () => {
    expectBadOf(claim, done, call("claim", "b", 600, completed("b")));
    expectBadOf(claim, done, call("claim", "b", 600, completed("never sent")));
    const next = call("claim", "b", 1_100, granted(2));
    expectBadOf(claim, next, call("complete", "b", 1_200, SETTLED, { result: "b" }), done);
  });

  it("is followed by no attempt", () => {
    expectBadOf(claim, done, call("claim", "b", 600, granted(2)));
    expectBadOf(claim, call("complete", "a", 500, null, { result: "a" }), replay, call("claim", "c", 700, granted(2)));
  });
});

describe("an effect", () => {
  const act = (attempt: number, when: number, group = "retry"): ConsumerEffect => {
    return { type: "consumer-effect", group, key: "message-5", attempt, at: when };
  };
  const later = call("claim", "b", 1_100, granted(2));

  it("is of an attempt that was granted, and of each once", () => {
    expectGoodOf(claim, act(1, 100), later, act(2, 1_200));
    expectBadOf(claim, act(2, 100));
    expectBadOf(claim, act(1, 100), act(1, 200));
  });

  it("is the only one where an unknown outcome is held, unless the first is released as without effect", () => {
    const [first, next] = [call("claim", "a", 0, granted(1), HOLD), call("claim", "b", 600, granted(2), HOLD)];
    const release = call("release", "a", 500, RELEASED, { ...HOLD, effect: "none" });
    expectGoodOf(first, act(1, 100, "hold"), release, next, act(2, 700, "hold"));
    expectBadOf(first, act(1, 100, "hold"), next, act(2, 700, "hold"));
  });
});

describe("the end of a group's work", () => {
  const act: ConsumerEffect = { type: "consumer-effect", group: "retry", key: "message-5", attempt: 1, at: 100 };
  const end = (group = "retry", ...keys: readonly string[]): ClaimsEnd => {
    return { type: "claims-end", group, keys: ["message-5", ...keys] };
  };

  it("is that each message is completed, after somebody has acted", () => {
    expectGoodOf(claim, act, done, end());
    expectBadOf(claim, act, end());
    expectBadOf(claim, done, end());
    expectBadOf(claim, act, done, end("retry", "message-6"));
  });

  it("may be an unknown outcome that is held", () => {
    const ambiguous = call("claim", "b", 1_100, { state: "unknown" }, HOLD);
    expectGoodOf(call("claim", "a", 0, granted(1), HOLD), ambiguous, end("hold"));
    expectBadOf(claim, call("claim", "b", 1_100, { state: "unknown" }), end());
  });
});

describe("a completion", () => {
  const reported = (events: readonly HistoryEvent[]) => {
    const [meta, ...rest] = story(...events);
    if (meta?.type !== "meta") throw new Error("a story begins with its meta line");
    return [
      { ...meta, groups: { retry: { unknown: "retry", retentionMs: 120_000, publishes: ["every"] } } },
      ...rest,
    ] as const;
  };
  const event = published(came(1, "-", 510, { key: "message-5" }), { arrival: null, status: null });

  it("has one event for each destination", () => {
    expectGood(reported([claim, done, event, { ...event, at: 6_000 }]));
    expectBad(reported([claim, done]), EVENTS);
    expectBad(reported([claim, done, { ...event, answer: "503" }]), EVENTS);
    expectBad(reported([claim, done, event, { ...event, id: "another", webhookId: "another" }]), EVENTS);
    expectBad(reported([claim, done, { ...event, isSigned: false }]), EVENTS);
  });

  it("that nobody has sent has none", () => {
    expectGood(reported([claim]));
    expectBad(reported([claim, event]), EVENTS);
  });
});

describe("a position", () => {
  const six = { key: "message-6", offset: 6 };
  const other = call("claim", "x", 20, granted(1), six);
  const otherDone = call("complete", "x", 300, SETTLED, { ...six, result: "x" });

  it("is not past an offset that is open", () => {
    expectGoodOf(claim, other, otherDone, at(5, 400), done, at(7, 600));
    expectBadOf(claim, other, otherDone, at(7, 400));
    expectBadOf(claim, other, otherDone, call("release", "a", 350, RELEASED, { effect: "none" }), at(7, 400));
  });

  it("may be past one that is claimed when others behind it are done", () => {
    expectGoodOf(other, otherDone, at(7, 400), call("claim", "a", 500, granted(1)), at(7, 600));
  });

  it("does not go back", () => {
    expectBadOf(claim, done, at(6, 600), at(5, 700));
    expectBadOf(claim, done, at(6, 600), at(null, 700));
    expectGoodOf(at(null, 0), claim, at(5, 100), done, at(6, 600));
  });
});
