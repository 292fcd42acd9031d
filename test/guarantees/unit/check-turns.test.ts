// Turns in the checker: the rule for accepted requests of several callers accepts a good history and finds the violation in a bad one.

import { describe, it } from "vitest";
import { callerOf, FLOODER, LANE_CALLERS } from "../../chaos/callers.ts";
import type { Answer, Arrival, Exchange, HistoryEvent, Look } from "../history.ts";
import { TURNS_PATH } from "../../chaos/routes.ts";
import { accepted, acted, asked, came, expectBad, expectGood, looked, outage, replayed, story } from "./story.ts";

const RULE = "callers take turns";
const [AMBER, CEDAR] = LANE_CALLERS;

/** The 202 of a request that has had no attempt. */
const unbegun: Answer = { ...accepted(), isUnbegun: true };

/** A request of its own key, which was accepted at once and had to wait for a place; and its attempt, of half a second. */
function request(seq: number, scope: string, sentAt: number, at: number, ending = unbegun) {
  const id = `q${seq}`;
  const key = `k${seq}`;
  const of = { key, scope, credential: scope, path: TURNS_PATH };
  const attempt: Arrival = came(seq, id, at, {
    ...of,
    attempt: 1,
    headAt: at + 490,
    lastAt: at + 500,
    closedAt: at + 501,
  });
  const first: Exchange = asked(id, sentAt, sentAt + 10, ending, { ...of, caller: callerOf(scope) });
  const last: Exchange = asked(`${id}-end`, 50_000, 50_010, replayed(attempt, { echo: key }), { ...of, calm: true });
  const stillWaits = (since: number): Look => looked(`${id}-${since}`, since, unbegun, { ...of, path: TURNS_PATH });
  return { all: [first, attempt, acted(attempt), last] as const, stillWaits };
}

/** The flood has two in flight, and two more that wait. */
const working = [request(1, `${FLOODER} 1`, 0, 20, accepted()), request(2, `${FLOODER} 2`, 0, 200, accepted())];
const third = request(3, `${FLOODER} 3`, 0, 520);
const flood = [...working.flatMap(({ all }) => all), ...third.all, third.stillWaits(310)];

const early = request(8, AMBER, 290, 1_000);
const expectGoodOf = (...events: readonly HistoryEvent[]): void => expectGood(story(...events));
const expectBadOf = (...events: readonly HistoryEvent[]): void => expectBad(story(...events), RULE);

describe("callers who wait for a place", () => {
  it("get it before another attempt of a caller who has one in flight", () => {
    expectGoodOf(...flood, ...early.all);
    expectGoodOf(...flood, ...early.all, early.stillWaits(505));
    expectBadOf(...flood, ...early.all, early.stillWaits(530));
  });

  it("do not overtake an attempt that may have begun before they came", () => {
    const asker = request(8, AMBER, 315, 1_000);
    expectGoodOf(...flood, ...asker.all, asker.stillWaits(530));
    expectGoodOf(...flood, ...early.all, early.stillWaits(515));
  });

  it("have the place of one that may be in flight, if the other caller has none", () => {
    const [, second] = working;
    const alone = [...flood].filter((one) => second?.all.every((its) => its !== one) ?? true);
    const unanswered = { ...third.all[1], at: 700, headAt: 1_190, lastAt: 1_200, closedAt: 1_201 };
    const started = alone.map((one) => (one === third.all[1] ? unanswered : one));
    expectGoodOf(...started, ...early.all, early.stillWaits(710));
  });

  it("go in the order in which they came", () => {
    const late = request(9, CEDAR, 310, 900);
    expectBadOf(...early.all, early.stillWaits(910), ...late.all);
    expectGoodOf(...early.all, early.stillWaits(890), ...late.all);
    const before = request(9, CEDAR, 280, 900);
    expectGoodOf(...early.all, early.stillWaits(910), ...before.all);
  });

  it("wait for them across a kill, and however slow the machine is", () => {
    for (const kind of ["killed", "stopped", "lag", "slow-disk"] as const) {
      expectBadOf(...flood, ...early.all, early.stillWaits(530), outage(kind, 350, 400));
    }
  });

  it("have not waited in a record that began anew when theirs had expired", () => {
    expectGoodOf(...flood, ...early.all, early.stillWaits(40_000));
  });

  it("may leave it to others beside an attempt of their own", () => {
    const own = request(7, AMBER, 100, 150, accepted());
    expectGoodOf(...flood, ...own.all, ...early.all, early.stillWaits(530));
  });
});
