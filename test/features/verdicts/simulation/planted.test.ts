// Does the simulation see anything of bodies that decide? As test/simulation/planted.test.ts.

import { afterEach, describe, it, vi } from "vitest";
import { expectFound } from "../../../simulation/plant.ts";
import type { BodyVerdict } from "../../../../src/kernel/judge-body.ts";

interface Planted {
  said: ((verdict: BodyVerdict | "unreadable") => BodyVerdict | "unreadable") | null;
}

const planted = vi.hoisted((): Planted => ({ said: null }));

vi.mock(import("../../../../src/features/verdicts/object/judge-body.ts"), async (importOriginal) => {
  const actual = await importOriginal();
  const judgeBody: typeof actual.judgeBody = (...answer) => {
    const question = actual.judgeBody(...answer);
    const { said } = planted;
    if (said === null || question === null || question === "unreadable") return question;
    return async (body) => said(await question(body));
  };
  return { ...actual, judgeBody };
});

afterEach(() => {
  planted.said = null;
});

describe("a body", () => {
  it("that says that the origin may have acted, taken for a refusal, breaks G6", async () => {
    planted.said = (verdict) =>
      verdict !== "unreadable" && verdict.is === "ambiguous" ? { ...verdict, is: "refused" } : verdict;
    await expectFound(/G6: /, "bodies");
  });

  it("that is no result, kept as one, breaks G2", async () => {
    planted.said = () => ({ is: "result" });
    await expectFound(/G2: .* again, which is no result/, "bodies");
  });
});
