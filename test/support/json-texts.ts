// JSON texts for property tests: many spellings of one value, values that are nearly equal, and invalid texts.

import fc from "fast-check";

const space = fc.constantFrom("", "", "", " ", "\n\t", "\r\n");

const digits = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"), minLength: 1, maxLength });

const exponent = fc.oneof(
  fc.integer({ min: -3, max: 22 }),
  fc.integer({ min: -345, max: -295 }),
  fc.integer({ min: 285, max: 330 }),
  fc.constantFrom(0, 999_999_999, -999_999_999),
);

/** Biased to the limits of a double: seventeen digits, subnormals, the largest. */
export const jsonNumber: fc.Arbitrary<string> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
  fc.bigInt({ min: 2n ** 53n - 4n, max: 2n ** 53n + 4n }).map(String),
  fc
    .tuple(
      fc.constantFrom("", "-"),
      fc.constantFrom("0", "1", "9", "12"),
      digits(20),
      fc.option(digits(20)),
      exponent,
      fc.constantFrom("e", "E", "e+", ""),
    )
    .map(([sign, first, more, fraction, power, mark]) => {
      const integer = first === "0" ? "0" : first + more;
      const text = sign + integer + (fraction === null ? "" : `.${fraction}`);
      if (mark === "") return text;
      return text + (power < 0 ? `e${power}` : mark + String(power));
    }),
  fc.constantFrom(
    "0",
    "-0",
    "0.0",
    "-0e5",
    "1e-400",
    "5e-324",
    "4e-324",
    "1.2345678e-320",
    "1.2346e-320",
    "1.7976931348623157e308",
    "1e21",
    "1e-7",
    "0.000001",
    "123456789012345680000",
  ),
);

const character = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "A",
    "é",
    "€",
    "\ue000",
    "\uffff",
    "\u{10000}",
    "\u{10ffff}",
    "\ud7ff",
    '"',
    "\\",
    "/",
    "\n",
    "\u0000",
    "\u001f",
    "\u007f",
  ),
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
);

const escapedUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** One character in one of its spellings within a string. */
const written = fc.tuple(character, fc.constantFrom("plain", "escaped", "ESCAPED")).map(([one, way]) => {
  if (way === "plain") return JSON.stringify(one).slice(1, -1);
  const units = one.split("").map(escapedUnit).join("");
  return way === "escaped" ? units : units.replaceAll(/[a-f]/g, (digit) => digit.toUpperCase());
});

export const jsonString: fc.Arbitrary<string> = fc.oneof(
  fc.array(written, { maxLength: 6 }).map((characters) => `"${characters.join("")}"`),
  fc.constantFrom(
    '"a"',
    String.raw`"\u0061"`,
    '""',
    String.raw`"\/"`,
    String.raw`"\ud800"`,
    String.raw`"\ud800\u0061"`,
    String.raw`"\udc00\ud800"`,
  ),
);

const joined = (parts: readonly (readonly [string, string, string])[]): string =>
  parts.map(([before, one, after]) => before + one + after).join(",");

/** A JSON text, at times with repeated members or unpaired surrogates. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    jsonNumber,
    jsonString,
    fc.constantFrom("true", "false", "null", "[]", "{}", "[ ]", "{\n}"),
    fc.array(fc.tuple(space, tie("value"), space), { maxLength: 5 }).map((parts) => `[${joined(parts)}]`),
    fc
      .array(fc.tuple(space, fc.tuple(jsonString, space, space, tie("value")), space), { maxLength: 6 })
      .map(
        (parts) =>
          `{${joined(parts.map(([before, [name, one, other, value], after]) => [before, `${name}${one}:${other}${value}`, after] as const))}}`,
      ),
  ),
})).value;

/** A text with one piece removed, doubled or replaced. Most of them are invalid. */
export const damagedText: fc.Arbitrary<string> = fc
  .tuple(
    jsonText,
    fc.nat(),
    fc.nat(3),
    fc.constantFrom(
      "",
      "",
      ",",
      ":",
      "0",
      ".",
      "e",
      "-",
      "+",
      '"',
      "\\",
      "{",
      "}",
      "[",
      "]",
      "\u0000",
      "\ufeff",
      "t",
      " ",
    ),
  )
  .map(([text, at, length, put]) => {
    const from = at % (text.length + 1);
    return text.slice(0, from) + put + text.slice(from + length);
  });
