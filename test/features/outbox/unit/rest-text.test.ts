import { expect, it } from "vitest";
import { restText } from "../../../../src/features/outbox/rest-text.ts";

const rest = (shard: string, lanes: number, minute: number, reason: string) => ({
  shard,
  lanes,
  of: 3,
  until: `2026-11-26T22:0${minute}:00.000Z`,
  failures: 1,
  reason,
});

it.each([
  ["nothing", [], null],
  ["all lanes of one shard", [rest("a", 3, 1, "503")], ["all lanes", 1, "503"]],
  [
    "some lanes of several shards, whatever their order",
    [rest("a", 1, 1, "503"), rest("b", 2, 9, "timeout"), rest("c", 1, 5, "503")],
    ["4 of 9 lanes in 3 shards", 9, "503, timeout"],
  ],
] as const)("says what rests: %s", (_what, resting, said) => {
  const [lanes, minute, why] = said ?? [];
  expect(restText(resting)).toEqual(said === null ? null : { lanes, until: `2026-11-26T22:0${minute}:00.000Z`, why });
});
