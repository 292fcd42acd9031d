// `onceway check --expand`: what it prints means the same as the configuration that it expands.

import { readFileSync } from "node:fs";

import { parse } from "smol-toml";
import { expect, it } from "vitest";

import { flatRoute } from "../../../src/cli/check/describe.ts";
import { expandedRoutes } from "../../../src/cli/check/expand.ts";
import { checkWranglerConfig } from "../../../src/cli/check/file.ts";
import { isTable, type SettingsTable } from "../../../src/kernel/config/table.ts";
import { projectDir } from "../../support/wrangler.ts";
import { configOf } from "../../kernel/unit/config/support.ts";

const LEFT_OUT = { origin: "https://api.example.com", scope: ["header:authorization"] };

function rootVars(): SettingsTable {
  const { vars } = parse(readFileSync(`${projectDir}/wrangler.toml`, "utf8"));
  return isTable(vars) ? vars : {};
}

it.each<[string, SettingsTable]>([
  ["the project's own file", rootVars()],
  ["two lines for the gateway and one for the route", { IDEMPOTENCY: LEFT_OUT, ROUTES: [{ path: "/v1/*" }] }],
  [
    "settings that follow",
    {
      IDEMPOTENCY: { ...LEFT_OUT, timeout: "2m", unknown: "retry", verify: "/ignored/{key}" },
      ROUTES: [
        { path: "/a", verify: "/by-key/{key}" },
        { path: "/b", timeout: "5m", note: { label: "json:/id" } },
        { path: "/c", unknown: "hold", lock: "1h" },
      ],
      ROUTES_2: '[{"path":"/d","methods":["PUT"],"key_format":{"pattern":"^[a-z]{2}$"}}]',
    },
  ],
  // feature: presets begins
  [
    "presets",
    {
      IDEMPOTENCY: { ...LEFT_OUT, scope: ["header:x-caller"], preset: "acp", refused: [429], unknown: "hold" },
      ROUTES: [
        { path: "/a" },
        { path: "/b", preset: "acp@2026-04-17", retention: "48h" },
        { path: "/c", preset: "none" },
        { path: "/d", scope: ["header:x-other"] },
      ],
    },
  ],
  // feature: presets ends
])("each route stands for itself: %s", (_what, vars) => {
  const blocks = expandedRoutes(vars).split("\n\n");
  const written = configOf(vars).routes.map(flatRoute);
  const expanded = blocks.flatMap((block) => {
    const { routes } = configOf({ ROUTES: [parse(block)] });
    return routes.map(flatRoute);
  });
  const unnamed = { name: expect.any(String) };
  expect(expanded).toMatchObject(written.map((route) => Object.assign({}, route, unnamed)));
  expect(expanded.map((route) => Object.keys(route))).toEqual(written.map((route) => Object.keys(route)));
});

it("says where each setting comes from", () => {
  const IDEMPOTENCY = { ...LEFT_OUT, timeout: "2m" };
  const lines = expandedRoutes({ IDEMPOTENCY, ROUTES: [{ path: "/a", verify: "/by-key/{key}" }] }).split("\n");
  const lineOf = (name: string): string | undefined =>
    lines
      .find((line) => new RegExp(`^ *(?:# )?${name}\\b`).test(line))
      ?.replaceAll(/ +/g, " ")
      .trim();
  expect(lineOf("timeout")).toBe('timeout = "2m" # IDEMPOTENCY');
  expect(lineOf("lock")).toBe('lock = "130s" # follows from timeout');
  expect(lineOf("unknown")).toBe('unknown = "verify" # follows from verify');
  expect(lineOf("verify")).toBe('verify = "/by-key/{key}" # ROUTES[0]');
  expect(expandedRoutes({ ROUTES: [{ path: "/a" }] })).toMatch(/# verify +# nobody is asked with unknown = "hold"/);
  expect(lineOf("retention")).toBe('retention = "24h" # default');
  expect(lineOf("jurisdiction")).toBe("# jurisdiction # anywhere");
});

it("is complete with three lines for the gateway and one for the route", () => {
  const file = {
    compatibility_date: "2026-10-01",
    compatibility_flags: ["enable_request_signal"],
    durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["KeyShard"] }],
    vars: {
      IDEMPOTENCY: { ...LEFT_OUT, origin: "https://api.shop.test", location_hint: "enam" },
      ROUTES: [{ path: "/v1/payments" }],
    },
  };
  const [top] = checkWranglerConfig(file);
  expect([top?.problems, top?.warnings]).toEqual([[], []]);
});
