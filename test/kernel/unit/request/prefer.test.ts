import { describe, expect, it } from "vitest";

import { preferencesIn, withoutApplied } from "../../../../src/kernel/request/prefer.ts";

describe("Prefer", () => {
  it.each([
    [null, false, null],
    ["", false, null],
    ["respond-async", true, null],
    ["respond-async, wait=5", true, 5000],
    ["wait=0", false, 0],
    ['Respond-Async; x="a, b", WAIT = "10"', true, 10_000],
    // An empty value is none (RFC 7240, section 2).
    ['respond-async=""', true, null],
    ["respond-async=", true, null],
    ["respond-async=false", false, null],
    // The first of a name counts.
    ["wait=5, wait=10", false, 5000],
    ["respond-async=no, respond-async", false, null],
    ["wait=soon, wait=10", false, null],
    ["wait=-1", false, null],
    ["wait=1.5", false, null],
    // What cannot be read is ignored, with what its quotation mark opens.
    ["two words, respond-async", true, null],
    ['foo="bar, respond-async', false, null],
    ['foo="respond-async, wait=5"', false, null],
    ['foo="\\", respond-async"', false, null],
    [`respond-async, ${"a".repeat(5000)}`, false, null],
  ])("%j: respond-async is %s, wait is %s", (value, respondAsync, waitMs) => {
    expect(preferencesIn(value)).toEqual({ respondAsync, waitMs });
  });

  it.each([
    ["respond-async, wait=5", null],
    ["respond-async, return=minimal; x=1, wait=5", "return=minimal; x=1"],
    ['handling=lenient, x="wait=5, respond-async"', 'handling=lenient, x="wait=5, respond-async"'],
    ["RESPOND-ASYNC=no, two words", "two words"],
    ["return=minimal", "return=minimal"],
  ])("of %j the origin gets %j", (value, left) => {
    expect(withoutApplied(value)).toBe(left);
  });
});
