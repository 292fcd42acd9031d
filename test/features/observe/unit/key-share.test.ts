import { describe, expect, it } from "vitest";
import { shareOf } from "../../../../src/features/observe/key-share.ts";

describe("the share of a key", () => {
  it("is spread evenly, also over keys that differ in their last character", () => {
    const keys = Array.from({ length: 10_000 }, (_, at) => `order-${at}`);
    for (const of of ["enforce", "sample"] as const) {
      const bins = Object.values(Object.groupBy(keys, (key) => Math.floor(shareOf(of, key) * 10)));
      expect(bins).toHaveLength(10);
      for (const bin of bins) expect(bin?.length).toBeGreaterThan(850);
    }
  });

  it("never changes: a deployment may not move keys", () => {
    expect(["", "a", "order-1", "8e03978e-40d5-43dd-bc93-6894a57f9324"].map((key) => shareOf("enforce", key)))
      .toMatchInlineSnapshot(`
      [
        0.9277252259198576,
        0.2952117049135268,
        0.4267911685165018,
        0.5547695297282189,
      ]
    `);
  });

  it("has nothing to do with the share of the other word", () => {
    const keys = Array.from({ length: 10_000 }, (_, at) => `k${at}`);
    const both = keys.filter((key) => shareOf("enforce", key) < 0.5 && shareOf("sample", key) < 0.5);
    expect(both.length).toBeGreaterThan(2300);
    expect(both.length).toBeLessThan(2700);
  });
});
