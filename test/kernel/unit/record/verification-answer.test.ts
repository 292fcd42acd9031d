import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type VerificationFinding,
  verificationFindingOf,
  hasSecondChance,
  isPlainInPath,
} from "../../../../src/kernel/record/verification-answer.ts";

describe("an answer to the question whether an attempt took effect", () => {
  it.each<[status: number | null, claim: VerificationFinding, another: VerificationFinding]>([
    [200, "done", "done"],
    [299, "done", "done"],
    [404, "absent", "open"],
    [401, "rejected", "rejected"],
    [403, "rejected", "rejected"],
    [199, "open", "open"],
    [300, "open", "open"],
    [410, "open", "open"],
    [429, "open", "open"],
    [500, "open", "open"],
    [600, "open", "open"],
    [null, "open", "open"],
  ])("%s means %s for the attempt's own client, %s for another", (status, claim, another) => {
    expect(verificationFindingOf(status, "claim")).toBe(claim);
    expect(verificationFindingOf(status, "another")).toBe(another);
  });

  it("never lets another caller's answer mean that nothing happened", () => {
    for (let status = 0; status <= 999; status += 1)
      expect(verificationFindingOf(status, "another")).not.toBe("absent");
  });

  it("lets another caller ask only if the claim's credential could not", () => {
    expect((["done", "absent", "rejected", "open", null] as const).map(hasSecondChance)).toEqual([
      false,
      false,
      true,
      false,
      true,
    ]);
  });
});

it.each([".", "..", "../../x", "/", "a/b", "a\\b", "a?b", "a#b", "a;v=1", "%2e%2e", "100%"])(
  "%s has a meaning in a path, so the origin is not asked about it there",
  (key) => expect(isPlainInPath(key)).toBe(false),
);

it.each(["8e03978e-40d5-43dd-bc93-6894a57f9324", "order:1", "a.b", "...", "key==", "a+b", "~!$&'()*,@|<>^`{}[]\""])(
  "%s has no meaning in a path",
  (key) => expect(isPlainInPath(key)).toBe(true),
);

it("a key without a meaning in a path is one segment of it, however often it is decoded", () => {
  fc.assert(
    fc.property(
      fc.string({
        minLength: 1,
        unit: fc.constantFrom("a", "b", ".", "/", "\\", "?", "#", ";", "%", "2", "e", "F", "5", "c", "C"),
      }),
      (key) => {
        fc.pre(isPlainInPath(key));
        const decoded = decodeURIComponent(decodeURIComponent(encodeURIComponent(key)));
        const { pathname, search, hash } = new URL(`https://origin.example/by-key/${decoded}/end`);
        expect([pathname, search, hash]).toEqual([`/by-key/${encodeURI(key)}/end`, "", ""]);
      },
    ),
    { numRuns: 2000 },
  );
});
