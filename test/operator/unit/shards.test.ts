import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/features/settings.ts";
import { ShardDirectory } from "../../../src/operator/shards.ts";
import { shardTitle } from "../../../src/kernel/object/shard-address.ts";

function placesOf(...routes: readonly object[]): ShardDirectory {
  const read = readConfig({ IDEMPOTENCY: { origin: "https://origin.example", shards: 2 }, ROUTES: routes });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return new ShardDirectory(read.config.routes);
}

it("operators see the shards of each shard count and jurisdiction once, under separate names", () => {
  const places = placesOf(
    { path: "/a" },
    { path: "/b" },
    { path: "/c", jurisdiction: "eu" },
    { path: "/d", shards: 1 },
    { path: "/e", shards: "2b" },
  );
  expect(places.listed.map(shardTitle).toSorted()).toEqual([
    "shard-0-of-1",
    "shard-0-of-2",
    "shard-0-of-2-eu",
    "shard-0-of-2b",
    "shard-1-of-2",
    "shard-1-of-2-eu",
    "shard-1-of-2b",
  ]);
  const hash = "00000001".padEnd(32, "0");
  expect(places.of(hash).map(shardTitle).toSorted()).toEqual([
    "shard-0-of-1",
    "shard-1-of-2",
    "shard-1-of-2-eu",
    "shard-1-of-2b",
  ]);
});

it("an object for each key is found by its key alone", () => {
  const places = placesOf({ path: "/a", shards: "per-key" });
  expect(places.listed).toEqual([]);
  expect(places.of("f".repeat(32)).map(shardTitle)).toEqual([`key-${"f".repeat(32)}`]);
});

it("a route whose number of shards has letters shares no object with other routes", () => {
  const names = (route: object): readonly string[] => placesOf(route).listed.map(({ name }) => name);
  const shared = new Set(names({ path: "/payments", shards: 16 }));
  const own = names({ path: "/reports", shards: "16reports" });
  expect(own).toHaveLength(16);
  expect(own.filter((name) => shared.has(name))).toEqual([]);
});

describe("what belongs to no route", () => {
  const fixed = (settings: object, ...routes: readonly object[]): readonly string[] => {
    const read = readConfig({ IDEMPOTENCY: { origin: "https://origin.example", ...settings }, ROUTES: routes });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const { totals, operators } = new ShardDirectory(read.config.routes, read.config.gateway);
    return [totals, operators].map(shardTitle);
  };
  const PAID = { path: "/a" };

  it.each([
    ["another last route", [PAID, { path: "/z", jurisdiction: "eu" }]],
    ["another first route", [{ path: "/0", jurisdiction: "us" }, PAID]],
    ["a previous layout", [{ ...PAID, shards: 4, previous_shards: [{ shards: 64, jurisdiction: "eu" }] }]], // feature: previous-shards
    ["an object for each key", [{ ...PAID, shards: "per-key" }]],
  ] as const)("is moved by no route: %s", (_what, routes) => {
    expect(fixed({}, ...routes)).toEqual(fixed({}, PAID));
  });

  it("lies where the gateway's own setting says, whatever the routes say", () => {
    expect(fixed({ jurisdiction: "eu" }, PAID, { path: "/b", jurisdiction: "us" })).toEqual([
      "totals-eu",
      "operators-eu",
    ]);
  });
});
