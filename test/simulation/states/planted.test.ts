// Faults of verification by state, planted on purpose: each takes for "it did not happen" what is none, and the rule for unknown outcomes finds it.

import { afterEach, describe, it, vi } from "vitest";
import { expectFound, plantStep } from "../plant.ts";
import type { VerificationFinding } from "../../../src/kernel/record/verification-answer.ts";

const planted = vi.hoisted((): { believed: string | null } => ({ believed: null }));

vi.mock(import("../../../src/kernel/verify/judge-state.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  return {
    ...actual,
    judgeState: function* (...given) {
      const judged = yield* actual.judgeState(...given);
      return judged.finding === planted.believed ? { ...judged, finding: "not-happened" } : judged;
    },
  };
});

afterEach(() => {
  planted.believed = null;
});

const SECOND = /G6: .* whose outcome is unknown, with unknown = "verify"/;

describe("it did not happen", () => {
  it.each<VerificationFinding>(["pending", "stale", "incomplete"])(
    "is not what a finding says that is %s",
    async (finding) => {
      planted.believed = finding;
      await expectFound(SECOND, "states", "foreign");
    },
    120_000,
  );

  it("does not count before reads can lag no more", async () => {
    plantStep((actual, record, event, now) => {
      if (event.type !== "absent") return null;
      const { settleMs: _, ...early } = event;
      return actual(record, early, record.policy, now);
    });
    await expectFound(SECOND, "states");
  });
});
