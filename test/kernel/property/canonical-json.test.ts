import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../support/canonical-json.ts";
import { decimal, exactly, referenceCanonical } from "../../support/exact-json.ts";
import { damagedText, jsonNumber, jsonText } from "../../support/json-texts.ts";
import { finish } from "../../support/slices.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The canonical form as text. */
function canonical(text: string | Uint8Array): string | null {
  const bytes = finish(canonicalJson(typeof text === "string" ? encoder.encode(text) : text));
  return bytes === null ? null : decoder.decode(bytes);
}

function reference(text: string): string | null {
  const bytes = referenceCanonical(encoder.encode(text));
  return bytes === null ? null : decoder.decode(bytes);
}

describe("the canonical form of JSON", () => {
  it("is what the library makes of the parsed value, if parsing keeps every digit and every member", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(canonical(text)).toBe(reference(text));
      }),
      { numRuns: 5000 },
    );
  });

  it("is null exactly if a text is not valid JSON", () => {
    fc.assert(
      fc.property(damagedText, (text) => {
        expect(canonical(text)).toBe(reference(text));
      }),
      { numRuns: 5000 },
    );
  });

  it("is null if bytes are not UTF-8", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 6 }), (bytes) => {
        const text = Uint8Array.of(0x22, ...bytes, 0x22);
        const expected = referenceCanonical(text);
        expect(canonical(text)).toBe(expected === null ? null : decoder.decode(expected));
      }),
      { numRuns: 3000 },
    );
  });

  it("is its own canonical form, and has exactly the value of the text", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const form = canonical(text);
        if (form === null) return;
        expect(canonical(form)).toBe(form);
        expect(exactly(form)).toEqual(exactly(text));
      }),
      { numRuns: 3000 },
    );
  });

  it("distinguishes two numbers whenever they differ in a digit", () => {
    const near = fc.tuple(jsonNumber, fc.constantFrom("", "0", "1"), jsonNumber, fc.boolean());
    fc.assert(
      fc.property(near, ([one, more, other, isNear]) => {
        const second = isNear ? one.replace(/(\d)(?=$|[eE.])/, `$1${more}`) : other;
        const [first, next] = [canonical(one), canonical(second)];
        if (first !== null && first === next) expect(decimal(one)).toBe(decimal(second));
        if (first !== null && next !== null && decimal(one) === decimal(second)) expect(first).toBe(next);
      }),
      { numRuns: 10_000 },
    );
  });

  it("sorts any number of members, and finds two with one name anywhere", () => {
    const name = fc.oneof(
      fc.string({ unit: "binary", maxLength: 6 }),
      fc.string({ unit: fc.constantFrom("a", "\ue000", "\u{10000}"), maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(name, { maxLength: 80 }), (names) => {
        const text = `{${names.map((one, index) => `${JSON.stringify(one)}:[${index},{"b":0,"a":1}]`).join(",")}}`;
        expect(canonical(text)).toBe(reference(text));
      }),
      { numRuns: 1000 },
    );
  });
});
