import { describe, expect, it } from "vitest";
import { localTime } from "../../../src/operator/console/browser/times.ts";

const at = (iso: string): number => Date.parse(iso);

describe("the operator's local time", () => {
  it.each([
    ["2026-11-23T08:30:40Z", "2026-11-23T09:00:00Z", 60, "GMT+1", "09:30:40 GMT+1"],
    ["2026-11-23T23:30:40Z", "2026-11-23T23:40:00Z", 60, "GMT+1", "00:30:40 GMT+1"],
    ["2026-11-23T23:30:40Z", "2026-11-23T22:40:00Z", 60, "GMT+1", "2026-11-24 00:30:40 GMT+1"],
    ["2026-11-23T02:00:00Z", "2026-11-23T09:00:00Z", -300, "EST", "2026-11-22 21:00:00 EST"],
    ["2026-11-23T08:30:40Z", "2026-11-23T09:00:00Z", 330, "GMT+5:30", "14:00:40 GMT+5:30"],
  ])("of %s, seen at %s, %i minutes ahead", (time, now, ahead, zone, text) => {
    expect(localTime(at(time), at(now), ahead, zone)).toBe(text);
  });

  it("is left out where it is UTC", () => {
    expect(localTime(0, 0, 0, "GMT")).toBe("");
  });
});
