import { describe, expect, it } from "vitest";
import { type Finding, findingOf, hasSecondChance } from "../../../src/core/question.ts";

describe("an answer to the question whether an attempt took effect", () => {
  it.each<[status: number | null, claim: Finding, another: Finding]>([
    [200, "done", "done"],
    [299, "done", "done"],
    [404, "absent", "open"],
    [401, "rejected", "rejected"],
    [403, "rejected", "rejected"],
    [199, "open", "open"],
    [300, "open", "open"],
    [410, "open", "open"],
    [429, "open", "open"],
    [500, "open", "open"],
    [600, "open", "open"],
    [null, "open", "open"],
  ])("%s says to the attempt's own client %s, to another %s", (status, claim, another) => {
    expect(findingOf(status, "claim")).toBe(claim);
    expect(findingOf(status, "another")).toBe(another);
  });

  it("never lets another caller's answer mean that nothing happened", () => {
    for (let status = 0; status <= 999; status += 1) expect(findingOf(status, "another")).not.toBe("absent");
  });

  it("lets another caller ask only where the claim's credential could not", () => {
    expect((["done", "absent", "rejected", "open", null] as const).map(hasSecondChance)).toEqual([
      false,
      false,
      true,
      false,
      true,
    ]);
  });
});
