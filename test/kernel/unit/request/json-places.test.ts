// What the property of places does not draw: limits, other cases, numbers that readers round.

import { describe, expect, it } from "vitest";
import { findPlaces, type OtherCase, textOfJson, valueAt } from "../../../../src/kernel/request/json-places.ts";
import { finish } from "../../../support/slices.ts";

function found(text: string, path: readonly string[], otherCase?: OtherCase): unknown {
  const places = finish(findPlaces(text, [path], otherCase));
  const place = typeof places === "string" ? places : (places[0] ?? null);
  return typeof place === "string" || place === null ? place : valueAt(text, place);
}

describe("a place in a JSON text", () => {
  it.each(["Method", "METHOD", "metHod"])(
    "is another's name in another case, where that is not asked for: %s",
    (name) => {
      expect(found(`{"${name}":1,"method":2}`, ["method"])).toEqual({ kind: "number", text: "2" });
      expect(found(`{"${name}":1}`, ["method"])).toBeNull();
    },
  );

  it.each([
    ["Method", "method"],
    ["param\u017f", "params"],
    ["to\u212aen", "token"],
  ])("is ambiguous where a reader may take %s for %s", (name, wanted) => {
    expect(found(`{"${name}":1}`, [wanted], "ambiguous")).toBe("ambiguous");
    expect(found(`{"${wanted}":1,"${name}":2}`, [wanted], "ambiguous")).toBe("ambiguous");
    expect(found(`{"${wanted}":1,"other":2}`, [wanted], "ambiguous")).toEqual({ kind: "number", text: "1" });
  });

  it("is ambiguous if a name on its way is there twice, also if one of them leads nowhere", () => {
    expect(found('{"a":{"b":1},"a":7}', ["a", "b"])).toBe("ambiguous");
    expect(found('{"a":7,"\\u0061":{"b":1}}', ["a", "b"])).toBe("ambiguous");
  });

  it("may be the whole text, an element, a container", () => {
    expect(found(" 1.50 ", [])).toEqual({ kind: "number", text: "1.5" });
    expect(found('{"errors":[{"code":"A"},{"code":"B"}]}', ["errors", "1", "code"])).toEqual({
      kind: "string",
      text: "B",
    });
    expect(found('{"errors":[]}', ["errors"])).toEqual({ kind: "container" });
    expect(found('{"n":9007199254740993}', ["n"])).toEqual({ kind: "imprecise" });
  });

  it("is looked for in a MiB, in slices, and in no text that is deeper than 1,000 levels", () => {
    const large = `{"fill":"${"x".repeat(1 << 20)}","many":[${"1,".repeat(200_000)}1],"a":"b"}`;
    const work = findPlaces(large, [["a"]]);
    let pauses = 0;
    while (work.next().done !== true) pauses += 1;
    expect(pauses).toBeGreaterThan(5);
    expect(found(large, ["a"])).toEqual({ kind: "string", text: "b" });
    expect(found(`${"[".repeat(1000)}${"]".repeat(1000)}`, ["a"])).toBeNull();
    expect(found(`${"[".repeat(1001)}${"]".repeat(1001)}`, ["a"])).toBe("too deep");
  });

  it("costs no look at each pointer for each element of an array: a batch that is refused had cost 1.5 s", () => {
    let looks = 0;
    const counted: ProxyHandler<string[]> = {
      get: (tokens, name, receiver) => {
        looks += 1;
        return Reflect.get(tokens, name, receiver);
      },
    };
    const pointers = Array.from({ length: 500 }, (_, index) => new Proxy([String(index), "id"], counted));
    const places = finish(findPlaces(`[${'{"id":1},'.repeat(20_000)}0]`, pointers));
    expect(places).toHaveLength(500);
    expect(places.slice(0, 2)).toMatchObject([
      { kind: "number", from: 7 },
      { kind: "number", from: 16 },
    ]);
    expect(looks).toBeLessThan(20_000);
  });

  it("is in no text that is not UTF-8, nor in one behind a byte order mark", () => {
    expect(textOfJson(new Uint8Array([0x22, 0xff, 0x22]))).toBeNull();
    const text = textOfJson(new Uint8Array([0xef, 0xbb, 0xbf, 0x31]));
    expect(text === null ? null : found(text, [])).toBe("not JSON");
  });
});
