// Which objects of a key a Worker asks, and in which order.

import { describe, expect, it } from "vitest";
import { MAX_STEPS, nextOf, objectFinder } from "../../../../src/features/previous-shards/walk.ts";
import { type Layout, layoutTitle } from "../../../../src/kernel/config/layout.ts";
import type { AskLayout, BeginsElsewhere, FindObject, PreviousLayouts } from "../../../../src/kernel/elsewhere.ts";

const at = (shards: Layout["shards"]): Layout => ({ shards, jurisdiction: null, locationHint: null });
const [L64, L128, L256] = [at(64), at(128), at(256)];
const KEY = "0123456789abcdef0123456789abcdef";
const OTHER = "0123456889abcdef0123456789abcdef";

const closedFor = (next: Layout, isEmpty = false): BeginsElsewhere => ({ kind: "closed", next, isEmpty });

/** Objects that answer so by their layouts; all others are open. */
function objects(answers: Readonly<Record<string, BeginsElsewhere>>) {
  const asked: string[] = [];
  const told: (PreviousLayouts | undefined)[] = [];
  const ask: AskLayout<string> = async (layout, previous) => {
    const title = layoutTitle(layout);
    asked.push(title);
    told.push(previous);
    return answers[title] ?? { kind: "given", given: title };
  };
  const find = (finder: FindObject, own: Layout, previous: readonly Layout[], key = KEY): Promise<string | null> =>
    finder(key, { own, previous }, ask);
  return { find, asked, told };
}

describe("a Worker", () => {
  it("asks its own object alone where nothing is listed, and brings nothing", async () => {
    const { find, asked, told } = objects({});
    expect(await find(objectFinder(), L64, [])).toBe("64");
    expect([asked, told]).toEqual([["64"], [undefined]]);
  });

  it("asks the oldest layout first, and follows what closed objects say instead of its list", async () => {
    const { find, asked, told } = objects({ 64: closedFor(L128), 128: closedFor(L256) });
    expect(await find(objectFinder(), at(192), [L64])).toBe("256");
    expect(asked).toEqual(["64", "128", "256"]);
    expect(told.at(-1)).toEqual({
      closed: [
        { layout: L64, isEmpty: false },
        { layout: L128, isEmpty: false },
      ],
    });
  });

  it("skips what is closed and empty after it was told so, for as many objects as it has met, and says so", async () => {
    const finder = objectFinder();
    const { find, asked, told } = objects({ 64: closedFor(L128, true) });
    for (const key of [KEY, KEY, OTHER]) expect(await find(finder, L128, [L64], key)).toBe("128");
    expect(asked).toEqual(["64", "128", "128", "64", "128"]);
    expect(told[2]).toEqual({ closed: [{ layout: L64, isEmpty: true }] });
  });

  it("does not remember objects for each key, of which there may be any number", async () => {
    const finder = objectFinder();
    const { find, asked } = objects({ "per-key": closedFor(L64, true) });
    for (const key of [KEY, KEY]) await find(finder, L64, [at("per-key")], key);
    expect(asked).toEqual(["per-key", "64", "per-key", "64"]);
  });

  it("never skips a closed object that has records", async () => {
    const finder = objectFinder();
    const { find, asked } = objects({ 64: closedFor(L128) });
    for (const key of [KEY, KEY]) await find(finder, L128, [L64], key);
    expect(asked).toEqual(["64", "128", "64", "128"]);
  });

  it("goes where an object sends it first", async () => {
    const asked: string[] = [];
    const given = await objectFinder()(KEY, { own: L128, previous: [] }, async (layout, previous) => {
      asked.push(layoutTitle(layout));
      if (layout === L64) return closedFor(L128);
      return previous === undefined ? { kind: "first", layout: L64 } : { kind: "given", given: "128" };
    });
    expect([given, asked]).toEqual(["128", ["128", "64", "128"]]);
  });

  it("gives up after eight calls if objects send it round in a circle", async () => {
    const { find, asked } = objects({ 64: closedFor(L128), 128: closedFor(L64) });
    expect(await find(objectFinder(), L128, [L64])).toBeNull();
    expect(asked).toHaveLength(MAX_STEPS);
  });

  it("has an object that nobody can list close when it is asked, for the layout that follows it", async () => {
    const { find, told } = objects({ "per-key": closedFor(L64) });
    expect(await find(objectFinder(), L128, [at("per-key"), L64])).toBe("64");
    expect(told[0]).toEqual({ closed: [], closesFor: L64 });
    const own = objects({});
    await own.find(objectFinder(), at("per-key"), []);
    expect(own.told).toEqual([undefined]);
  });
});

it("the next layout is that behind it in the list, and then that in force", () => {
  const layouts = { own: L256, previous: [L64, L128] };
  expect([L64, L128, L256, at(192)].map((layout) => nextOf(layout, layouts))).toEqual([L128, L256, null, null]);
});
