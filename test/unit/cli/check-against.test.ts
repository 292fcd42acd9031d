// `onceway check --against`: which configurations are refused, given the layouts of the gateway that runs.

import { describe, expect, it } from "vitest";
import { compareLayouts, type Comparison } from "../../../src/cli/check-against.ts";
import { readConfig } from "../../../src/config/read.ts";

type Running = Parameters<typeof compareLayouts>[1][number];

function running(shards: number | string, changes: Partial<Running> = {}): Running {
  const none = { jurisdiction: null, next: [], elders: [], objects: 64, mayGo: false, reason: "Held." };
  return { layout: String(shards), shards, left: null, routes: ["POST PATCH /pay"], ...none, ...changes };
}

function compare(settings: object, ...layouts: readonly Running[]): Comparison {
  const routes = [{ path: "/pay", ...settings }];
  const read = readConfig({ IDEMPOTENCY: { origin: "https://origin.example" }, ROUTES: routes });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return compareLayouts(read.config.routes, layouts);
}

function messages({ problems }: Comparison): readonly string[] {
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

const FINE: Comparison = { problems: [], warnings: [] };

describe("a configuration is fine", () => {
  it.each<[what: string, settings: object, layouts: readonly Running[]]>([
    ["that changes nothing", { shards: 64 }, [running(64)]],
    ["that lists what is in force", { shards: 128, previous_shards: [64] }, [running(64)]],
    ["that drops what may go", { shards: 128 }, [running(128), running(64, { left: "128", mayGo: true })]],
    [
      "that goes back under another name",
      { shards: "64b", previous_shards: [64, 128] },
      [running(128, { elders: ["64"] }), running(64, { left: "128", next: ["128"] })],
    ],
    [
      "whose other route never used the layout",
      { shards: 8 },
      [running(8), running(64, { routes: ["POST /other"], mayGo: true })],
    ],
  ])("%s", (_what, settings, layouts) => {
    expect(compare(settings, ...layouts)).toEqual(FINE);
  });
});

describe("a configuration is refused", () => {
  it.each<[what: string, settings: object, layouts: readonly Running[], found: readonly string[]]>([
    [
      "that forgets the layout in force",
      { shards: 128 },
      [running(64)],
      ["ROUTES[0].previous_shards: forgets layout 64, which is in force: write previous_shards = [64]"],
    ],
    [
      "that drops an older layout too early",
      { shards: 256, previous_shards: [128] },
      [running(128), running(64, { left: "128" })],
      [
        "ROUTES[0].previous_shards: forgets layout 64, which may still hold records (Held.): write previous_shards = [64, 128]",
      ],
    ],
    [
      "that moves to another jurisdiction",
      { shards: 64, jurisdiction: "eu" },
      [running(64)],
      [
        'ROUTES[0].previous_shards: forgets layout 64, which is in force: write previous_shards = [{ shards = 64, jurisdiction = "none" }]',
      ],
    ],
    [
      "that enters a layout again which is still listed",
      { shards: 64, previous_shards: [128] },
      [running(128), running(64, { left: "128" })],
      [
        'ROUTES[0].shards: enters layout 64 again, which was left for 128, and objects that were left take no new keys: write shards = "64b" for as many objects with other names',
      ],
    ],
    [
      "that enters a layout again which only the newer objects know",
      { shards: 64, previous_shards: [128] },
      [running(128, { elders: ["64"] })],
      ["ROUTES[0].shards: enters layout 64 again"],
    ],
    [
      "that stays in a layout whose objects were left, after a roll-back",
      { shards: 64 },
      [running(64, { next: ["128"] })],
      ["ROUTES[0].shards: enters layout 64 again, which was left for 128"],
    ],
    [
      "that does not list where an older layout's later keys are",
      { shards: 256, previous_shards: [64] },
      [running(256), running(64, { left: "256", next: ["128"] })],
      ["ROUTES[0].previous_shards: lists layout 64, which was left for 128, where its later keys are: append 128"],
    ],
    [
      "that forgets the layout of a route that it no longer has",
      { shards: 8 },
      [running(64, { routes: ["POST /other"] })],
      ["ROUTES: forget layout 64, which is in force: write previous_shards in the routes that replace POST /other"],
    ],
  ])("%s", (_what, settings, layouts, found) => {
    const told = messages(compare(settings, ...layouts));
    expect(told).toEqual(found.map((text): unknown => expect.stringContaining(text)));
  });

  it("for the route that forgets, although another one lists the layout", () => {
    const read = readConfig({
      IDEMPOTENCY: { origin: "https://origin.example" },
      ROUTES: [
        { path: "/pay", shards: 128, previous_shards: [64] },
        { path: "/refund", shards: 32 },
      ],
    });
    if (!read.ok) throw new Error("invalid");
    const routes = ["POST PATCH /pay", "POST PATCH /refund"];
    expect(messages(compareLayouts(read.config.routes, [running(64, { routes })]))).toEqual([
      "ROUTES[1].previous_shards: forgets layout 64, which is in force: write previous_shards = [64]",
    ]);
  });
});

it("warns of an older layout with an object for each key, because nobody can count it", () => {
  const perKey = running("per-key", { objects: null, left: "64" });
  const { problems, warnings } = compare({ shards: 64 }, running(64), perKey);
  expect(problems).toEqual([]);
  expect(warnings).toMatchObject([{ path: "ROUTES[0].previous_shards" }]);
  expect(messages(compare({ shards: 64 }, running("per-key", { objects: null })))).toHaveLength(1);
});
