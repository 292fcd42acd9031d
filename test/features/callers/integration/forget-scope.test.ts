import { describe, expect, it } from "vitest";
import { readConfig } from "../../../../src/features/settings.ts";
import type { Route } from "../../../../src/kernel/config/resolved.ts";
import { type EraseAsk, eraseScope } from "../../../../src/features/callers/operator/erase-scope.ts";
import type { LayoutShardAddress } from "../../../../src/operator/shards.ts";
import {
  fittingScopes,
  namedScopes,
  noScopeText,
  givenScope,
} from "../../../../src/features/callers/operator/request.ts";

import { FORGET_SCOPE } from "../../../../src/features/callers/operator/scope-request-schema.ts";

const SECRET = "Bearer anna-5c1f";

function routesOf(...routes: readonly Readonly<Record<string, unknown>>[]): readonly Route[] {
  const read = readConfig({
    IDEMPOTENCY: { origin: "https://api.example" },
    ROUTES: routes,
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.config.routes;
}

const fitting = (routes: readonly Route[], scope: Readonly<Record<string, string | null>>): readonly unknown[] =>
  fittingScopes(routes, new Map(Object.entries(scope)));

describe("the scopes that a caller is named in", () => {
  const routes = routesOf(
    { path: "/0", scope: ["header:authorization"] },
    {
      path: "/1",
      scope: ["header:x-tenant"],
      previous_scope: [["header:authorization", "cookie:session"], ["header:authorization"]],
    },
    { path: "/2", scope: ["header:authorization", "host"] },
    { path: "/3", scope: ["host"] },
    { path: "/4", scope: ["none"] },
  );

  it("are those of exactly the given parts, in each scope's own order, once", () => {
    expect(fitting(routes, { "header:authorization": SECRET })).toEqual([["header:authorization", SECRET]]);
    expect(fitting(routes, { "cookie:session": "s", "header:authorization": SECRET })).toEqual([
      ["header:authorization", SECRET, "cookie:session", "s"],
    ]);
    expect(fitting(routes, { "cookie:session": null, "header:authorization": SECRET })).toEqual([
      ["header:authorization", SECRET, "cookie:session", null],
    ]);
  });

  it("include those with the host, if it is given, and never a scope of everybody", () => {
    expect(fitting(routes, { "header:authorization": SECRET, host: "api.example" })).toEqual([
      ["header:authorization", SECRET],
      ["header:authorization", SECRET, "host", "api.example"],
    ]);
    expect(fitting(routes, { host: "api.example" })).toEqual([["host", "api.example"]]);
    expect(fitting(routes, {})).toEqual([]);
    expect(fitting(routesOf({ path: "/0", scope: ["none"] }), { "header:authorization": SECRET })).toEqual([]);
  });

  it("are named, without any value, when none fits", () => {
    expect(fitting(routes, { "header:x-user": SECRET })).toEqual([]);
    expect(noScopeText(namedScopes(routes))).toContain("[header:x-tenant], [header:authorization, cookie:session],");
    expect(noScopeText([])).toContain('scope = ["none"]');
  });
});

describe("a request to forget a caller", () => {
  const asked = { scope: { " Header:Authorization ": ` ${SECRET} ` }, reason: "because", preview: true };

  it("is read with the names and the edges of values as requests have them", () => {
    const parsed = FORGET_SCOPE.body.parse(asked);
    expect(parsed).toMatchObject({ value: { isPreview: true, includesUnknown: false, cursor: null } });
    expect(givenScope(asked.scope)).toEqual(new Map([["header:authorization", SECRET]]));
  });

  it.each([
    [{ preview: false }],
    [{ confirm: true }],
    [{ scope: SECRET }],
    [{ scope: { [SECRET]: 7 } }],
    [{ scope: { "header:authorization": null } }],
    [{ scope: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`header:x-${at}`, SECRET])) }],
    [{ reason: "" }],
    [{ other: SECRET }],
  ])("is refused in words that repeat no value: %j", (change) => {
    const parsed = FORGET_SCOPE.body.parse({ ...asked, ...change });
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain("anna");
  });
});

describe("the walk over all shards", () => {
  const addresses = Array.from({ length: 40 }, (_, at): LayoutShardAddress => {
    return { name: `shard-${at}-of-40`, jurisdiction: null, locationHint: null, layout: "40" };
  });
  const scopes = [["header:authorization", SECRET]];
  const erasing = {
    scopes,
    scopeDigests: [],
    isPreview: false,
    includesUnknown: false,
    by: "admin",
    reason: "because",
  };

  /** Shards in which each call finds one record, and needs so many calls. */
  function shards(
    calls: number,
    silent: ReadonlySet<string> = new Set(),
  ): { ask: EraseAsk; asked: Map<string, number> } {
    const asked = new Map<string, number>();
    const ask: EraseAsk = ({ name }, { from }) => {
      if (silent.has(name)) return Promise.resolve(null);
      expect(from.slot).toBe(asked.get(name) ?? 0);
      asked.set(name, from.slot + 1);
      const next = from.slot + 1 < calls ? { expiryBucket: 0, slot: from.slot + 1 } : null;
      return Promise.resolve({ forgotten: 1, inFlight: 0, unknown: 0, events: 2, next });
    };
    return { ask, asked };
  }

  it("goes on with the cursor where it was, calls each shard as often as it needs, and is bounded", async () => {
    const { ask, asked } = shards(90);
    let forgotten = 0;
    let requests = 0;
    let cursor: string | null = null;
    do {
      const part = await eraseScope(addresses, erasing, cursor, ask);
      if (part === null) throw new Error("the cursor was refused");
      expect(part.forgotten).toBeLessThanOrEqual(1016);
      expect(part.cursor ?? "").not.toContain("anna");
      forgotten += part.forgotten;
      requests += 1;
      ({ cursor } = part);
    } while (cursor !== null);
    expect(forgotten).toBe(40 * 90);
    expect([...new Set(asked.values())]).toEqual([90]);
    expect(requests).toBeGreaterThanOrEqual(4);
  });

  it("names silent shards and goes on without them", async () => {
    const { ask } = shards(1, new Set(["shard-3-of-40"]));
    expect(await eraseScope(addresses, erasing, null, ask)).toEqual({
      forgotten: 39,
      inFlight: 0,
      unknown: 0,
      events: 78,
      unreachable: ["shard-3-of-40"],
      cursor: null,
    });
  });

  it("refuses a cursor that is not of these shards", async () => {
    const { ask } = shards(90);
    const cursor = (await eraseScope(addresses, erasing, null, ask))?.cursor ?? "";
    for (const wrong of [
      "",
      "x",
      `${cursor}~99.0.0`,
      cursor.replace(/^.{8}/, "00000000"),
      cursor.replace("~", "~99"),
    ]) {
      expect(await eraseScope(addresses, erasing, wrong, ask)).toBeNull();
    }
    expect(await eraseScope(addresses.slice(1), erasing, cursor, ask)).toBeNull();
  });
});
