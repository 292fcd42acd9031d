// Where values stand in a JSON text. What is valid, and what a value is, JSON.parse says.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  findPlaces,
  type FoundPlace,
  textOfJson,
  valueAt,
  withoutPlaces,
} from "../../../src/kernel/request/json-places.ts";
import { finish } from "../../support/slices.ts";

const RUNS = { numRuns: 2000 };
const NAMES = ["a", "b", "A", "", "0", "1", "a/b", 'q"\\', "é\n", "\u017f"] as const;
const name = fc.constantFrom(...NAMES);

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, 1, -2.5, 1e21, "", "a", ",}]{[", 'x"\\', "\u2028😀"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const spaces = fc.constantFrom("", " ", "\t\r\n ");

function placed(text: string, pointers: readonly (readonly string[])[]): readonly FoundPlace[] | string {
  return finish(findPlaces(text, pointers));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const MISSING = Symbol("missing");

function at(whole: unknown, path: readonly string[]): unknown {
  let found = whole;
  for (const token of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, token)) return MISSING;
    if (Array.isArray(found) && !/^(?:0|[1-9]\d*)$/.test(token)) return MISSING;
    found = Reflect.get(found, token);
  }
  return found;
}

describe("places in a JSON text", () => {
  it("are those of the values that any other reader finds there, whatever spaces are between them", () => {
    fc.assert(
      fc.property(
        value,
        fc.array(fc.array(name, { maxLength: 3 }), { maxLength: 5 }),
        spaces,
        (whole, paths, space) => {
          const text = `${space}${JSON.stringify(whole, null, space)}${space}`;
          const found = placed(text, paths);
          expect(found).toHaveLength(paths.length);
          for (const [index, path] of paths.entries()) {
            const place = typeof found === "string" ? null : (found[index] ?? null);
            const expected = at(whole, path);
            if (expected === MISSING || place === null || place === "ambiguous") {
              expect(place).toBe(expected === MISSING ? null : "a place");
              continue;
            }
            expect(JSON.parse(text.slice(place.from, place.to))).toEqual(expected);
            if (typeof expected === "string") expect(valueAt(text, place)).toEqual({ kind: "string", text: expected });
          }
        },
      ),
      RUNS,
    );
  });

  it("are looked for in exactly the texts that are JSON", () => {
    const piece = fc.constantFrom(
      ...'{}[],:"\\ \n\u0000tfn0159.eE+-'.split(""),
      ...'true,false,null,"a","\\u00e9","\\x",01,1.,-,1e5,[],{},//'.split(","),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        expect(typeof placed(text, [["a"]]) !== "string").toBe(isJson(text));
      }),
      { numRuns: 20_000 },
    );
    fc.assert(
      fc.property(value, fc.nat(), fc.constantFrom('"', ",", "}", "]", "0", "\\", " "), (whole, where, sign) => {
        const text = JSON.stringify(whole);
        const broken = `${text.slice(0, where % (text.length + 1))}${sign}${text.slice(where % (text.length + 1))}`;
        expect(typeof placed(broken, []) !== "string").toBe(isJson(broken));
      }),
      RUNS,
    );
  });

  it("are ambiguous exactly below a name that occurs twice", () => {
    const entry = fc.tuple(name, fc.constantFrom("1", '{"b":2}', "[3]"));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), name, fc.boolean(), (entries, wanted, isDeep) => {
        const text = `{${entries.map(([own, written]) => `${JSON.stringify(own)}:${written}`).join(",")}}`;
        const found = placed(text, [isDeep ? [wanted, "b"] : [wanted]]);
        const times = entries.filter(([own]) => own === wanted).length;
        expect(found[0] === "ambiguous").toBe(times > 1);
        if (times === 0) expect(found[0]).toBeNull();
      }),
      RUNS,
    );
  });

  it("is a text whose bytes are those of the body, or none", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = textOfJson(bytes);
        if (text !== null) expect(new TextEncoder().encode(text)).toEqual(bytes);
      }),
      RUNS,
    );
  });
});

/** An element leaves this text, so that its array keeps its length. */
const GONE = "GONE!";

/** The value without what is at the path; the members that are left keep their order. */
function without(whole: unknown, [token, ...rest]: readonly string[]): unknown {
  if (token === undefined || at(whole, [token]) === MISSING) return whole;
  if (Array.isArray(whole)) {
    return whole.with(Number(token), rest.length === 0 ? GONE : without(whole[Number(token)], rest));
  }
  const members = Object.entries(Object(whole));
  return Object.fromEntries(
    rest.length === 0
      ? members.filter(([one]) => one !== token)
      : members.map(([one, inner]) => [one, one === token ? without(inner, rest) : inner]),
  );
}

describe("a JSON text without places", () => {
  it("is what anybody writes who leaves them out, whatever spaces are between them", () => {
    const paths = fc.array(fc.array(name, { minLength: 1, maxLength: 3 }), { maxLength: 5 });
    fc.assert(
      fc.property(value, paths, spaces, (whole, chosen, space) => {
        const text = `${space}${JSON.stringify(whole, null, space)}${space}`;
        const found = placed(text, chosen);
        const left = withoutPlaces(text, typeof found === "string" ? [] : found.filter(isPlace));
        const wanted = JSON.stringify(chosen.reduce<unknown>(without, whole));
        if (space === "") expect(left).toBe(wanted.replaceAll(`"${GONE}"`, "!"));
        else if (!wanted.includes(GONE)) expect(JSON.stringify(JSON.parse(left))).toBe(wanted);
      }),
      RUNS,
    );
  });
});

function isPlace(found: FoundPlace): found is Exclude<FoundPlace, "ambiguous" | null> {
  return found !== null && found !== "ambiguous";
}
