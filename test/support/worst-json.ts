// The JSON texts that are most expensive to compare, each as large as is read: they bound the cost per byte and per slice.

import { MAX_JSON_BYTES, MAX_JSON_DEPTH } from "../../src/kernel/request/json.ts";

/** An array that repeats one element. */
const filled = (element: string): string =>
  `[${Array.from({ length: Math.floor((MAX_JSON_BYTES - 1) / (element.length + 1)) }, () => element).join(",")}]`;

/** A string that repeats one character. */
const text = (written: string): string =>
  `"${written.repeat(Math.floor((MAX_JSON_BYTES - 2) / Buffer.byteLength(written)))}"`;

/** An object with as many members as fit, in a scrambled order. */
function members(before: string, nameOf: (index: number) => string): string {
  const parts: string[] = [];
  let size = before.length + 2;
  // Prime steps, so that each index comes once.
  for (let index = 7919; ; index = (index + 7919 * 13) % 1_000_003) {
    const member = `"${nameOf(index)}":1`;
    size += member.length + 1;
    if (size > MAX_JSON_BYTES) return `${before}{${parts.join(",")}}`;
    parts.push(member);
  }
}

const nested = (depth: number, innermost: string): string =>
  '{"b":0,"a":'.repeat(depth) + innermost + "}".repeat(depth);

/** How many objects are around the innermost one. */
const AROUND = MAX_JSON_DEPTH - 1;

/** The texts, by what makes them expensive. */
export const WORST_JSON: Readonly<Record<string, string>> = {
  "numbers of one digit": filled("1"),
  "numbers of 17 digits": filled("0.30000000000000004"),
  "subnormal numbers": filled("5e-324"),
  "numbers that grow": filled("1e20"),
  "one long number": "1".repeat(MAX_JSON_BYTES),
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
    members('{"b":0,"a":'.repeat(AROUND), (index) => index.toString(36))
      .slice(0, MAX_JSON_BYTES - AROUND - 1)
      .replace(/,[^,]*$/, "}") + "}".repeat(AROUND),
  "one string, deep in objects out of order": nested(
    AROUND,
    text("a").slice(0, MAX_JSON_BYTES - AROUND * 12 - 8) + '"',
  ),
  "brackets only": "[".repeat(MAX_JSON_BYTES),
  "white space": " ".repeat(MAX_JSON_BYTES - 1) + "1",
};
