// What a selection of JSON pointers leaves out never matters, and everything else always does. The expectations come from values
// that JSON.parse built, never from the code under test.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonNode, scanJson } from "../../../src/kernel/request/json.ts";
import { selectJson } from "../../../src/kernel/request/json-pointer.ts";
import { counted, finish } from "../../support/slices.ts";

const NAMES = ["a", "b", "A", "", "0", "1", "-", "a/b", "~", 'q"\\', "é\n"] as const;
const name = fc.constantFrom(...NAMES);

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, 0, 1, -2.5, "", "a", ",}]{[", 'x"\\'),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

const tokens = fc.array(name, { minLength: 1, maxLength: 3 });
const pointerOf = (path: readonly string[]): string =>
  path.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

const isObject = (one: unknown): one is Record<string, unknown> =>
  typeof one === "object" && one !== null && !Array.isArray(one);

/** The child of a value at a token of a pointer (RFC 6901, section 4). */
function childOf(parent: unknown, token: string): { readonly value: unknown } | null {
  if (Array.isArray(parent)) {
    return /^(?:0|[1-9]\d*)$/.test(token) && Number(token) < parent.length ? { value: parent[Number(token)] } : null;
  }
  return isObject(parent) && Object.hasOwn(parent, token) ? { value: parent[token] } : null;
}

function valueAt(whole: unknown, path: readonly string[]): { readonly value: unknown } | null {
  let found: { readonly value: unknown } | null = { value: whole };
  for (const token of path) found = found === null ? null : childOf(found.value, token);
  return found;
}

const GONE = { gone: "element" };

/** The value without what is at the path; an element leaves a mark. */
function without(whole: unknown, [token, ...rest]: readonly string[]): unknown {
  const child = token === undefined ? null : childOf(whole, token);
  if (child === null || token === undefined) return whole;
  const changed = rest.length === 0 ? GONE : without(child.value, rest);
  if (Array.isArray(whole)) return whole.with(Number(token), changed);
  const others = Object.entries(isObject(whole) ? whole : {}).filter(([one]) => one !== token);
  return Object.fromEntries(rest.length === 0 ? others : [...others, [token, changed]]);
}

const encoded = (one: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(one));

function read(one: unknown): JsonNode {
  const node = finish(scanJson(encoded(one), "compared"));
  if (typeof node === "string") throw new TypeError(node);
  return node;
}

const canonical = (one: unknown): string | null => read(one).canonical;

const selected = (one: unknown, kind: "except" | "only", paths: readonly (readonly string[])[]): string | null =>
  finish(selectJson(read(one), { kind, pointers: paths.map(pointerOf).toSorted() }));

describe("except", () => {
  it("makes two values equal exactly if they are equal without what is there", () => {
    fc.assert(
      fc.property(value, value, tokens, (one, other, path) => {
        const same = canonical(without(one, path)) === canonical(without(other, path));
        expect(selected(one, "except", [path]) === selected(other, "except", [path])).toBe(same);
      }),
      { numRuns: 3_000 },
    );
  });

  it("ignores any change there, and any member that comes or goes", () => {
    const member = fc.constantFrom("a", "b", "0", "a/b");
    fc.assert(
      fc.property(
        fc.dictionary(name, value, { noNullPrototype: true }),
        member,
        value,
        value,
        (object, left, one, other) => {
          const { [left]: _, ...rest } = object;
          const expected = selected(rest, "except", [[left]]);
          expect(selected({ ...rest, [left]: one }, "except", [[left]])).toBe(expected);
          expect(selected({ [left]: other, ...rest }, "except", [[left]])).toBe(expected);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("leaves out several places at once", () => {
    const [one, other] = [
      { a: 1, b: [1, 2, 3], "a/b": 1, "~": { "": 7, 1: 8 }, x: 1 },
      { "~": { 1: 8, "": [] }, "a/b": {}, b: [1, "x", 3], x: 1 },
    ];
    const paths = [["a"], ["b", "1"], ["a/b"], ["~", ""]];
    expect(selected(one, "except", paths)).toBe(selected(other, "except", paths));
    expect(selected(one, "except", paths)).not.toBe(selected({ ...other, x: 2 }, "except", paths));
    expect(selected(one, "except", paths)).not.toBe(selected({ ...other, b: [1, "x"] }, "except", paths));
  });
});

describe("only", () => {
  it("makes two values equal exactly if they are equal there, or both missing there", () => {
    // `A` beside `a` is ambiguous.
    const clear = value.filter((one) => !JSON.stringify(one).includes('"A"'));
    const paths = fc.uniqueArray(
      tokens.filter((path) => !path.includes("A")),
      {
        minLength: 1,
        maxLength: 3,
        selector: ([first]) => first,
      },
    );
    fc.assert(
      fc.property(clear, clear, paths, (one, other, chosen) => {
        const parts = (whole: unknown): string =>
          JSON.stringify(chosen.map((path) => valueAt(whole, path)).map((found) => found && canonical(found.value)));
        const isNone = (whole: unknown): boolean => chosen.every((path) => valueAt(whole, path) === null);
        const [first, second] = [selected(one, "only", chosen), selected(other, "only", chosen)];
        expect(first === null).toBe(isNone(one));
        if (first !== null && second !== null) expect(first === second).toBe(parts(one) === parts(other));
      }),
      { numRuns: 3_000 },
    );
  });

  it("takes no part of an object in which readers without case might take another member", () => {
    expect(selected({ amount: 1, Amount: 2 }, "only", [["amount"]])).toBeNull();
    expect(selected({ x: { B: 1 } }, "only", [["x", "b"]])).toBeNull();
    expect(selected({ amount: 1, "amount ": 2, amounts: 3, "amoun\u0014": 4 }, "only", [["amount"]])).not.toBeNull();
  });

  it("cannot take the missing for the empty, nor one pointer's value for another's", () => {
    const paths = [["a"], ["b"], ["c"]];
    const all = [{ a: 1 }, { b: 1 }, { a: 1, b: null }, { a: null, b: 1 }, { a: "", b: 1 }, { a: 1, c: "" }, { c: 1 }];
    expect(new Set(all.map((one) => selected(one, "only", paths))).size).toBe(all.length);
  });
});

describe("a selection", () => {
  it("is made in slices", () => {
    const large = read({ a: Array.from({ length: 100_000 }, (_, at) => at % 10), b: "x".repeat(50_000) });
    const pointers = ["/a/5", "/b", "/c"];
    expect(counted(selectJson(large, { kind: "except", pointers })).pauses).toBe(1);
    expect(counted(selectJson(large, { kind: "only", pointers })).pauses).toBe(pointers.length - 1);
  });
});
