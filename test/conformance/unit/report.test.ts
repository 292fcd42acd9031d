// What the suite says to programs, and what it reads of a published policy.

import { describe, expect, it } from "vitest";
import { mustCase } from "../../../src/conformance/cases/define.ts";
import { matchesPattern, readPolicy } from "../../../src/conformance/policy.ts";
import { type SuiteReport, reportJson, reportJunit } from "../../../src/conformance/report.ts";
import { type CaseResult, totalsOf } from "../../../src/conformance/suite.ts";

const ONE = mustCase({
  id: "syntax.quoted",
  says: "It is so.",
  profile: "P1",
  script: [],
  judge: () => ({ is: "passed" }),
});
const result = (level: CaseResult["level"], is: "passed" | "failed" | "skipped"): CaseResult => ({
  case: ONE,
  level,
  verdict: is === "passed" ? { is } : { is, why: `<a & "b">\u0007` },
  durationMs: 5,
});
const RESULTS = [
  result("MUST", "passed"),
  result("MUST", "failed"),
  result("SHOULD", "failed"),
  result("MAY", "failed"),
  result("MUST", "skipped"),
];
const REPORT: SuiteReport = {
  target: "POST http://x/",
  mode: "api",
  profile: "idempotency",
  by: "profile",
  totals: totalsOf(RESULTS),
  results: RESULTS,
};

describe("the report", () => {
  it("counts what failed by level, and nothing that was skipped as passed", () => {
    expect(REPORT.totals).toEqual({ passed: 1, skipped: 1, failed: { MUST: 1, SHOULD: 1, MAY: 1 } });
  });

  it("says in JSON what each case found", () => {
    expect(JSON.parse(JSON.stringify(reportJson(REPORT)))).toMatchObject({
      target: "POST http://x/",
      results: [
        { id: ONE.id, group: "syntax", level: "MUST", result: "passed" },
        { result: "failed", why: '<a & "b">\u0007' },
        { level: "SHOULD", result: "failed" },
        { level: "MAY", result: "failed" },
        { result: "skipped" },
      ],
    });
  });

  it("has in JUnit's form one failure for each MUST that failed, and well-formed text", () => {
    const xml = reportJunit(REPORT);
    expect(xml).toContain('tests="5" failures="1" skipped="3"');
    expect(xml.match(/<failure /g)).toHaveLength(1);
    expect(xml).toContain('message="MUST (P1): &lt;a &amp; &quot;b&quot;>?"');
  });
});

describe("a published policy", () => {
  const read = (document: unknown) => readPolicy(Buffer.from(JSON.stringify(document)), "POST", "/v1/pay");

  it.each([
    ["/v1/pay", "/v1/pay", true],
    ["/v1/*", "/v1/pay", true],
    ["/v1/*", "/v1", true],
    ["/v1/:what", "/v1/pay", true],
    ["/v1/*/refund", "/v1/pay/refund", true],
    ["/v1/pay", "/v1/pay/refund", false],
    ["/v1/:what", "/v1/pay/refund", false],
    ["/v2/*", "/v1/pay", false],
  ])("has the pattern %s, which applies to %s: %s", (pattern, path, applies) => {
    expect(matchesPattern(pattern, path)).toBe(applies);
  });

  it("is that of the first route with the method and the path", () => {
    const routes = [
      { path: "/v1/*", methods: ["PUT"], mismatchStatus: 409 },
      { path: "/v1/*", methods: ["POST"], key: { required: true }, unknownOutcome: "hold", retentionSeconds: 5 },
    ];
    expect(read({ profile: "p", routes })).toEqual({
      profile: "p",
      isKeyRequired: true,
      unknownOutcome: "hold",
      mismatchStatus: null,
      retentionSeconds: 5,
    });
  });

  it.each([[null], [[]], [{}], [{ routes: {} }], [{ routes: [null, 7, {}] }], [{ routes: [{ path: "/other" }] }]])(
    "is none in %j",
    (document) => {
      expect(read(document)).toBeNull();
    },
  );
});
