// Which times the filters of lists mean, and what lists say of themselves.

import { describe, expect, it } from "vitest";
import { epochMs } from "../../../src/kernel/record/units.ts";
import { parseMoment, partsText, totalText } from "../../../src/operator/list-texts.ts";

const NOW = epochMs(Date.parse("2026-11-23T12:00:00Z"));

describe("a moment", () => {
  it.each([
    ["2026-11-23T08:30:00Z", "2026-11-23T08:30:00.000Z"],
    ["2026-11-23T08:30:00.25Z", "2026-11-23T08:30:00.250Z"],
    ["2026-11-23T08:30:00+01:00", "2026-11-23T07:30:00.000Z"],
    ["2028-02-29T23:59:59-00:30", "2028-03-01T00:29:59.000Z"],
    ["5m", "2026-11-23T11:55:00.000Z"],
    ["1.5h", "2026-11-23T10:30:00.000Z"],
    ["7d", "2026-11-16T12:00:00.000Z"],
  ])("%s is %s", (text, iso) => {
    expect(parseMoment(text, NOW)).toBe(Date.parse(iso));
  });

  it.each([
    "",
    "soon",
    "5",
    "-5m",
    "0s",
    "2026-11-23",
    "2026-11-23T08:30Z",
    "2026-11-23T08:30:00",
    "2026-11-23 08:30:00Z",
    "2026-02-29T08:30:00Z",
    "2026-13-01T08:30:00Z",
    "2026-11-23T24:00:00Z",
    "2026-11-23T08:30:60Z",
    "2026-11-23T08:30:00+24:00",
  ])("%s is none", (text) => {
    expect(parseMoment(text, NOW)).toBeNull();
  });
});

describe("what a list says of itself", () => {
  it("is how many records match, and no more than is known", () => {
    expect(totalText({ count: 0, isExact: true })).toBe("0 records");
    expect(totalText({ count: 1, isExact: true })).toBe("1 record");
    expect(totalText({ count: 12_345, isExact: true })).toBe("12,345 records");
    expect(totalText({ count: 12_345, isExact: false })).toBe("about 12,300 records");
  });

  it("is of which parts a page is", () => {
    expect(partsText({ first: 1, last: 1, count: 1 })).toBeNull();
    expect(partsText({ first: 1, last: 1, count: 8 })).toMatch(/^Part 1 of 8: /);
    expect(partsText({ first: 2, last: 5, count: 1024 })).toMatch(/^Parts 2 to 5 of 1,024: /);
  });
});
