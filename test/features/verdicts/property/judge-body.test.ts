// Over any JSON: what a body says is what its first matching rule says, as a reader finds it who parses the whole text. A refusal lets a second attempt
// start, so no body is refused in which such a reader finds no value of a refusing rule.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BodyRule } from "../../../../src/kernel/record/verdict.ts";
import { judgeJson } from "../../../../src/features/verdicts/object/judge-body.ts";
import { finish } from "../../../support/slices.ts";

const name = fc.constantFrom("a", "b", "0", "error");
const scalar = fc.constantFrom("a", "1", 1, 1.5, 0, true, false);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const rule: fc.Arbitrary<BodyRule> = fc.record({
  at: fc.array(name, { minLength: 1, maxLength: 3 }).map((path) => path.map((token) => `/${token}`).join("")),
  equals: fc.oneof(fc.constant(null), fc.array(scalar, { minLength: 1, maxLength: 3 })),
  is: fc.constantFrom("refused", "ambiguous", "result"),
  statuses: fc.constant(["2xx"]),
});

function holds(whole: unknown, { at, equals }: BodyRule): boolean {
  let found = whole;
  for (const token of at.slice(1).split("/")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, token)) return false;
    if (Array.isArray(found) && token !== "0") return false;
    found = Reflect.get(found, token);
  }
  return equals === null ? found !== null : equals.some((one) => one === found);
}

describe("what a body says", () => {
  it("is what the first rule says that holds", () => {
    fc.assert(
      fc.property(value, fc.array(rule, { maxLength: 4 }), (whole, rules) => {
        const said = finish(judgeJson(new TextEncoder().encode(JSON.stringify(whole)), rules));
        const first = rules.find((one) => holds(whole, one));
        expect(said).toEqual(
          first === undefined || first.is === "result" ? { is: "result" } : { is: first.is, at: first.at },
        );
      }),
      { numRuns: 3000 },
    );
  });

  it("is nothing, for any bytes that are no JSON", () => {
    const rules = [{ at: "/a", equals: null, is: "refused", statuses: ["2xx"] }] as const;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const said = finish(judgeJson(bytes, rules));
        if (said !== "unreadable") expect(() => JSON.parse(new TextDecoder().decode(bytes)) as unknown).not.toThrow();
      }),
      { numRuns: 2000 },
    );
  });
});
