// Spellings that some server may read as the operator path, as attackers make them: other case, double escapes, slashes of
// all kinds, dot segments, parameters, characters that file systems drop.

import fc from "fast-check";

/** Changes that a lenient parser ignores. */
const NOTHING = [
  "/",
  "//",
  "/./",
  "/%2e/",
  "\\",
  "/x/../",
  "/x/..\\",
  "/%2e%2E/",
  "/x/..;a=b/",
  "/x%2f../",
  "%5c",
  "%2f",
  "%255C",
];
const ENDS = ["", ".", "..", ";v=1", ";", "%3b", "%20", "%09", "%00", "%00x", "%C2%AD", "%e2%80%8b", "%3Fx", "%23x"];
const LETTERS = "_onceway".split("");
const WIDE = new Map(LETTERS.map((letter) => [letter, String.fromCodePoint(letter.charCodeAt(0) + 0xfee0)]));

const letterForm = (letter: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(letter) },
    { weight: 2, arbitrary: fc.constant(letter.toUpperCase()) },
    { weight: 2, arbitrary: fc.nat({ max: 3 }).map((depth) => escaped(letter, depth)) },
    { weight: 1, arbitrary: fc.constant(encodeURIComponent(WIDE.get(letter) ?? letter)) },
    { weight: 1, arbitrary: fc.constant(`%u00${hex(letter)}`) },
    { weight: 1, arbitrary: fc.constant(overlong(letter)) },
  );

/** A request target in a disguised form, never the plain one. */
export const operatorPathForm: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(fc.constantFrom(...NOTHING), { maxLength: 3 }),
    fc.tuple(...LETTERS.map(letterForm)),
    fc.constantFrom(...ENDS),
    fc.constantFrom("/", "//", "\\", "%2f", "/./", ""),
    fc.constantFrom("", "health", "records?limit=1", "console/records", "drain"),
  )
  .map(([before, letters, end, slash, rest]) => {
    const begin = before.join("");
    const head = begin.startsWith("/") ? begin : `/${begin}`;
    return `${head.endsWith("x") ? `${head}/` : head}${letters.join("")}${end}${slash}${slash === "" ? "" : rest}`;
  })
  .filter((form) => !/^\/_onceway(?:$|[/?])/.test(form));

function hex(letter: string): string {
  return letter.charCodeAt(0).toString(16).padStart(2, "0");
}

function escaped(letter: string, depth: number): string {
  return `%${"25".repeat(depth)}${hex(letter)}`;
}

/** An overlong UTF-8 encoding, two bytes instead of one: `%c1%af` for `o`. */
function overlong(letter: string): string {
  const code = letter.charCodeAt(0);
  return `%${(0xc0 | (code >> 6)).toString(16)}%${(0x80 | (code & 0x3f)).toString(16)}`;
}
