// The checker's rules for a route that is only observed: each accepts a good history and finds the violation in a bad one.

import { describe, expect, it } from "vitest";
import type { Answer, Ending, HistoryEvent, ObservedArrival, ObservedCall, ObservedReport } from "../history.ts";
import { PARTIAL_PATH as path } from "../../chaos/routes.ts";
import {
  acted,
  asked,
  came,
  expectBad,
  expectGood,
  LEFT,
  outage,
  problem,
  replayed,
  reported,
  rulesBroken,
  story,
} from "./story.ts";

const FORWARDED = "observed: forwarded as it is";
const REPORTED = "observed: the report is so";

function arrival(seq: number, more: Partial<ObservedArrival> = {}): ObservedArrival {
  const at = seq * 1_000;
  const answer = {
    status: 201,
    answerHeaders: `headers ${seq}`,
    lastAt: at + 5,
    sha256: `body ${seq}`,
    effect: `o${seq}`,
  };
  const of = { type: "observed-arrival", seq, request: `o${seq}`, key: "k", at } as const;
  return { ...of, headers: "sent", bodySha256: "body", ...answer, ...more };
}

function call(seq: number, more: Partial<ObservedCall> = {}): ObservedCall {
  const sentAt = seq * 1_000 - 5;
  const of = { type: "observed-call", id: `o${seq}`, key: "k", partial: false, headers: "sent" } as const;
  return { ...of, bodySha256: "body", sentAt, endAt: sentAt + 20, ending: answered(seq), ...more };
}

function answered(seq: number, more: Partial<Answer> = {}): Answer {
  return reported(came(seq, `o${seq}`, 0), { echo: null, gatewayHeaders: [], ...more });
}

function report(seen: number, doubled: number, deduplicated = 0): ObservedReport {
  return { type: "observed-report", at: 60_000, seen, doubled, deduplicated };
}

/** Two requests with one key, of which each took effect. */
const twice = [call(1), arrival(1), call(2), arrival(2)] as const;
const right = report(2, 1);

function withFirst(calls: Partial<ObservedCall>, arrivals: Partial<ObservedArrival> = {}): readonly HistoryEvent[] {
  return story(call(1, calls), arrival(1, arrivals), call(2), arrival(2), right);
}

describe("a request that is observed", () => {
  it("arrives once, as it was sent", () => {
    expectGood(story(...twice, right));
    expectBad(story(...twice, arrival(3, { request: "o1", effect: null }), right), FORWARDED);
    expectBad(story(...twice, arrival(3, { effect: null }), right), FORWARDED);
    expectBad(withFirst({ headers: "others" }), FORWARDED);
    expectBad(withFirst({ bodySha256: "another" }), FORWARDED);
  });

  it("arrives whole only if it was sent whole", () => {
    const partial = { partial: true, ending: LEFT };
    expectBad(story(call(1, partial), arrival(1), call(2), arrival(2), report(1, 0)), FORWARDED);
    const cut = { bodySha256: null, status: null, answerHeaders: null, lastAt: null, sha256: null, effect: null };
    expectGood(story(call(1, partial), arrival(1, cut), call(2), arrival(2), report(1, 0)));
  });

  it("gets the origin's own answer, and nothing of the gateway's", () => {
    for (const wrong of [
      { status: 200 },
      { headers: "others" },
      { sha256: "another" },
      { gatewayHeaders: ["idempotency-status"] },
      { complete: false },
      { origin: answered(2).origin },
    ]) {
      expectBad(withFirst({ ending: answered(1, wrong) }), FORWARDED);
    }
    expectBad(withFirst({ ending: problem("in-flight") }), FORWARDED);
    expectBad(withFirst({}, { lastAt: null }), FORWARDED);
  });

  it("gets none only where the origin gave none, or something was broken", () => {
    const dropped = { ending: problem("origin-dropped", 502) };
    const none = { status: null, answerHeaders: null, lastAt: null, sha256: null, effect: null };
    const second = [call(2), arrival(2)] as const;
    expectGood(story(call(1, dropped), arrival(1, none), ...second, report(2, 0)));
    expectBad(story(call(1, dropped), arrival(1), ...second, report(2, 0)), FORWARDED);
    expectBad(story(call(1, { ending: { kind: "none", why: "broken" } }), arrival(1), ...second, right), FORWARDED);
    const killed = outage("killed", 990, 1_200);
    expectGood(story(killed, call(1, dropped), arrival(1), ...second, report(1, 0)));
  });
});

describe("a route that protects a share of its keys", () => {
  const first = came(1, "q1", 0, { path });
  const firstAsked = asked("q1", -5, 20, reported(first), { path });
  const again = came(2, "q2", 1_000, { path });
  const retried = (ending: Ending): HistoryEvent => asked("q2", 995, 1_020, ending, { path, calm: true });

  it("lets a key of the share take effect once", () => {
    expectGood(story(firstAsked, first, acted(first), retried(replayed(first))));
  });

  it("lets no retry of such a key pass, also after a crash", () => {
    const passed = { ...again, attempt: null };
    const answer = reported(passed, { echo: null, gatewayHeaders: [] });
    const killed = outage("killed", 500, 700);
    for (const faults of [[], [killed]]) {
      const broken = rulesBroken(
        story(firstAsked, first, acted(first), ...faults, retried(answer), passed, acted(passed)),
      );
      expect(broken).toEqual(expect.arrayContaining(["G3 claim before call", "G6 one effect"]));
    }
  });

  it("lets its first request pass no more than its retries", () => {
    const passed = { ...first, attempt: null };
    expectBad(story(firstAsked, passed, acted(passed), retried(replayed(first))), "G3 claim before call");
  });

  it("protects no retry of another key", () => {
    const counted = { headers: "sent, and Idempotency-Attempt" };
    expectBad(story(call(1), arrival(1), call(2), arrival(2, counted), right), FORWARDED);
    const replay = { ending: answered(1, { replayed: true, gatewayHeaders: ["idempotent-replayed"] }) };
    expectBad(story(call(1), arrival(1), call(2, replay), report(1, 0)), FORWARDED);
  });
});

describe("the report", () => {
  it("counts the effects that the journal has more than once", () => {
    expectBad(story(...twice, report(2, 0)), REPORTED);
    expectBad(story(...twice, report(2, 2)), REPORTED);
    expectBad(story(...twice, report(1, 1)), REPORTED);
    expectBad(story(...twice, report(3, 1)), REPORTED);
    expectBad(story(...twice), REPORTED);
    const known = [call(3), arrival(3, { effect: "o1" })] as const;
    expectGood(story(...twice, ...known, report(3, 1, 1)));
    expectBad(story(...twice, ...known, report(3, 2, 0)), REPORTED);
    const other = [call(3), arrival(3, { key: "other" })] as const;
    expectGood(story(...twice, ...other, report(3, 1)));
  });

  it("counts no answer that failed, broke off, or was too large to be looked at", () => {
    const refused = [
      call(3, { ending: answered(3, { status: 503 }) }),
      arrival(3, { status: 503, effect: null }),
    ] as const;
    expectGood(story(...twice, ...refused, report(3, 1)));
    const cut = { ending: answered(3, { complete: false }) };
    const half = { lastAt: null, sha256: null };
    expectGood(story(...twice, call(3, cut), arrival(3, half), report(3, 1)));
    expectBad(story(...twice, call(3, cut), arrival(3, half), report(3, 2)), REPORTED);
    expectGood(story(...twice, call(3), arrival(3, { effect: null }), report(3, 1)));
  });

  it("may lack what was lost with the gateway, or whose client left", () => {
    const killed = outage("killed", 3_000, 3_200);
    expectGood(story(...twice, killed, report(1, 0)));
    expectGood(story(...twice, killed, report(2, 1)));
    expectBad(story(...twice, outage("killed", 11_000, 11_200), report(1, 0)), REPORTED);
    // A machine that is slow for a short time delays it.
    expectBad(story(...twice, outage("lag", 2_500, 3_000), report(1, 0)), REPORTED);
    expectGood(story(...twice, outage("lag", 2_500, 5_000), report(1, 0)));
    const left = [call(3, { ending: LEFT }), arrival(3)] as const;
    expectGood(story(...twice, ...left, report(3, 1)));
    expectGood(story(...twice, ...left, report(3, 2)));
  });
});
