// Keys from content: equal exactly for requests whose members are equal, however they are spelled, and never a client's own. The reference for what
// is equal is a library for RFC 8785 (support/exact-json.ts).

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyOfMembers } from "../../../../src/features/content-keys/content-key.ts";
import { readMembers } from "../../../../src/features/content-keys/content-values.ts";
import type { KeyPart } from "../../../../src/kernel/config/key-source.ts";
import { HeaderSnapshot } from "../../../../src/kernel/request/headers.ts";
import { contentScope, isNameIn, nameRecord } from "../../../../src/kernel/request/record-name.ts";
import { referenceCanonical } from "../../../support/exact-json.ts";
import { jsonText } from "../../../support/json-texts.ts";

const ORDER: KeyPart = { kind: "json", name: "/order", tokens: ["order"] };
const AMOUNT: KeyPart = { kind: "json", name: "/amount", tokens: ["amount"] };
const PLACES = { headers: new HeaderSnapshot([["content-type", "application/json"]]), search: "" };
const encoder = new TextEncoder();

/** Few values, so that two requests often have the same, in other spellings; and any JSON. */
const value = fc.oneof(
  {
    arbitrary: fc.constantFrom(
      "1",
      "1.0",
      "10e-1",
      '"1"',
      '"\\u0031"',
      "[1,2]",
      "[2,1]",
      '{"a":1,"b":[]}',
      '{ "b":[] , "a":1e0}',
    ),
    weight: 4,
  },
  { arbitrary: jsonText, weight: 1 },
);

interface Body {
  readonly order: string;
  readonly amount: string;
  readonly text: string;
}

/** The members in any order, among others. */
const body: fc.Arbitrary<Body> = fc
  .record({ order: value, amount: value, other: jsonText, first: fc.constantFrom("order", "amount", "other") })
  .map(({ order, amount, other, first }) => {
    const members = [`"order": ${order}`, `"amount":${amount}`, ` "other":${other}`];
    const at = ["order", "amount", "other"].indexOf(first);
    return { order, amount, text: `{${[...members.slice(at), ...members.slice(0, at)].join(",")}}` };
  });

async function keyOf(text: string, members = [ORDER, AMOUNT], path = "/pay"): Promise<string | null> {
  const values = await readMembers(members, PLACES, encoder.encode(text), null);
  return values.kind === "texts" ? keyOfMembers({ method: "POST", path, members, values: values.texts }) : null;
}

/** `null`: two readers could take it for different values, or a whole number is beyond a double, which keys compare digit by digit. */
function meaningOf(members: readonly string[]): string | null {
  const canonical = members.map((one) => referenceCanonical(encoder.encode(one)));
  return canonical.includes(null)
    ? null
    : canonical.map((bytes) => new TextDecoder().decode(bytes ?? undefined)).join(" ");
}

describe("a key from content", () => {
  it("is equal for two bodies exactly if their members are equal, in any order and any spelling", async () => {
    let equal = 0;
    await fc.assert(
      fc.asyncProperty(body, body, async (one, other) => {
        const [first, second] = await Promise.all([keyOf(one.text), keyOf(other.text)]);
        if (first === null || second === null) return;
        const [meant, meantToo] = [one, other].map(({ order, amount }) => meaningOf([order, amount]));
        if (meant === null || meantToo === null) return;
        equal += first === second ? 1 : 0;
        expect(first === second).toBe(meant === meantToo);
        expect(first).toMatch(/^\(content:[0-9a-f]{32}\)$/);
      }),
      { numRuns: 3000 },
    );
    expect(equal).toBeGreaterThan(50);
  });

  it("is another one when a value moves to another member, or another path or method is asked", async () => {
    await fc.assert(
      fc.asyncProperty(value, value, async (order, amount) => {
        const text = `{"order":${order},"amount":${amount}}`;
        const own = await keyOf(text);
        if (own === null) return;
        const swapped = await keyOf(`{"order":${amount},"amount":${order}}`);
        const meant = meaningOf([order, amount]);
        if (meant !== null) expect(swapped === own).toBe(meant === meaningOf([amount, order]));
        expect(await keyOf(text, [AMOUNT, ORDER])).not.toBe(own);
        expect(await keyOf(text, [ORDER])).not.toBe(own);
        expect(await keyOf(text, [ORDER, AMOUNT], "/refund")).not.toBe(own);
      }),
    );
  });

  it("is none where a member is missing, null or empty text", async () => {
    const nothing = fc.constantFrom('{"order":1}', '{"order":1,"amount":null}', '{"order":"","amount":1}', "[]", "{}");
    await fc.assert(
      fc.asyncProperty(nothing, async (text) => {
        expect(await keyOf(text)).toBeNull();
      }),
    );
  });

  it("is refused where readers may take a member for either of two", async () => {
    for (const text of [
      '{"order":1,"order":2,"amount":1}',
      '{"order":1,"Order":2,"amount":1}',
      '{"Order":1,"amount":1}',
    ]) {
      const values = await readMembers([ORDER, AMOUNT], PLACES, encoder.encode(text), null);
      expect(values).toMatchObject({ kind: "invalid", reason: expect.stringContaining("/order") });
    }
  });

  it("names no record of a client's own key: not with its text, nor in any scope", async () => {
    const scope = fc
      .array(fc.tuple(fc.string(), fc.option(fc.oneof(fc.string(), fc.constant("content")))), { maxLength: 3 })
      .map((pairs) => pairs.flat());
    const key = fc.oneof(fc.constant("(content:0123456789abcdef0123456789abcdef)"), fc.string());
    await fc.assert(
      fc.asyncProperty(key, scope, scope, async (text, own, other) => {
        const made = await nameRecord(text, contentScope(own), "64");
        expect(await nameRecord(text, other, "64")).not.toBe(made);
        // Whoever erases a caller finds both.
        expect(await isNameIn(made, text, own, "64")).toBe(true);
        expect(await isNameIn(await nameRecord(text, own, "64"), text, own, "64")).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
