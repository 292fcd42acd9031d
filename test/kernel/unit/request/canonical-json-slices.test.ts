import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../../src/kernel/request/canonical-json.ts";
import { counted, finish } from "../../../support/slices.ts";
import { WORST_JSON } from "../../../support/worst-json.ts";

const encoder = new TextEncoder();

/** Refused at once, or before the end. */
const WITHOUT_FORM = new Set(["brackets only", "one long number", "numbers that grow"]);

describe("the canonical form of a mebibyte of JSON", () => {
  it.each(Object.entries(WORST_JSON))("pauses repeatedly: %s", (kind, text) => {
    const body = encoder.encode(text);
    expect(body.byteLength).toBeGreaterThan((1 << 20) - 1000);
    expect(body.byteLength).toBeLessThanOrEqual(1 << 20);
    const { result, pauses } = counted(canonicalJson(body));
    expect(result === null).toBe(WITHOUT_FORM.has(kind));
    // Once for the UTF-8 check, and at least after every 16 KiB read (and the token that ends there).
    expect(pauses).toBeGreaterThanOrEqual(result === null ? 3 : 3 + 63);
  });

  it("pauses while a hundred thousand members are sorted, in each pass", () => {
    const pausesOf = (text: string): number => counted(canonicalJson(encoder.encode(text))).pauses;
    const disordered = WORST_JSON["one object, names in no order"] ?? "";
    const ordered = new TextDecoder().decode(finish(canonicalJson(encoder.encode(disordered))) ?? undefined);
    expect(pausesOf(ordered)).toBeLessThan(80);
    expect(pausesOf(disordered)).toBeGreaterThan(pausesOf(ordered) + 100);
  });

  it("handles a body of a few kilobytes without a pause", () => {
    const order = {
      id: "ord_1",
      amount: 12.5,
      items: Array.from({ length: 100 }, (_, sku) => ({ sku, at: 1, n: "é\n" })),
    };
    expect(counted(canonicalJson(encoder.encode(JSON.stringify(order)))).pauses).toBe(0);
  });
});
