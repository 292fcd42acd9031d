import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { PLACEMENTS } from "../../../../src/kernel/config/words.ts";

const BINDINGS = { durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] } };
const FILE = {
  name: "api",
  main: "src/index.ts",
  compatibility_date: "2026-10-01",
  compatibility_flags: ["enable_request_signal"],
  migrations: [{ tag: "v1", new_sqlite_classes: ["KeyShard"] }],
  ...BINDINGS,
};

function varsOf(defaults: object, ...routes: readonly object[]): object {
  const given = routes.length === 0 ? [{}] : routes;
  return {
    IDEMPOTENCY: { origin: "https://api.example.net", ...defaults },
    ROUTES: given.map((route, at) => Object.assign({ path: `/v1/${at}` }, route)),
  };
}

/** `code path` of each warning, of the top level and of all environments. */
function warned(vars: object, more: object = {}): readonly string[] {
  const checked = checkWranglerConfig({ ...FILE, vars, ...more });
  expect(checked.flatMap(({ problems }) => problems)).toEqual([]);
  return checked.flatMap(({ warnings }) => warnings.map(({ code, path }) => `${code} ${path}`));
}

const UNDECIDED = "placement-undecided IDEMPOTENCY.location_hint";

describe("objects that nothing places", () => {
  it("are warned of once, however many routes have them", () => {
    expect(warned(varsOf({}))).toEqual([UNDECIDED]);
    expect(warned(varsOf({}, {}, {}))).toEqual([UNDECIDED]);
    expect(warned(varsOf({}, { location_hint: "weur" }, {}))).toEqual([UNDECIDED]);
  });

  it("are warned of in the environment that has them", () => {
    const staging = { ...BINDINGS, vars: varsOf({}) };
    expect(warned(varsOf({ location_hint: "weur" }), { env: { staging } })).toEqual([
      "placement-undecided env.staging.IDEMPOTENCY.location_hint",
    ]);
  });

  it.each([{ location_hint: "weur" }, { location_hint: "first-use" }, { jurisdiction: "eu" }])(
    "are none with %j, for all or in each route",
    (placed) => {
      const codes = (vars: object) => warned(vars).filter((one) => one.startsWith("placement"));
      expect(codes(varsOf(placed, {}, {}))).toEqual([]);
      expect(codes(varsOf({}, placed, placed))).toEqual([]);
    },
  );
});

describe("a hint", () => {
  const codesOf = (defaults: object) => warned(varsOf(defaults));

  it("for a region without objects is warned of, with the region where they are created", () => {
    const vars = varsOf({ location_hint: "sam" }, {}, { location_hint: "afr" }, { location_hint: "me" });
    const [top] = checkWranglerConfig({ ...FILE, vars });
    expect(top?.warnings.map(({ code, path, fix }) => [code, path, fix?.text])).toEqual([
      ["placement-unsuitable", "IDEMPOTENCY.location_hint", '"enam"'],
      ["placement-unsuitable", "ROUTES[1].location_hint", '"weur"'],
      ["placement-unsuitable", "ROUTES[2].location_hint", '"eeur"'],
    ]);
  });

  it("outside its jurisdiction is warned of, and one inside is not", () => {
    const inside = (jurisdiction: string) =>
      PLACEMENTS.filter((location_hint) => codesOf({ jurisdiction, location_hint }).length === 0);
    expect(inside("eu")).toEqual(["weur", "eeur", "first-use"]);
    for (const one of ["us", "fedramp", "fedramp-high"]) expect(inside(one)).toEqual(["wnam", "enam", "first-use"]);
    expect(codesOf({ jurisdiction: "eu", location_hint: "sam" })).toEqual([
      "settings-contradict IDEMPOTENCY.location_hint",
    ]);
  });

  it("that a route inherits into a jurisdiction of its own is warned of there", () => {
    expect(
      warned(varsOf({ location_hint: "wnam" }, { jurisdiction: "us" }, { jurisdiction: "eu" })).filter((one) =>
        one.includes("location_hint"),
      ),
    ).toEqual(["settings-contradict ROUTES[1].location_hint"]);
  });
});

describe("a table [placement]", () => {
  const vars = varsOf({ location_hint: "weur" });

  it.each([{ mode: "smart" }, { region: "aws:us-east-1" }])("as in %j is warned of", (placement) => {
    expect(warned(vars, { placement })).toEqual(["placement-unsuitable placement"]);
  });

  it("that is off is not", () => {
    expect(warned(vars, { placement: { mode: "off" } })).toEqual([]);
  });

  it("is inherited by environments, unless they have their own", () => {
    const staging = { ...BINDINGS, vars };
    const placement = { mode: "smart" };
    expect(warned(vars, { placement, env: { staging } })).toEqual([
      "placement-unsuitable placement",
      "placement-unsuitable env.staging.placement",
    ]);
    expect(warned(vars, { placement, env: { staging: { ...staging, placement: { mode: "off" } } } })).toEqual([
      "placement-unsuitable placement",
    ]);
  });
});
