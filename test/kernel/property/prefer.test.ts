import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { preferencesIn, withoutApplied } from "../../../src/kernel/request/prefer.ts";

interface Preference {
  readonly name: string;
  readonly value: string;
}

const NAME = fc.oneof(
  fc.constantFrom("respond-async", "wait", "Respond-Async", "WAIT", "return", "handling"),
  fc.stringMatching(/^[a-z][a-z0-9.-]{0,8}$/),
);
const TEXT = fc.string({
  unit: fc.constantFrom("a", "1", ",", ";", "=", " ", '"', "\\", "é", "respond-async"),
  maxLength: 6,
});
const VALUE = fc.oneof(fc.constant(""), fc.nat({ max: 100 }).map(String), TEXT);
const SPACE = fc.constantFrom("", " ", "\t ");

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "\\$&")}"`;

/** A preference as the grammar allows to write it (RFC 7240, section 2). */
const WRITTEN = fc
  .tuple(NAME, VALUE, SPACE, fc.boolean(), fc.array(fc.tuple(NAME, TEXT), { maxLength: 2 }))
  .map(([name, value, space, isQuoted, parameters]) => {
    const word = isQuoted || !/^[a-z0-9]+$/i.test(value) ? quoted(value) : value;
    const text = value === "" && !isQuoted ? name : `${name}${space}=${space}${word}`;
    const rest = parameters.map(([parameter, content]) => `${space};${space}${parameter}=${quoted(content)}`).join("");
    return { preference: { name, value }, text: `${space}${text}${rest}${space}` };
  });

/** What a list of preferences means: the first of a name counts. */
function expected(preferences: readonly Preference[]) {
  const first = (name: string): string | null =>
    preferences.find((one) => one.name.toLowerCase() === name)?.value ?? null;
  const wait = first("wait") ?? "";
  return { respondAsync: first("respond-async") === "", waitMs: /^\d+$/.test(wait) ? Number(wait) * 1000 : null };
}

describe("preferences", () => {
  it("are read from every list that the grammar allows", () => {
    fc.assert(
      fc.property(fc.array(WRITTEN, { maxLength: 5 }), fc.constantFrom(",", ", ", ",, ,"), (written, comma) => {
        const value = written.map(({ text }) => text).join(comma);
        expect(preferencesIn(value)).toEqual(expected(written.map(({ preference }) => preference)));
      }),
      { numRuns: 2000 },
    );
  });

  it("that the gateway does not apply are passed on as they were written, in their order", () => {
    fc.assert(
      fc.property(fc.array(WRITTEN, { maxLength: 5 }), (written) => {
        const others = written.filter(({ preference }) => !/^(?:respond-async|wait)$/i.test(preference.name));
        const kept = others.length === 0 ? null : others.map(({ text }) => text.trim()).join(", ");
        expect(withoutApplied(written.map(({ text }) => text).join(","))).toBe(kept);
      }),
      { numRuns: 2000 },
    );
  });

  it("are none in texts that have no such grammar, whatever these are", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', "\\", ",", ";", "=", " ", "wait", "1"), maxLength: 12 }),
        (text) => {
          const { respondAsync, waitMs } = preferencesIn(text);
          expect(respondAsync).toBe(false);
          expect(waitMs === null || waitMs % 1000 === 0).toBe(true);
          // What is left of a text stays as it is when it is read again.
          const rest = withoutApplied(text);
          if (rest !== null) expect(withoutApplied(rest)).toBe(rest);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
