// `onceway check --against`: which configurations are refused, given the layouts of the gateway that runs.

import { describe, expect, it } from "vitest";
import { compareLayouts, type GatewayComparison } from "../../../../src/cli/check-against.ts";
import { parseShards } from "../../../../src/kernel/config/layout.ts";
import type { RunningLayout } from "../../../../src/kernel/node-feature.ts";
import { FINE, messages, published, routesOf, running } from "../../../support/running-gateway.ts";

function compare(settings: object, ...layouts: readonly RunningLayout[]): GatewayComparison {
  const texts = new Set(layouts.flatMap((layout) => layout.routes));
  // What the configuration no longer has is told by itself: see below.
  texts.delete("POST /other");
  return compareLayouts(routesOf({ path: "/pay", ...settings }), layouts, published([...texts]));
}

describe("a configuration is fine", () => {
  it.each<[what: string, settings: object, layouts: readonly RunningLayout[]]>([
    ["that changes nothing", { shards: 64 }, [running(64)]],
    ["that lists what is in force", { shards: 128, previous_shards: [64] }, [running(64)]],
    ["that drops what may go", { shards: 128 }, [running(128), running(64, { next: "128", mayGo: true })]],
    [
      "that goes back under another name",
      { shards: "64b", previous_shards: [64, 128] },
      [running(128), running(64, { next: "128", closedFor: ["128"] })],
    ],
    [
      "that appends, where an object for each key was left for a layout that is closed",
      { shards: 256, previous_shards: ["per-key", 64, 128] },
      [
        running(128),
        running("per-key", { objects: null, next: "64" }),
        running(64, { next: "128", closedFor: ["128"] }),
      ],
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
  it.each<[what: string, settings: object, layouts: readonly RunningLayout[], found: readonly string[]]>([
    [
      "that forgets the layout in force",
      { shards: 128 },
      [running(64)],
      ["ROUTES[0].previous_shards: forgets layout 64, which is in force: write previous_shards = [64]"],
    ],
    [
      "that drops a previous layout too early",
      { shards: 256, previous_shards: [128] },
      [running(128), running(64, { next: "128" })],
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
      "that enters a closed layout again",
      { shards: 64, previous_shards: [128] },
      [running(128), running(64, { next: "128", closedFor: ["128"], mayGo: true })],
      [
        'ROUTES[0].shards: enters layout 64, whose objects are closed for 128, and a closed object is never opened again: write shards = "64b" for as many objects with other names',
      ],
    ],
    [
      "that stays in a layout that is closed, after a roll-back",
      { shards: 64 },
      [running(64, { closedFor: ["128"] })],
      ["ROUTES[0].shards: enters layout 64, whose objects are closed for 128"],
    ],
    [
      "that enters a layout whose objects, one for each key, close when they are asked",
      { shards: "per-key" },
      [
        running(64, { routes: ["POST /other"], mayGo: true }),
        running("per-key", { objects: null, next: "64", routes: [] }),
      ],
      [
        'ROUTES[0].shards: enters layout per-key, whose objects are closed for 64, and a closed object is never opened again: write shards = "64b", because an object for each key has no other name',
      ],
    ],
    [
      "that lists an object for each key before a layout that is closed for it",
      { shards: 128, previous_shards: ["per-key", 64] },
      [
        running("per-key", { objects: null, routes: ["POST /other"], mayGo: true }),
        running(64, { next: "per-key", closedFor: ["per-key"], routes: ["POST /other"], mayGo: true }),
      ],
      [
        "ROUTES[0].previous_shards: lists per-key before 64, whose objects are closed for it: both would send new keys to each other. Write 64 first",
      ],
    ],
    [
      "that begins keys in the newer layout, before the older one is closed",
      { shards: 64, previous_shards: [128] },
      [running(128), running(64, { next: "128" })],
      ["ROUTES[0].previous_shards: begins keys in layout 128, and the running gateway in 64"],
    ],
    [
      "that begins keys in a layout that the running one does not know",
      { shards: 256, previous_shards: [32, 64, 128] },
      [running(128), running(64, { next: "128" })],
      ["ROUTES[0].previous_shards: begins keys in layout 32, and the running gateway in 64"],
    ],
    [
      "that lists layouts in another order",
      { shards: 256, previous_shards: [32, 128, 64] },
      [running(128), running(32, { next: "64" }), running(64, { next: "128" })],
      ["ROUTES[0].previous_shards: changes the order of 32, 64, 128"],
    ],
    [
      "that does not list where a closed layout's later keys are",
      { shards: 256, previous_shards: [64] },
      [running(256), running(64, { next: "256", closedFor: ["128"] })],
      ["ROUTES[0].previous_shards: lists layout 64, which is closed for 128, where its later keys are: append 128"],
    ],
    [
      "that forgets the layout of a route that it no longer has",
      { shards: 8 },
      [running(64, { routes: ["POST /other"] })],
      ["ROUTES: forget layout 64, which is in force: write previous_shards in the routes that replace POST /other"],
    ],
  ])("%s", (_what, settings, layouts, found) => {
    const reported = messages(compare(settings, ...layouts));
    expect(reported).toEqual(found.map((text): unknown => expect.stringContaining(text)));
  });

  it("for the route that forgets, although another one lists the layout", () => {
    const configured = routesOf({ path: "/pay", shards: 128, previous_shards: [64] }, { path: "/refund", shards: 32 });
    const routes = ["POST PATCH /pay", "POST PATCH /refund"];
    expect(messages(compareLayouts(configured, [running(64, { routes })], published(routes)))).toEqual([
      "ROUTES[1].previous_shards: forgets layout 64, which is in force: write previous_shards = [64]",
    ]);
  });
});

it("warns of a previous layout with an object for each key, because nobody can count it", () => {
  const perKey = running("per-key", { objects: null, next: "64" });
  const { problems, warnings } = compare({ shards: 64 }, running(64), perKey);
  expect(problems).toEqual([]);
  expect(warnings).toMatchObject([{ path: "ROUTES[0].previous_shards" }]);
  expect(messages(compare({ shards: 64 }, running("per-key", { objects: null })))).toHaveLength(1);
});

describe("a route that changes takes over the keys of those that it overlaps", () => {
  const [PAY, REFUND] = ["POST PATCH /pay", "POST PATCH /refund"];
  const leaves = { path: "/pay", shards: 128, previous_shards: [64] };

  it.each<[what: string, texts: readonly string[], settings: readonly object[], path: string]>([
    [
      "with one method more",
      [PAY, REFUND],
      [leaves, { path: "/refund", shards: 256, methods: ["POST", "PATCH", "PUT"] }],
      "ROUTES[1]",
    ],
    ["with one method less", [PAY, REFUND], [leaves, { path: "/refund", shards: 256, methods: ["POST"] }], "ROUTES[1]"],
    [
      "with its methods in another order",
      [PAY, REFUND],
      [leaves, { path: "/refund", shards: 256, methods: ["PATCH", "POST"] }],
      "ROUTES[1]",
    ],
    [
      "when it splits off from a wildcard",
      ["POST PATCH /v1/*"],
      [
        { path: "/v1/payments/*", shards: 256 },
        { path: "/v1/*", shards: 64 },
      ],
      "ROUTES[0]",
    ],
    ["when a wildcard swallows it", ["POST PATCH /v1/payments/:id"], [{ path: "/v1/*", shards: 256 }], "ROUTES[0]"],
    [
      "when its path has a parameter",
      ["POST PATCH /v1/payments/new"],
      [{ path: "/v1/payments/:id{[a-z]+}", shards: 256 }],
      "ROUTES[0]",
    ],
  ])("%s", (_what, texts, settings, path) => {
    const found = compareLayouts(routesOf(...settings), [running(64, { routes: [...texts] })], published(texts));
    const message: unknown = expect.stringContaining(
      "forgets layout 64, which is in force: write previous_shards = [64]",
    );
    expect(found.problems).toContainEqual({ path: `${path}.previous_shards`, message });
  });

  it("and not those of a route that stays before or after it", () => {
    const texts = ["POST PATCH /v1/payments/*", "POST PATCH /v1/:kind/items", "POST PATCH /v1/*"];
    const layouts = [8, 16, 32].map((shards, at) => running(shards, { routes: texts.slice(at, at + 1) }));
    const same = routesOf(
      { path: "/v1/payments/*", shards: 8 },
      { path: "/v1/:kind/items", shards: 16 },
      { path: "/v1/*", shards: 32 },
    );
    expect(compareLayouts(same, layouts, published(texts))).toEqual(FINE);
  });
});

it("what it says to write instead of a closed layout is not refused in turn", () => {
  for (const [shards, taken] of [
    ["per-key", []],
    ["per-key", ["64"]],
    [64, ["64b"]],
    ["64b", [64]],
  ] as const) {
    const closed = running(shards, { next: "128", closedFor: ["128"], routes: [] });
    const layouts = [running(128, { routes: [] }), closed, ...taken.map((one) => running(one, { routes: [] }))];
    const [problem = ""] = messages(
      compareLayouts(routesOf({ path: "/pay", shards, previous_shards: [128] }), layouts, []),
    );
    const value: unknown = JSON.parse(/write shards = ("?\w+"?)/.exec(problem)?.[1] ?? "null");
    if (typeof value !== "number" && typeof value !== "string") throw new Error(problem);
    expect(parseShards(value)).toMatchObject({ ok: true });
    expect([shards, ...taken].map(String)).not.toContain(String(value));
  }
});
