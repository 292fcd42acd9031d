// Which objects enrol, by the Worker's variables as they are written: never one too few. It is compared with what the configuration says of them.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isEnrolled } from "../../../../src/features/placement/enrolment.ts";
import { firstUseObject } from "../../../../src/features/placement/object/first-use.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { allRoutes } from "../../../../src/kernel/config/resolved.ts";
import { numberedName } from "../../../../src/kernel/object/shard-address.ts";

const FIRST = { location_hint: "first-use" };

describe("an object", () => {
  const env = { IDEMPOTENCY: FIRST, ROUTES: [{ path: "/a" }, { path: "/b", shards: "8b" }] };
  it.each([
    ["of the layout", "shard-3-of-64", { layout: "64", number: 3 }],
    ["of a layout of one route", "shard-7-of-8b", { layout: "8b", number: 7 }],
    ["of another number", "shard-3-of-32", null],
    ["that operators use", "operators", null],
    ["that gathers", "gathering-0-of-64", null],
    ["of one key", `key-${"0".repeat(32)}`, null],
    ["without a name", "", null],
  ])("%s enrols accordingly", (_which, name, expected) => {
    const register = { name: "operators", jurisdiction: null, locationHint: null };
    expect(firstUseObject(env, name)).toEqual(expected === null ? null : { ...expected, register });
  });

  it("finds the operators' object where the gateway has it", () => {
    const placed = { IDEMPOTENCY: { location_hint: "weur" }, ROUTES: [{ path: "/a", ...FIRST }] };
    expect(firstUseObject(placed, "shard-0-of-64")?.register).toEqual({
      name: "operators",
      jurisdiction: null,
      locationHint: "weur",
    });
  });

  it("reads variables that are JSON text, and is not disturbed by others", () => {
    const text = {
      IDEMPOTENCY: JSON.stringify(FIRST),
      ROUTES_2: JSON.stringify([{ path: "/a" }]),
      ROUTES: "{",
      ROUTES_1: 7,
    };
    expect(firstUseObject(text, "shard-0-of-64")).toMatchObject({ layout: "64", number: 0 });
  });
});

it("enrols if and only if the configuration says so, whatever routes there are", () => {
  const hints = fc.constantFrom(undefined, "first-use", "weur", "enam");
  const shards = fc.constantFrom(undefined, 64, 8, "8b", "per-key");
  const jurisdictions = fc.constantFrom(undefined, undefined, "eu");
  const settings = fc.record({ location_hint: hints, shards, jurisdiction: jurisdictions });
  const written = (values: object): object =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  fc.assert(
    fc.property(settings, fc.array(settings, { minLength: 1, maxLength: 4 }), (defaults, routes) => {
      const env = {
        IDEMPOTENCY: { origin: "https://api.example", ...written(defaults) },
        ROUTES: routes.map((route, at) => Object.assign({ path: `/r${at}` }, written(route))),
      };
      const read = readConfig(env);
      if (!read.ok) throw new Error(JSON.stringify(read.problems));
      const enrolled = new Set(
        allRoutes(read.config).flatMap(({ layouts: { own } }) => (isEnrolled(own) ? [String(own.shards)] : [])),
      );
      for (const layout of [64, 8, "8b"] as const) {
        const object = firstUseObject(env, numberedName(0, layout));
        expect([layout, object !== null]).toEqual([layout, enrolled.has(String(layout))]);
      }
    }),
  );
});
