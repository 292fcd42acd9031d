import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  findingOfStatus,
  hasSecondChance,
  isAged,
  isPlainInPath,
  VERIFICATION_FINDINGS,
  type VerificationFinding,
} from "../../../../src/kernel/record/verification-answer.ts";

describe("a status that says whether an attempt took effect", () => {
  it.each<[status: number | null, claim: VerificationFinding, another: VerificationFinding]>([
    [404, "not-happened", "foreign"],
    [401, "rejected", "rejected"],
    [403, "rejected", "rejected"],
    [199, "unanswered", "unanswered"],
    [300, "unanswered", "unanswered"],
    [410, "unanswered", "unanswered"],
    [429, "unanswered", "unanswered"],
    [500, "unanswered", "unanswered"],
    [600, "unanswered", "unanswered"],
    [null, "unanswered", "unanswered"],
  ])("%s means %s for the attempt's own client, %s for another", (status, claim, another) => {
    expect(findingOfStatus(status, "claim", null, "not_happened")).toBe(claim);
    expect(findingOfStatus(status, "another", null, "not_happened")).toBe(another);
  });

  it("says nothing by a 404 unless the route says that it does, and never from a cache", () => {
    expect(findingOfStatus(404, "claim", null, "open")).toBe("missing");
    expect(findingOfStatus(404, "claim", "7", "not_happened")).toBe("stale");
    expect(findingOfStatus(404, "claim", "0", "not_happened")).toBe("not-happened");
  });

  it("never lets another caller's answer mean that nothing happened", () => {
    for (let status = 0; status <= 999; status += 1)
      for (const says of ["open", "not_happened"] as const)
        expect(findingOfStatus(status, "another", null, says)).not.toBe("not-happened");
  });

  it.each([
    [null, false],
    ["0", false],
    [" 00 ", false],
    ["1", true],
    ["0, 1", true],
    ["-1", true],
    ["", true],
    ["soon", true],
  ])("Age: %s is an answer of a cache: %s", (age, isCached) => expect(isAged(age)).toBe(isCached));

  it("lets another caller ask only if the claim's credential could not", () => {
    expect(VERIFICATION_FINDINGS.filter(hasSecondChance)).toEqual(["rejected"]);
    expect(hasSecondChance(null)).toBe(true);
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
