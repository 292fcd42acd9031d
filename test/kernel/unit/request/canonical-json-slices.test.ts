import { describe, expect, it } from "vitest";
import { MAX_JSON_BYTES } from "../../../../src/kernel/request/json.ts";
import { canonicalJson } from "../../../support/canonical-json.ts";
import { counted, finish } from "../../../support/slices.ts";
import { WORST_JSON } from "../../../support/worst-json.ts";

const encoder = new TextEncoder();

/** Refused at once, or before the end. */
const WITHOUT_FORM = new Set(["brackets only", "one long number"]);

/** One token, which is scanned at once. */
const ONE_TOKEN = /^(?:one long number|one string|one string of .*|one string, .*|white space)$/;

describe("the canonical form of JSON that is as large as is read", () => {
  it.each(Object.entries(WORST_JSON))("pauses repeatedly: %s", (kind, text) => {
    const body = encoder.encode(text);
    expect(body.byteLength).toBeGreaterThan(MAX_JSON_BYTES - 1100);
    expect(body.byteLength).toBeLessThanOrEqual(MAX_JSON_BYTES);
    const { result, pauses } = counted(canonicalJson(body));
    expect(result === null).toBe(WITHOUT_FORM.has(kind));
    // At least after every 16 KiB read, and the token that ends there.
    if (!ONE_TOKEN.test(kind) && result !== null) expect(pauses).toBeGreaterThanOrEqual(14);
  });

  it("pauses while many members are sorted", () => {
    const pausesOf = (text: string): number => counted(canonicalJson(encoder.encode(text))).pauses;
    const disordered = WORST_JSON["one object, names in no order"] ?? "";
    const ordered = new TextDecoder().decode(finish(canonicalJson(encoder.encode(disordered))) ?? undefined);
    expect(pausesOf(ordered)).toBeLessThan(25);
    expect(pausesOf(disordered)).toBeGreaterThan(pausesOf(ordered) + 20);
  });

  it("has each member once, in order, of an object that is sorted in parts", () => {
    const names = Array.from({ length: 3 * 4096 + 1 }, (_, index) => `m${(index * 7919) % 100_003}`);
    const read = (text: string): unknown =>
      JSON.parse(new TextDecoder().decode(finish(canonicalJson(encoder.encode(text))) ?? undefined));
    const sorted = Object.fromEntries(names.toSorted().map((name) => [name, 1]));
    const form = read(JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))));
    expect(JSON.stringify(form)).toBe(JSON.stringify(sorted));
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
