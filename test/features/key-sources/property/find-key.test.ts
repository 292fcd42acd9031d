import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_JSON_BYTES, MAX_JSON_DEPTH } from "../../../../src/kernel/request/json.ts";
import { EACH, findInJson, type JsonPointer } from "../../../../src/kernel/request/json-pointer.ts";
import { findInForm } from "../../../../src/kernel/request/form-fields.ts";
import { MAX_KEY_LENGTH } from "../../../../src/kernel/record/units.ts";
import { parseKeyHeader } from "../../../../src/kernel/request/key.ts";
import { textOfValue, textOfValues, writeKey } from "../../../../src/kernel/request/key-text.ts";
import { counted, finish } from "../../../support/slices.ts";

/** Texts in which separators, escapes and parentheses are frequent, some of them long. */
const part = fc.oneof(
  fc.string({
    unit: fc.constantFrom("a", ":", "%", "(", ")", "~", "2", "5", " ", "é", "😀", ","),
    minLength: 1,
    maxLength: 8,
  }),
  fc.string({ unit: fc.constantFrom("a", ":", "é"), minLength: 250, maxLength: 260 }),
);
const values = fc.array(part, { minLength: 2, maxLength: 4 });

/** What names a key: a single value, or several. */
const key = fc.oneof(
  part.map((one) => [one]),
  values,
);

const textOf = (parts: readonly string[]): Promise<string> =>
  parts.length === 1 ? textOfValue(parts[0] ?? "") : textOfValues(parts);

describe("the text of a key", () => {
  it("differs for different keys, one value or several", async () => {
    await fc.assert(
      fc.asyncProperty(key, key, async (one, other) => {
        const areSame = JSON.stringify(one) === JSON.stringify(other);
        expect((await textOf(one)) === (await textOf(other))).toBe(areSame);
      }),
      { numRuns: 2000 },
    );
  });

  it("differs when what is between two values moves into one of them", async () => {
    const between = fc.constantFrom(":", "%3A", "%", "~", ")", "(");
    await fc.assert(
      fc.asyncProperty(part, part, part, between, async (one, other, third, sign) => {
        const texts = [
          [one, other, third],
          [one + sign + other, third],
          [one, other + sign + third],
          [one + sign + other + sign + third],
        ];
        expect(new Set(await Promise.all(texts.map(textOf))).size).toBe(texts.length);
      }),
    );
  });

  it("differs for a character and its escape", async () => {
    const written = fc.constantFrom([":", "%3A"], [" ", "%20"], ["%", "%25"], ["é", "%C3%A9"]);
    await fc.assert(
      fc.asyncProperty(part, part, written, async (one, other, [character = "", escape = ""]) => {
        expect(await textOf([one + character, other])).not.toBe(await textOf([one + escape, other]));
        expect(await textOf([one + character])).not.toBe(await textOf([one + escape]));
      }),
    );
  });

  it("is a key that a header may carry, and is read from there as itself", async () => {
    await fc.assert(
      fc.asyncProperty(key, async (parts) => {
        const text = await textOf(parts);
        expect(text).toMatch(/^[\x21-\x7e]+$/);
        expect(text.length).toBeLessThanOrEqual(MAX_KEY_LENGTH);
        expect(parseKeyHeader(writeKey(text), "X-Key")).toBe(text);
      }),
    );
  });
});

const name = fc.constantFrom("a", "b", "0", "1", "é", "a/b", "\\", "a\\n", "");
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, true, 0, 1.5, -7, "", "text", 'q"\\', "é\n"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4 }),
  ),
})).value;
const pointer = fc.array(name, { minLength: 1, maxLength: 3 });

/** What a pointer leads to, by the platform's parser. */
function valueAt(document: unknown, names: readonly string[]): unknown {
  let found = document;
  for (const one of names) {
    if (Array.isArray(found) ? !/^(?:0|[1-9]\d*)$/.test(one) : typeof found !== "object" || found === null)
      return undefined;
    found = Object.getOwnPropertyDescriptor(found, one)?.value;
  }
  return found;
}

/** A value as `findInJson` gives it. */
function asFound(found: unknown): unknown {
  if (typeof found === "string") return { kind: "string", text: found };
  if (typeof found === "number") return { kind: "number", text: String(found) };
  if (typeof found === "boolean" || found === null) return { kind: "literal", text: String(found) };
  return { kind: "container" };
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a value in JSON", () => {
  it("is the one that the platform's parser has there", () => {
    fc.assert(
      fc.property(
        json,
        fc.array(pointer, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(0, 2),
        (document, pointers, indent) => {
          const text = JSON.stringify(document, null, indent);
          const found = finish(findInJson(bytesOf(text), pointers, 100));
          const expected = pointers.flatMap((names, index) => {
            const one = valueAt(document, names);
            return one === undefined ? [] : [{ pointer: index, element: 0, value: asFound(one) }];
          });
          const sorted = (typeof found === "string" ? [] : found).toSorted((one, other) => one.pointer - other.pointer);
          expect(sorted).toEqual(expected);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("is found in each element of an array", () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 4 }), (elements) => {
        const each: JsonPointer = [EACH, "a"];
        const found = finish(findInJson(bytesOf(JSON.stringify(elements)), [each], 100));
        const expected = elements.flatMap((element, index) => {
          const one = valueAt(element, ["a"]);
          return one === undefined ? [] : [{ pointer: 0, element: index, value: asFound(one) }];
        });
        expect(found).toEqual(expected);
      }),
    );
  });

  it("is found only in what the platform's parser takes for JSON", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"a"',
      '"',
      "\\",
      "1",
      "-",
      ".",
      "e",
      "0",
      "null",
      "true",
      " ",
      "x",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const text = pieces.join("");
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const found = finish(findInJson(bytesOf(text), [["a"]], 100));
        expect(found !== "not JSON").toBe(isJson);
      }),
      { numRuns: 5000 },
    );
  });

  it("is looked for in slices", () => {
    for (const text of [
      `[${'"x",'.repeat(60_000)}0]`,
      `[${"0,".repeat(125_000)}0]`,
      `{"a":{${'"b":1,'.repeat(40_000)}"c":2}}`,
    ]) {
      expect(counted(findInJson(bytesOf(text), [["a", "c"]], 100)).pauses).toBeGreaterThan(14);
    }
  });

  it("is looked for with a pause between two pointers", () => {
    const body = bytesOf(`{${'"b":1,'.repeat(40_000)}"c":2}`);
    const pausesFor = (count: number): number => {
      const pointers = Array.from({ length: count }, (_, index) => [`a${index}`]);
      return counted(findInJson(body, pointers, 100)).pauses;
    };
    expect(pausesFor(8)).toBe(pausesFor(1) + 7);
  });

  it("is looked for in a small text without a pause", () => {
    const body = bytesOf(
      JSON.stringify({ id: "evt_1", shop: "s-17", amount: 4200, items: [1, 2, 3], to: { name: "Ada" } }),
    );
    expect(counted(findInJson(body, [["id"], ["shop"], ["to", "name"]], 100)).pauses).toBe(0);
  });

  it("is found in a text as large and as deep as is read, and in no other", () => {
    const nested = (levels: number): Uint8Array => bytesOf(`${"[".repeat(levels)}${"]".repeat(levels)}`);
    expect(finish(findInJson(nested(MAX_JSON_DEPTH), [["0"]], 100))).toHaveLength(1);
    expect(finish(findInJson(nested(MAX_JSON_DEPTH + 1), [["0"]], 100))).toBe("too deep");
    const large = (size: number): Uint8Array => bytesOf(`["${"x".repeat(size - 4)}"]`);
    expect(finish(findInJson(large(MAX_JSON_BYTES), [["0"]], 100))).toHaveLength(1);
    expect(finish(findInJson(large(MAX_JSON_BYTES + 1), [["0"]], 100))).toBe("too large");
  });

  it("is one value in memory, however often a name is there, and the first elements of an array", () => {
    const names = finish(findInJson(bytesOf(`{${'"a":1,'.repeat(1000)}"a":2}`), [["a"]], 100));
    expect(typeof names === "string" ? names : names.map(({ value }) => value.kind)).toEqual(["repeated"]);
    expect(finish(findInJson(bytesOf(`[${"0,".repeat(5000)}0]`), [[EACH]], 100))).toHaveLength(1000);
  });
});

describe("a field of a form", () => {
  it("is looked for in slices", () => {
    for (const pair of ["&", "a&", "a=1&", "abcdefgh"]) {
      const form = bytesOf(pair.repeat(500_000 / pair.length));
      expect(counted(findInForm(form, ["a", "ab"], 100)).pauses).toBeGreaterThan(20);
      expect(counted(findInForm(form, ["a", "ab"], 100, "field")).pauses).toBeGreaterThan(20);
    }
  });

  it("is the one that the platform's parser has there", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "&", "=", "+", "%41", "%20", "é", "x"), maxLength: 12 });
    fc.assert(
      fc.property(text, (form) => {
        const params = new URLSearchParams(form);
        const found = finish(findInForm(bytesOf(form), ["a", "A", "ab"], 100));
        for (const one of ["a", "A", "ab"]) {
          const all = params.getAll(one);
          const [first] = all;
          const expected = all.length > 1 ? { kind: "repeated" } : { kind: "text", text: first };
          expect(found.get(one)).toEqual(first === undefined ? undefined : expected);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
