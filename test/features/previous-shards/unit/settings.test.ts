// What `previous_shards` means, and which lists are refused.

import { describe, expect, it } from "vitest";
import { configOf, PAYMENTS, problemsOf, routeOf, settingsOf } from "../../../kernel/unit/config/support.ts";

describe("what previous_shards means", () => {
  it.each([
    [
      { shards: 256, previous_shards: [64, "per-key", "64b"] },
      {
        previousShards: [
          { shards: 64, jurisdiction: null },
          { shards: "per-key", jurisdiction: null },
          { shards: "64b", jurisdiction: null },
        ],
      },
    ],
    // A bare entry has the jurisdiction that is in force; a table has its own.
    [
      { jurisdiction: "eu", shards: 128, previous_shards: [64] },
      { previousShards: [{ shards: 64, jurisdiction: "eu" }] },
    ],
    [
      { jurisdiction: "eu", previous_shards: [{ shards: 64, jurisdiction: "none" }] },
      { previousShards: [{ shards: 64, jurisdiction: null }] },
    ],
  ])("%j", (written, meant) => {
    expect(settingsOf(written)).toMatchObject(meant);
  });
});

describe("previous_shards", () => {
  it("may list the same number in two jurisdictions, and the one in force with letters", () => {
    const previous_shards = [
      { shards: 64, jurisdiction: "none" },
      { shards: 128, jurisdiction: "us" },
    ];
    expect(routeOf({ shards: 64, jurisdiction: "us", previous_shards }).layouts.previous).toHaveLength(2);
    expect(routeOf({ shards: "64b", previous_shards: [64, 128] }).layouts.previous).toHaveLength(2);
  });
});

describe("routes that share objects", () => {
  const orders = { path: "/v1/orders" };

  it.each([
    [
      { shards: 128, previous_shards: [64] },
      { shards: 128, previous_shards: [64] },
    ],
    [{ shards: 128, previous_shards: [64] }, { shards: 32 }],
    [
      { shards: 128, previous_shards: [64] },
      { shards: 64, jurisdiction: "eu" },
    ],
    [
      { shards: 256, previous_shards: [64, 128] },
      { shards: 32, previous_shards: [16] },
    ],
  ])("have no conflict: %j and %j", (one, other) => {
    expect(
      configOf({
        ROUTES: [
          { ...PAYMENTS, ...one },
          { ...orders, ...other },
        ],
      }).routes,
    ).toHaveLength(2);
  });

  it("are not compared where a setting is unknown", () => {
    const routes = [
      { ...PAYMENTS, shards: 0 },
      { ...orders, shards: 128, previous_shards: [64] },
    ];
    expect(problemsOf({ ROUTES: routes }).map(({ path }) => path)).toEqual(["ROUTES[0].shards"]);
  });
});
