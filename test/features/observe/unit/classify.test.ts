// What a request that passed would have been, line by line of the table in src/features/observe/README.md.

import { describe, expect, it } from "vitest";
import {
  classifySighting,
  CLOCKS_APART_MS,
  type KnownKey,
  MOST_EFFECTS,
} from "../../../../src/features/observe/classify.ts";
import type { RequestSighting } from "../../../../src/features/observe/sighting.ts";

const SIGHTING: RequestSighting = {
  id: "a".repeat(64),
  isKeyless: false,
  route: "/v1/payments",
  fingerprint: "f",
  beganAt: 10_000,
  endedAt: 11_000,
  end: "result",
  isSuccess: true,
  body: "b",
  effect: null,
  marks: [],
};

const KNOWN: KnownKey = {
  fingerprint: "f",
  beganAt: 1000,
  endedAt: 2000,
  end: "result",
  body: "b",
  hasSuccess: true,
  effects: [],
};

const classOf = (
  sighting: Partial<RequestSighting>,
  known: Partial<KnownKey> | null,
  unknown: "hold" | "retry" = "hold",
) =>
  classifySighting(
    { ...SIGHTING, ...sighting },
    { known: known === null ? null : { ...KNOWN, ...known }, elsewhere: null, unknown },
  );

describe("the class of a sighting", () => {
  it.each<
    readonly [what: string, sighting: Partial<RequestSighting>, known: Partial<KnownKey> | null, expected: string]
  >([
    ["a new key", {}, null, "first"],
    ["another request", { fingerprint: "g" }, {}, "key-reused"],
    ["another request while the first is at work", { fingerprint: "g", beganAt: 1500 }, {}, "key-reused"],
    ["a request that is not compared", { fingerprint: null }, {}, "replay"],
    ["one that began before the first ended", { beganAt: 1500 }, {}, "overlap"],
    ["one that began within the difference of clocks", { beganAt: 2000 + CLOCKS_APART_MS - 1 }, {}, "overlap"],
    ["one that began just after it", { beganAt: 2000 + CLOCKS_APART_MS }, {}, "replay"],
    ["after a result", {}, {}, "replay"],
    ["after a refusal", {}, { end: "refused" }, "retry"],
    ["after an ambiguous end", {}, { end: "ambiguous" }, "unknown"],
    ["after a client that left", {}, { end: "left" }, "unknown"],
    ["a sighting that came late", { beganAt: 0, endedAt: 100, end: "refused" }, {}, "retry"],
    ["an equal request without a key", { isKeyless: true }, {}, "content-repeat"],
  ])("%s", (_what, sighting, known, expected) => {
    expect(classOf(sighting, known).class).toBe(expected);
  });

  it("is scope-splits for the same key and request of another caller", () => {
    const found = classifySighting({ ...SIGHTING, body: "c" }, { known: null, elsewhere: KNOWN, unknown: "hold" });
    expect(found).toMatchObject({ class: "scope-splits", evidence: null });
  });
});

describe("the evidence of effects", () => {
  it.each<
    readonly [
      what: string,
      sighting: Partial<RequestSighting>,
      known: Partial<KnownKey> | null,
      expected: string | null,
    ]
  >([
    ["two values", { effect: "2" }, { effects: ["1"] }, "doubled"],
    ["one value", { effect: "1", body: "c" }, { effects: ["1"] }, "deduplicated"],
    ["no value, two bodies", { body: "c" }, {}, "likely"],
    ["no value, one body", {}, {}, "same-answer"],
    ["a value of one alone, two bodies", { effect: "2", body: "c" }, {}, "likely"],
    ["bodies that are not compared", { body: null }, {}, null],
    ["no success", { isSuccess: false, effect: "2" }, { effects: ["1"] }, null],
    ["no success before", { effect: "2" }, { hasSuccess: false }, null],
    ["another request", { fingerprint: "g", effect: "2" }, { effects: ["1"] }, null],
    ["a new key", { effect: "2" }, null, null],
  ])("%s", (_what, sighting, known, expected) => {
    expect(classOf(sighting, known).evidence).toBe(expected);
  });

  it("compares with the effects of all before, not only with the last", () => {
    const second = classOf({ effect: "2" }, { effects: ["1"] });
    expect(second.evidence).toBe("doubled");
    const known = second.known;
    for (const [effect, expected] of [
      ["1", "deduplicated"],
      ["2", "deduplicated"],
      ["3", "doubled"],
    ] as const) {
      expect(classOf({ effect }, known).evidence).toBe(expected);
    }
  });
});

describe("what is known of a key afterwards", () => {
  it("is the first result", () => {
    expect(classOf({ body: "c", effect: "2" }, { effects: ["1"] }).known).toEqual({ ...KNOWN, effects: ["1", "2"] });
  });

  it("is the one that ran after a refusal", () => {
    const { known } = classOf({}, { end: "refused", hasSuccess: false, body: null });
    expect(known).toMatchObject({ beganAt: 10_000, end: "result", body: "b", hasSuccess: true });
  });

  it("stays in doubt, unless the route retries", () => {
    const doubt = { end: "ambiguous", hasSuccess: false, body: null } as const;
    expect(classOf({}, doubt).known.end).toBe("ambiguous");
    expect(classOf({}, doubt, "retry").known.end).toBe("result");
  });

  it("has a bounded number of effects", () => {
    const effects = Array.from({ length: MOST_EFFECTS }, (_, at) => String(at));
    expect(classOf({ effect: "new" }, { effects }).known.effects).toHaveLength(MOST_EFFECTS);
  });
});
