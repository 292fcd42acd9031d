// Over any JSON, written in any way: a member is set, added or removed, and every other byte stays where it was.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { setMembers } from "../../../../src/features/json-rpc/set-members.ts";
import type { SetMember } from "../../../../src/kernel/request-feature.ts";

const RUNS = { numRuns: 1000 };

const space = fc.constantFrom("", " ", "\n\t", "\r\n");
const name = fc.constantFrom("a", "b", "result", 'q"\\', "é", "", "{", "\\", '\\"');
const value = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom("1.0", '"\\u0061\\\\"', "[ ]", "{ }", '"}"', '","', '{"a":{"a":1}}'),
);
/** An object, as somebody writes it. */
const object = fc
  .tuple(fc.uniqueArray(fc.tuple(name, value), { maxLength: 5, selector: ([one]) => one }), space)
  .map(([members, gap]) => ({
    members,
    gap,
    text: (list = members): string =>
      `{${gap}${list.map(([one, json]) => `${JSON.stringify(one)}${gap}:${gap}${json}${gap}`).join(`,${gap}`)}}`,
  }));

function run(text: string, members: readonly SetMember[]): string {
  const steps = setMembers(text, members);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function parsed(text: string): unknown {
  return JSON.parse(text);
}

describe("members set in a JSON text", () => {
  it("replace a value in place: all other bytes are as they were", () => {
    fc.assert(
      fc.property(object, name, value, (own, one, json) => {
        if (!own.members.some(([other]) => other === one)) return;
        const wanted = own.text(own.members.map(([other, old]) => [other, other === one ? json : old]));
        expect(run(own.text(), [{ tokens: [one], json }])).toBe(wanted);
        const outer = (inner: string): string => `{"x":[1,{"a":2}],"in" : ${inner} ,"in2":${own.text()}}`;
        expect(run(outer(own.text()), [{ tokens: ["in", one], json }])).toBe(outer(wanted));
      }),
      RUNS,
    );
  });

  it("add a member, and take one out, in a text of the same bytes before and behind it", () => {
    fc.assert(
      fc.property(object, name, value, (own, one, json) => {
        const text = own.text();
        const before = own.members.filter(([other]) => other !== one);
        if (before.length === own.members.length) {
          const longer = run(text, [{ tokens: [one], json }]);
          expect(parsed(longer)).toEqual(parsed(own.text([...before, [one, json]])));
          const added = `${JSON.stringify(one)}:${json}${before.length === 0 ? "" : ","}`;
          expect(longer).toBe(`{${added}${text.slice(1)}`);
          expect(run(text, [{ tokens: [one], json: null }])).toBe(text);
        } else {
          const shorter = run(text, [{ tokens: [one], json: null }]);
          expect(parsed(shorter)).toEqual(parsed(own.text(before)));
          const start = prefix(text, shorter);
          expect(text.endsWith(shorter.slice(start))).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it("can be several of one object, in any order", () => {
    fc.assert(
      fc.property(
        object,
        fc.uniqueArray(fc.tuple(name, fc.option(value)), { selector: ([one]) => one }),
        (own, sets) => {
          const result = parsed(
            run(
              own.text(),
              sets.map(([one, json]) => ({ tokens: [one], json })),
            ),
          );
          const wanted = new Map(own.members);
          for (const [one, json] of sets) {
            if (json === null) wanted.delete(one);
            else wanted.set(one, json);
          }
          expect(result).toEqual(parsed(own.text([...wanted])));
        },
      ),
      RUNS,
    );
  });

  it.each([
    ["no object is above it", '{"a":[1]}', ["a", "0"]],
    ["nothing is above it", '{"b":{}}', ["a", "x"]],
    ["the object above it is there twice", '{"a":{"x":1},"a":{"x":1}}', ["a", "x"]],
    ["it is there twice", '{"a":{"x":1,"x":2}}', ["a", "x"]],
    ["the text is no JSON", '{"a":{"x":1}', ["a", "x"]],
  ])("leave the text as it is if %s", (_why, text, tokens) => {
    for (const json of ["7", null]) expect(run(text, [{ tokens, json }])).toBe(text);
  });
});

/** How many characters both begin with. */
function prefix(one: string, other: string): number {
  let length = 0;
  while (length < other.length && one[length] === other[length]) length += 1;
  return length;
}
