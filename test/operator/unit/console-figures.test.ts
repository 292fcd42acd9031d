import { describe, expect, it } from "vitest";
import { elapsedText, relativeTime } from "../../../src/operator/console/browser/times.ts";
import { ratesOf } from "../../../src/operator/console/traffic.ts";

describe("durations of the console", () => {
  it.each([
    [-5, "0 s"],
    [999, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [192_000, "3 min 12 s"],
    [3_600_000, "1 h"],
    [7_500_000, "2 h 5 min"],
    [86_400_000 * 2 + 3_600_000 * 5, "2 d 5 h"],
  ])("%i ms are %s", (ms, text) => {
    expect(elapsedText(ms)).toBe(text);
  });

  it("are relative to now", () => {
    expect(relativeTime("for", 1000, 5000)).toBe("4 s");
    expect(relativeTime("ago", 1000, 5000)).toBe("4 s ago");
    expect(relativeTime("in", 5000, 1000)).toBe("in 4 s");
    expect(relativeTime("in", 1000, 5000)).toBe("now");
  });
});

describe("rates by route", () => {
  it("count replayed answers as replays, and refusals by the key's record as conflicts", () => {
    const count = (route: string, outcome: string, times: number) => ({ route, outcome, count: times });
    expect(
      ratesOf([
        count("/a", "first", 5),
        count("/b", "first", 10),
        count("/b", "replay", 4),
        count("/b", "attached", 1),
        count("/b", "in-flight", 1),
        count("/b", "mismatch", 1),
        count("/b", "outcome-unknown", 1),
        count("/b", "not-kept", 1),
        count("/b", "origin-timeout", 1),
      ]),
    ).toEqual([
      { route: "/b", requests: 20, replays: 5, conflicts: 4 },
      { route: "/a", requests: 5, replays: 0, conflicts: 0 },
    ]);
  });
});
