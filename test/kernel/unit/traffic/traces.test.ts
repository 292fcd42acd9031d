// What the gateway forwards of a trace (W3C Trace Context), and what Server-Timing contains.

import { describe, expect, it } from "vitest";
import { serverTimingValue } from "../../../../src/kernel/traffic/exchange-reporter.ts";
import { parseTraceparent, spanIdOf, traceparentOf } from "../../../../src/kernel/traffic/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

describe("traceparent", () => {
  it.each([
    [`00-${TRACE}-${PARENT}-01`, "01"],
    [`00-${TRACE}-${PARENT}-00`, "00"],
    // Flags that version 00 does not know are not passed on.
    [`00-${TRACE}-${PARENT}-ff`, "03"],
    // A later version may have more fields.
    [`cc-${TRACE}-${PARENT}-01`, "01"],
    [`cc-${TRACE}-${PARENT}-01-what-the-future-brings`, "01"],
  ])("reads %s", (value, flags) => {
    expect(parseTraceparent(value)).toEqual({ traceId: TRACE, flags });
  });

  it.each([
    null,
    "",
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01-`,
    `cc-${TRACE}-${PARENT}-01.more`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${"0".repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  ])("ignores %s", (value) => {
    expect(parseTraceparent(value)).toBeNull();
  });

  it("names the attempt as the parent, by half of its random id", () => {
    const attempt = "c2b48d6e-3f5a-4a9c-8d1e-0f1a2b3c4d5e";
    expect(spanIdOf(attempt)).toBe("8d1e0f1a2b3c4d5e");
    const made = traceparentOf({ traceId: TRACE, flags: "01" }, attempt);
    expect(made).toBe(`00-${TRACE}-8d1e0f1a2b3c4d5e-01`);
    expect(parseTraceparent(made)).toEqual({ traceId: TRACE, flags: "01" });
  });
});

describe("Server-Timing", () => {
  const report = { at: 0, route: "/", recordId: null, status: 201, attempt: 1 } as const;
  it.each([
    [{ outcome: "first", durationMs: 12.6, originMs: 10.2, waitedMs: 0 }, "origin;dur=10, gateway;dur=2"],
    [{ outcome: "replay", durationMs: 0.4, originMs: null, waitedMs: 0 }, 'gateway;dur=0;desc="replay"'],
    [
      { outcome: "replay", durationMs: 251, originMs: null, waitedMs: 250 },
      'wait;dur=250, gateway;dur=1;desc="replay"',
    ],
    [{ outcome: "key-missing", durationMs: 0, originMs: null, waitedMs: 0 }, "gateway;dur=0"],
  ] as const)("of %j is %s", (times, value) => {
    expect(serverTimingValue({ ...report, ...times })).toBe(value);
  });
});
