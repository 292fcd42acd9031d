import { describe, expect, it } from "vitest";
import { findMutants, linesOf, mutate } from "../../mutants/find.ts";

/** Each mutant's kind, and the source with it. */
function mutants(source: string): readonly (readonly [kind: string, source: string])[] {
  return findMutants("a.ts", source).map((mutant) => [mutant.kind, mutate(source, mutant)]);
}

describe("the mutants of a source", () => {
  it.each([
    ["a < b;", "comparison", "a <= b;"],
    ["a !== b;", "comparison", "a === b;"],
    ["a && b || c;", "logic", "(a || b) || c;"],
    ["a + b;", "arithmetic", "a - b;"],
    ["a ?? b;", "fallback", "(b);"],
    ["x = a ? b : c;", "condition", "x = !(a) ? b : c;"],
    ["for (;;) { if (a) { b(); break; } }", "early-return", "for (;;) {  }"],
    ["await a.b();", "statement", ";"],
    ["a = b;", "statement", ";"],
    ["f(7);", "number", "f(8);"],
    ["f(0);", "number", "f((-1));"],
    ["f(true);", "boolean", "f(false);"],
    ['f("one", "two");', "string", 'f("two", "two");'],
    [
      "sql`SELECT a FROM b WHERE c <= ${d} AND e IS NULL`;",
      "sql",
      "sql`SELECT a FROM b WHERE c < ${d} AND e IS NULL`;",
    ],
    [
      "sql`SELECT a FROM b WHERE c <= ${d} AND e IS NULL`;",
      "sql",
      "sql`SELECT a FROM b WHERE c <= ${d} OR e IS NULL`;",
    ],
    ['sql("DELETE FROM a WHERE b > 1");', "sql", 'sql("DELETE FROM a WHERE b >= 1");'],
  ])("of %s have one %s: %s", (source, kind, mutated) => {
    expect(mutants(source)).toContainEqual([kind, mutated]);
  });

  it.each([
    'import a from "one"; export * from "two";',
    'type A = "one" | 1 | true;',
    "class A extends B { constructor() { super(); } }",
    '"use strict";',
    "if (a) {} else {}",
    "const a = `one < two`;",
  ])("are none of what is no behaviour: %s", (source) => {
    expect(mutants(source).filter(([kind]) => kind !== "condition")).toEqual([]);
  });

  it("are found behind a cast, but not in its type", () => {
    expect(mutants("a = 1 as 2;").map(([, mutated]) => mutated)).toEqual([";", "a = 2 as 2;", "a = 0 as 2;"]);
  });

  it("have names of their own, and the lines that they change", () => {
    const source = "f(\n  a <\n    b,\n);\nf(1);\n";
    const found = findMutants("src/a.ts", source);
    expect(found.map(({ id }) => id)).toEqual([
      "src/a.ts:1:1:statement",
      "src/a.ts:2:5:comparison",
      "src/a.ts:5:1:statement",
      "src/a.ts:5:3:number:2",
      "src/a.ts:5:3:number:0",
    ]);
    expect(found.map((mutant) => linesOf(source, mutant))).toEqual([
      ["f(\n  a <\n    b,\n);", ";"],
      ["a <", "a <="],
      ["f(1);", ";"],
      ["f(1);", "f(2);"],
      ["f(1);", "f(0);"],
    ]);
  });
});
