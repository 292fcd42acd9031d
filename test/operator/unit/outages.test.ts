// What happened while outcomes became unknown, in one line each.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { outageQuery, outagesIn, outageText, type UnknownRecord } from "../../../src/operator/outages.ts";

const AT = Date.parse("2026-11-23T06:45:22.000Z");

function unknown(startedAt: number, more: Partial<UnknownRecord> = {}): UnknownRecord {
  return { route: "/v1/payments", reason: "origin-dropped", startedAt, request: null, ...more };
}

describe("outages", () => {
  it("are the records of one route and reason, until nothing happens for five minutes", () => {
    const records = [
      ...Array.from({ length: 120 }, (_, at) => unknown(AT + at * 25, { request: { caller: `caller ${at % 7}` } })),
      unknown(AT + 1000, { route: "/v1/refunds" }),
      unknown(AT + 2000, { reason: "origin-timeout" }),
      unknown(AT + 3000 + 301_000),
    ];
    const outages = outagesIn(records.toReversed());
    expect(outages.map((one) => outageText(one, AT + 3_600_000))).toEqual([
      "120 on /v1/payments, 06:45:22 to 06:45:24 UTC, origin-dropped, 7 callers",
      "1 on /v1/payments, 06:50:26 UTC, origin-dropped",
      "1 on /v1/payments, 06:45:24 UTC, origin-timeout",
      "1 on /v1/refunds, 06:45:23 UTC, origin-dropped",
    ]);
    expect(outages.slice(0, 1).map(outageQuery)).toEqual([
      { state: "unknown", route: "/v1/payments", since: "2026-11-23T06:45:22.000Z", until: "2026-11-23T06:45:24.975Z" },
    ]);
  });

  it("name the day where it is another one", () => {
    const [outage] = outagesIn([
      unknown(AT, { request: { caller: "a" } }),
      unknown(AT + 100, { request: { caller: "a" } }),
    ]);
    expect(outage && outageText(outage, AT + 86_400_000)).toBe(
      "2 on /v1/payments, 2026-11-23 06:45:22 UTC, origin-dropped, 1 caller",
    );
  });

  it("have each record once", () => {
    const record = fc.record({
      route: fc.constantFrom("/a", "/b"),
      reason: fc.constantFrom("origin-dropped", null),
      startedAt: fc.integer({ min: 0, max: 2_000_000 }),
      request: fc.constantFrom({ caller: "x" }, { caller: "y" }, { caller: null }, null),
    });
    fc.assert(
      fc.property(fc.array(record), (records) => {
        const outages = outagesIn(records);
        expect(outages.reduce((sum, { count }) => sum + count, 0)).toBe(records.length);
        for (const { route, reason, startedAt } of records) {
          const of = outages.filter(
            (one) => one.route === route && one.reason === reason && one.first <= startedAt && startedAt <= one.last,
          );
          expect(of).toHaveLength(1);
        }
      }),
    );
  });
});
