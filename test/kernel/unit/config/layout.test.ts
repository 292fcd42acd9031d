import { expect, it } from "vitest";
import { type Layout, layoutName, parseShards, shardCount } from "../../../../src/kernel/config/layout.ts";
import { shardAddressOf } from "../../../../src/kernel/object/shard-address.ts";

const layoutOf = (shards: Layout["shards"], jurisdiction: Layout["jurisdiction"] = null): Layout => ({
  shards,
  jurisdiction,
  locationHint: "weur",
});

it.each([
  // The names of released versions: records and objects are found by them.
  [layoutOf(64), "64 null", "shard-1-of-64"],
  [layoutOf("per-key"), "per-key null", `key-${"0000004100".padEnd(32, "0")}`],
  [layoutOf(128, "eu"), "128 eu", "shard-65-of-128"],
  [layoutOf("64b"), "64b null", "shard-1-of-64b"],
])("%j is named %s and has the object %s", (layout, name, object) => {
  expect(layoutName(layout)).toBe(name);
  const { jurisdiction, locationHint } = layout;
  expect(shardAddressOf("00000041".padEnd(64, "0"), layout)).toEqual({ name: object, jurisdiction, locationHint });
});

it.each([
  [1, 1],
  [65_536, 65_536],
  ["64b", 64],
  ["1abcdefgh", 1],
  ["per-key", null],
] as const)("%j means %j objects", (shards, count) => {
  expect(parseShards(shards)).toEqual({ ok: true, value: shards });
  expect(shardCount(shards)).toBe(count);
});

it.each([0, -1, 1.5, 65_537, Number.NaN, "64", "b64", "064b", "0b", "99999b", "64-b", "1abcdefghi", "", "per-keys"])(
  "%j is no number of shards",
  (shards) => {
    expect(parseShards(shards).ok).toBe(false);
  },
);
