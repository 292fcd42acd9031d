// A shape is JSON for any value: no value of a problem, a word or a request breaks out of its place.

import fc from "fast-check";
import { expect, it } from "vitest";
import { applyShape, type ShapableProblem } from "../../../../src/features/problem-shapes/apply-shape.ts";
import { parseShapeBody } from "../../../../src/features/problem-shapes/parse-shape.ts";
import type { ProblemShape, ShapeWord } from "../../../../src/kernel/config/problem-shape.ts";
import { repeatedValues } from "../../../../src/kernel/request/repeated-values.ts";

const HOSTILE = ['"', "\\", '","x":"', "}", "]}", "{detail}", "{json:/a}", "\u2028", "\ud800", "é", "\0", "__proto__"];
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(...HOSTILE),
  fc.array(fc.constantFrom(...HOSTILE)).map((all) => all.join("")),
);
const word: fc.Arbitrary<ShapeWord> = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
const json = fc.oneof(text, fc.jsonValue());

const problem: fc.Arbitrary<ShapableProblem> = fc.record({
  code: fc.constantFrom("in-flight", "key-reused"),
  status: fc.constantFrom(409, 422),
  title: text,
  detail: text,
  retryable: fc.boolean(),
  fault: fc.constant(null),
  retryAfter: fc.option(fc.nat()),
  instance: fc.option(text),
  text: fc.constant("{}"),
});

/** A body with each kind of placeholder, in members whose names are hostile too. */
const bodyOf = (name: string): Readonly<Record<string, unknown>> => ({
  [name]: "{detail}",
  value: "{json:/a}",
  optional: "{json:/b?}",
  word: "{word}",
  mixed: 'Order "{json:/a}" \\ {word} {title} {retryAfter}',
  list: ["{detail}", "{json:/a?}", { deep: "{code}" }],
  plain: name,
});

async function repeatedOf(a: unknown): Promise<ReadonlyMap<string, string>> {
  const shape = { pointers: ["/a", "/b"] } as const;
  return repeatedValues({ ...SHAPE, ...shape }, { bytes: new TextEncoder().encode(JSON.stringify({ a })) }, null);
}

const SHAPE: ProblemShape = {
  name: "acme",
  contentType: "application/json",
  body: { kind: "literal", value: null },
  words: {},
  isRpc: false,
  pointers: [],
};

it("is JSON with each value in its place, whatever the values are", async () => {
  await fc.assert(
    fc.asyncProperty(problem, word, json, text, async (given, said, sent, name) => {
      fc.pre(!/^(?:value|optional|word|mixed|list|plain)$|[{}]/.test(name) && name !== "__proto__");
      const shape = { ...SHAPE, body: parseShapeBody(bodyOf(name)).node, words: { default: { word: said } } };
      const { body } = applyShape(given, shape, await repeatedOf(sent));
      const read: unknown = JSON.parse(body);
      const value: unknown = JSON.parse(JSON.stringify(sent));
      expect(read).toEqual({
        [name]: given.detail,
        value,
        word: said,
        mixed: expect.stringMatching(/^Order "/),
        list: [given.detail, ...(value === null ? [] : [value]), { deep: given.code }],
        plain: name,
      });
    }),
    { numRuns: 2000 },
  );
});

it("never looks for placeholders in values", () => {
  const shape = {
    ...SHAPE,
    body: parseShapeBody({ text: "{word}: {detail}" }).node,
    words: { default: { word: "{code}" } },
  };
  const given: ShapableProblem = {
    code: "in-flight",
    status: 409,
    title: "t",
    detail: "{status}",
    retryable: true,
    fault: null,
    retryAfter: null,
    instance: null,
    text: "{}",
  };
  expect(JSON.parse(applyShape(given, shape, new Map()).body)).toEqual({ text: "{code}: {status}" });
});

it("repeats values as they were written, up to 4 KiB, and none that could be read in two ways", async () => {
  const shape = { ...SHAPE, pointers: ["/id", "/of/0", "/big", "/twice"] };
  const sent = `{"id": 7.0, "of": [ {"x" : 1e2} ], "big": "${"x".repeat(4096)}", "twice": 1, "twice": 2}`;
  const repeated = await repeatedValues(shape, { bytes: new TextEncoder().encode(sent) }, null);
  expect([...repeated]).toEqual([
    ["/id", "7.0"],
    ["/of/0", '{"x" : 1e2}'],
  ]);
  expect(await repeatedValues(shape, { bytes: new TextEncoder().encode("no JSON") }, null)).toEqual(new Map());
  const large = `{"id": 7, "of": "${"x".repeat(1_000_000)}"}`;
  expect([...(await repeatedValues(shape, { bytes: new TextEncoder().encode(large) }, null))]).toEqual([["/id", "7"]]);
});
