import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../../../src/kernel/record/outcome.ts";
import { describeProblem } from "../../../../src/kernel/record/problem.ts";

describe("describeProblem", () => {
  it("rounds Retry-After up to a whole second, and never to zero", () => {
    const after = (retryAfterMs: number): number | null =>
      describeProblem({ code: "in-flight", retryAfterMs }).retryAfterSeconds;
    expect([-5, 0, 1, 1000, 1001].map(after)).toEqual([1, 1, 1, 1, 2]);
  });

  it("calls an ambiguous end retryable if a retry can settle it", () => {
    for (const code of ["origin-dropped", "origin-timeout"] as const) {
      expect(describeProblem({ code, unknown: "retry", retryAfterMs: 0 }).retryable).toBe(true);
      expect(describeProblem({ code, unknown: "verify", retryAfterMs: 0 }).retryable).toBe(true);
      expect(describeProblem({ code, unknown: "hold", retryAfterMs: 0 }).retryable).toBe(false);
    }
    expect(describeProblem({ code: "origin-dropped", unknown: "unprotected", retryAfterMs: 0 }).retryable).toBe(false);
  });

  it("calls an unknown outcome retryable if the origin is asked about it", () => {
    expect(describeProblem({ code: "outcome-unknown", retryAfterMs: null }).retryable).toBe(false);
    const asked = describeProblem({ code: "outcome-unknown", retryAfterMs: 1500 });
    expect(asked).toMatchObject({ status: 409, retryable: true, retryAfterSeconds: 2 });
  });

  it("calls a refused change retryable if waiting for a lock helps, and not if the record has its answer", () => {
    const locked = describeProblem({ code: "change-refused", why: "in-flight", retryAfterMs: 1500 });
    expect(locked).toMatchObject({ status: 409, retryable: true, retryAfterSeconds: 2 });
    const settled = describeProblem({ code: "change-refused", why: "completed" });
    expect(settled).toMatchObject({ status: 409, retryable: false, retryAfterSeconds: null });
  });

  it("answers a reused key with the route's status", () => {
    expect(describeProblem({ code: "key-reused", status: 409 }).status).toBe(409);
  });

  it("is counted under the code, except for two outcomes with older names", () => {
    const codes = ["in-flight", "key-reused", "response-not-kept"] as const;
    expect(codes.map(outcomeOf)).toEqual(["in-flight", "mismatch", "not-kept"]);
  });
});
