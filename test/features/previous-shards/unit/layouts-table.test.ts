// How the command `layouts` prints the layouts of one gateway and of several.

import { describe, expect, it } from "vitest";
import { plainLook } from "../../../../src/cli/look.ts";
import type { LayoutState } from "../../../../src/cli/operator-client.ts";
import { layoutsTable, tableOfAll } from "../../../../src/features/previous-shards/cli/layouts.ts";
import { expectApproved } from "../../../support/words.ts";

const NOW = Date.parse("2026-11-21T08:35:00.000Z");

const layout: LayoutState = {
  layout: "64",
  shards: 64,
  jurisdiction: null,
  next: "128",
  closedFor: ["128"],
  routes: ["POST PATCH /v1/payments"],
  objects: 64,
  open: 0,
  closed: 12,
  empty: 52,
  inFlight: 0,
  waiting: 0,
  failed: 10_000,
  unknown: 1,
  atLeast: ["failed"],
  lastExpiresAt: "2026-11-21T11:35:00.000Z",
  holds: [],
  unused: 0,
  places: {},
  mayGo: false,
  reason: "12 objects still hold records.",
  unreachable: [],
};

describe("tableOfAll", () => {
  const own = {
    ...layout,
    layout: "128",
    next: null,
    closedFor: [],
    open: 128,
    closed: 0,
    empty: 0,
    reason: "In force.",
  };
  const empty = { ...layout, closed: 0, empty: 64, mayGo: true, reason: "Closed and empty: take it out." };
  const asked = (...states: readonly (readonly LayoutState[])[]): readonly string[] => {
    const all = states.map((layouts, at) => ({ gateway: `https://ops-${at}.example/`, layouts }));
    const lines = tableOfAll(all, NOW, plainLook).split("\n");
    expect(lines.filter((line) => line.startsWith("https://"))).toEqual(all.map(({ gateway }) => gateway));
    return lines.slice(lines.lastIndexOf("") + 1);
  };

  it("lets a previous layout go only if every gateway does", () => {
    expect(asked([own, empty], [own, empty])).toEqual([
      "128: In force.",
      "64: Closed and empty in all 2 gateways: take it out of previous_shards.",
    ]);
  });

  it("names the gateways in which it has to stay", () => {
    expect(asked([own, empty], [own, layout])).toEqual([
      "128: In force.",
      "64: https://ops-1.example/: 12 objects still hold records.",
    ]);
    expect(asked([own, layout], [own, layout])).toEqual(["128: In force.", "64: 12 objects still hold records."]);
  });

  it("does not let it go when a gateway does not list it", () => {
    expect(asked([own, empty], [own])).toEqual([
      "128: In force.",
      "64: https://ops-1.example/: Not in its configuration: give all the same.",
    ]);
  });
});

it("what the command prints is as approved", async () => {
  const perKey = { ...layout, layout: "per-key", objects: null, atLeast: [], lastExpiresAt: null, reason: "A\u0007." };
  await expectApproved("layouts", [
    { asked: "onceway layouts list", words: layoutsTable([layout, perKey], NOW, plainLook) },
  ]);
});
