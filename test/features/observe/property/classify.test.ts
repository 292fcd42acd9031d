// Whatever comes after whatever: each sighting has exactly one class, and only successes say something of effects.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifySighting, CLOCKS_APART_MS, type KnownKey } from "../../../../src/features/observe/classify.ts";
import type { RequestSighting } from "../../../../src/features/observe/sighting.ts";
import { EFFECT_EVIDENCE, type SightingClass } from "../../../../src/kernel/record/sighting.ts";

// Few values, so that times meet at their boundaries and texts are equal.
const time = fc.constantFrom(0, 1, 249, 250, 251, 500, 1000, 5000);
const text = fc.constantFrom(null, "a", "b");
const end = fc.constantFrom("result", "refused", "ambiguous", "left");

const sightings = fc
  .record({
    id: fc.constant("0".repeat(64)),
    isKeyless: fc.boolean(),
    route: fc.constant("/a"),
    fingerprint: text,
    beganAt: time,
    lasted: time,
    end,
    isSuccess: fc.boolean(),
    body: text,
    effect: text,
    marks: fc.constant([]),
  })
  .map(({ lasted, ...one }): RequestSighting => Object.assign(one, { endedAt: one.beganAt + lasted }));

const knownKeys = fc
  .record({
    fingerprint: text,
    beganAt: time,
    lasted: time,
    end,
    body: text,
    hasSuccess: fc.boolean(),
    effects: fc.uniqueArray(fc.constantFrom("a", "b")),
  })
  .map(({ lasted, ...one }): KnownKey => Object.assign(one, { endedAt: one.beganAt + lasted }));

const besides = fc.record({
  known: fc.option(knownKeys),
  elsewhere: fc.option(knownKeys),
  unknown: fc.constantFrom("hold", "retry", "verify"),
});

/** The table, each line by itself. */
function linesThatApply(
  one: RequestSighting,
  known: KnownKey | null,
  elsewhere: KnownKey | null,
): readonly SightingClass[] {
  const isOther =
    known !== null && one.fingerprint !== null && known.fingerprint !== null && one.fingerprint !== known.fingerprint;
  const isRepeat = known !== null && !isOther && !one.isKeyless;
  const isApart =
    known !== null &&
    (one.beganAt >= known.endedAt + CLOCKS_APART_MS || known.beganAt >= one.endedAt + CLOCKS_APART_MS);
  const first = known !== null && known.beganAt <= one.beganAt ? known.end : one.end;
  const lines: readonly (readonly [SightingClass, boolean])[] = [
    ["first", known === null && elsewhere === null],
    ["scope-splits", known === null && elsewhere !== null],
    ["key-reused", isOther],
    ["content-repeat", known !== null && !isOther && one.isKeyless],
    ["overlap", isRepeat && !isApart],
    ["replay", isRepeat && isApart && first === "result"],
    ["retry", isRepeat && isApart && first === "refused"],
    ["unknown", isRepeat && isApart && (first === "ambiguous" || first === "left")],
  ];
  return lines.filter(([, applies]) => applies).map(([name]) => name);
}

describe("the classes of sightings", () => {
  it("partition them", () => {
    fc.assert(
      fc.property(sightings, besides, (one, beside) => {
        expect(linesThatApply(one, beside.known, beside.elsewhere)).toEqual([classifySighting(one, beside).class]);
      }),
      { numRuns: 5000 },
    );
  });

  it("say something of effects only of two successes of one request", () => {
    fc.assert(
      fc.property(sightings, besides, (one, beside) => {
        const { class: seen, evidence } = classifySighting(one, beside);
        if (evidence === null) return;
        expect(EFFECT_EVIDENCE).toContain(evidence);
        expect(one.isSuccess && (beside.known ?? beside.elsewhere)?.hasSuccess).toBe(true);
        expect(seen).not.toBe("key-reused");
        if (evidence === "doubled" || evidence === "deduplicated") expect(one.effect).not.toBeNull();
      }),
      { numRuns: 5000 },
    );
  });

  it("forget no effect, and no success", () => {
    fc.assert(
      fc.property(sightings, besides, (one, beside) => {
        const { class: seen, known } = classifySighting(one, beside);
        if (seen === "key-reused" || beside.known === null) return;
        expect(known.effects).toEqual(expect.arrayContaining([...beside.known.effects]));
        expect(known.hasSuccess).toBe(beside.known.hasSuccess || one.isSuccess);
      }),
    );
  });
});
