// The JSON texts that are most expensive to compare, each of 1 MiB: they bound the cost per byte and per slice.

const MEBIBYTE = 1 << 20;

/** An array that repeats one element. */
const filled = (element: string): string =>
  `[${Array.from({ length: Math.floor((MEBIBYTE - 1) / (element.length + 1)) }, () => element).join(",")}]`;

/** A string that repeats one character. */
const text = (written: string): string =>
  `"${written.repeat(Math.floor((MEBIBYTE - 2) / Buffer.byteLength(written)))}"`;

/** An object with as many members as fit, in a scrambled order. */
function members(before: string, nameOf: (index: number) => string): string {
  const parts: string[] = [];
  let size = before.length + 2;
  // Prime steps, so that each index comes once.
  for (let index = 7919; ; index = (index + 7919 * 13) % 1_000_003) {
    const member = `"${nameOf(index)}":1`;
    size += member.length + 1;
    if (size > MEBIBYTE) return `${before}{${parts.join(",")}}`;
    parts.push(member);
  }
}

const nested = (depth: number, innermost: string): string =>
  '{"b":0,"a":'.repeat(depth) + innermost + "}".repeat(depth);

/** The texts, by what makes them expensive. */
export const WORST_JSON: Readonly<Record<string, string>> = {
  "numbers of one digit": filled("1"),
  "numbers of 17 digits": filled("0.30000000000000004"),
  "subnormal numbers": filled("5e-324"),
  "numbers that grow": filled("1e20"),
  "one long number": "1".repeat(MEBIBYTE),
  "empty strings": filled('""'),
  "one string": text("a"),
  "one string of escapes": text(String.raw`\n`),
  "one string of escaped surrogates": text(String.raw`\ud83c\udf88`),
  "one string of long characters": text("é€🎈"),
  "empty objects": filled("{}"),
  "objects out of order": filled('{"b":1,"a":2}'),
  "one object, names in no order": members("", (index) => index.toString(36)),
  "one object, names alike but for their ends": members("", (index) => "a".repeat(30) + index),
  "one object, names with escapes": members("", (index) => String.raw`\u0041${index.toString(36)}`),
  "one object, deep in others out of order":
    members('{"b":0,"a":'.repeat(63), (index) => index.toString(36))
      .slice(0, MEBIBYTE - 64)
      .replace(/,[^,]*$/, "}") + "}".repeat(63),
  "one string, deep in objects out of order": nested(63, text("a").slice(0, MEBIBYTE - 63 * 12 - 8) + '"'),
  "brackets only": "[".repeat(MEBIBYTE),
  "white space": " ".repeat(MEBIBYTE - 1) + "1",
};
