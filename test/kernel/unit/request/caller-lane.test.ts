// Whose turn a request takes: what a client can make up for each request gives it no other lane.

import { expect, it } from "vitest";
import { HeaderSnapshot } from "../../../../src/kernel/request/headers.ts";
import { callerLane } from "../../../../src/kernel/request/scope.ts";

const from = (address: string): HeaderSnapshot => new HeaderSnapshot([["cf-connecting-ip", address]]);
const NOWHERE = new HeaderSnapshot([]);

/** How many lanes 320 requests have. */
function lanesOf(lane: (nth: number) => number): number {
  return new Set(Array.from({ length: 320 }, (_, nth) => lane(nth))).size;
}

it("made-up credentials have the lane of their address, and so have all addresses of a network", () => {
  expect(lanesOf((nth) => callerLane(["header:authorization", `Bearer ${nth}`], from("192.0.2.1")))).toBe(1);
  expect(
    lanesOf((nth) => callerLane(["header:authorization", "Bearer 1"], from(`2001:db8::${nth.toString(16)}`))),
  ).toBe(1);
  expect(lanesOf((nth) => callerLane(["header:authorization", "Bearer 1"], from(`192.0.${nth}.1`)))).toBe(16);
});

it("a proved identity has a lane of its own, whatever else its scope has and wherever it is", () => {
  const scope = (user: string | null, device: number): readonly (string | null)[] => [
    "identity:user",
    user,
    "header:x-device",
    String(device),
  ];
  expect(lanesOf((nth) => callerLane(scope("ann", nth), from(`192.0.${nth}.1`)))).toBe(1);
  expect(lanesOf((nth) => callerLane(scope(`user ${nth}`, 1), from("192.0.2.1")))).toBe(16);
  // Nobody has proved anything.
  expect(lanesOf((nth) => callerLane(scope(null, nth), from("192.0.2.1")))).toBe(1);
});

it("where no address is known, the scope has to do", () => {
  expect(lanesOf((nth) => callerLane(["header:authorization", `Bearer ${nth}`], NOWHERE))).toBe(16);
});
