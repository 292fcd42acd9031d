// The settings of routes on trial: what they mean, what contradicts them, and which of several routes a request gets.

import { describe, expect, it } from "vitest";
import { breakingOf, observeNode } from "../../../../src/features/observe/cli/node.ts";
import { decideTrial, shareOf } from "../../../../src/features/observe/key-share.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { intentReader, strictestRoute } from "../../../../src/kernel/request/intent.ts";

function reading(route: object, variables: object = {}) {
  return readConfig({
    IDEMPOTENCY: { origin: "https://api.example.com" },
    ROUTES: [{ path: "/pay", ...route }],
    DESTINATIONS: [{ name: "line", queue: "LINE" }],
    LINE: {},
    NEW_KEYS: {},
    ENCRYPTION_SECRET: "0123456789abcdef".repeat(4),
    ...variables,
  });
}

function routesOf(...routes: readonly object[]) {
  const read = readConfig({ IDEMPOTENCY: { origin: "https://api.example.com" }, ROUTES: routes });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.config;
}

const problemsOf = (route: object, variables?: object): readonly string[] => {
  const read = reading(route, variables);
  return read.ok ? [] : read.problems.map(({ path, message }) => `${path}: ${message}`);
};

describe("a route on trial", () => {
  it.each([
    [{}, null],
    [{ observe: { sample: 0.5 } }, null],
    [{ mode: "observe" }, { protectedShare: 0, effect: null, sample: 1, keylessMs: 600_000 }],
    [
      { mode: "observe", enforce: "12.5%", observe: { effect: "/id", sample: 0.1, keyless: "none" } },
      { protectedShare: 0.125, effect: "/id", sample: 0.1, keylessMs: 0 },
    ],
  ])("%j", (settings, trial) => {
    expect(routesOf({ path: "/pay", ...settings }).routes[0]?.trial).toEqual(trial);
  });

  it.each<readonly [route: object, problem: string]>([
    [{ mode: "watch" }, "ROUTES[0].mode: must be one of its values"],
    [{ mode: "observe", enforce: "0%" }, "ROUTES[0].enforce: must be a share above 0%"],
    [{ mode: "observe", enforce: "100%" }, "ROUTES[0].enforce: must be a share above 0%"],
    [{ mode: "observe", enforce: 0.1 }, "ROUTES[0].enforce: must be text"],
    [{ enforce: "10%" }, 'ROUTES[0].enforce: has no effect with mode = "enforce"'],
    [{ mode: "observe", observe: { sample: 0 } }, "ROUTES[0].observe.sample: must be a number above 0"],
    [{ mode: "observe", observe: { effect: "id" } }, "ROUTES[0].observe.effect: "],
    [{ mode: "observe", async: "always" }, 'ROUTES[0].mode: must not be "observe" with async,'], // feature: accepted
    [{ mode: "observe", publish: [{ to: "line", type: "t" }] }, 'must not be "observe" with publish,'], // feature: outbox
    [{ mode: "observe", new_keys: "NEW_KEYS" }, 'must not be "observe" with new_keys,'],
    [{ mode: "observe", graphql: true }, 'must not be "observe" with graphql = true,'], // feature: graphql
    [{ mode: "observe", encrypt_responses: true }, 'must not be "observe" with encrypt_responses = true,'],
    [{ mode: "observe", shards: "per-key" }, 'must not be "observe" with shards = "per-key",'],
    // feature: pages begins
    [{ mode: "observe", enforce: "1%", cors: { origins: ["https://a.example"] } }, 'must not be "observe" with cors,'],
    // feature: pages ends
    // feature: key-sources begins
    [
      { mode: "observe", enforce: "1%", key_from: ["json:/id"] },
      'must not be "observe" with key_from other than headers,',
    ],
    // feature: key-sources ends
  ])("refuses %j", (route, problem) => {
    const problems = problemsOf(route);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  // feature: key-sources begins
  it("may have keys from elsewhere while it protects nothing", () => {
    expect(problemsOf({ mode: "observe", key_from: ["json:/id"] })).toEqual([]);
  });
  // feature: key-sources ends

  // feature: pages begins
  it("leaves pages to the API while it protects nothing", () => {
    const route = { mode: "observe", cors: { origins: ["https://a.example"] } };
    expect(problemsOf(route)).toEqual([]);
    expect(routesOf({ path: "/pay", ...route }).routes[0]?.cors).toBeNull();
  });
  // feature: pages ends

  it("is for routes: what IDEMPOTENCY says is not for queues", () => {
    const variables = {
      IDEMPOTENCY: { origin: "https://api.example.com", mode: "observe" },
      QUEUES: [{ queue: "orders", to: "/in", dead_letter: { binding: "DEAD" } }],
      DEAD: {},
    };
    expect(problemsOf({}, variables)).toEqual([]);
  });

  it("is named by check, with what it protects", () => {
    const config = routesOf(
      { path: "/a", mode: "observe" },
      { path: "/b", mode: "observe", enforce: "10%" },
      { path: "/c" },
    );
    expect(observeNode.promises?.(config)).toEqual([
      "/a: is only observed and protects nothing: npx onceway report says what it would do",
      "/b: protects 10% of the keys, and observes the others: npx onceway report says what it would do",
    ]);
  });
});

describe("a request of a route on trial", () => {
  const post = (key?: string): Request =>
    new Request("https://gateway.example/pay", {
      method: "POST",
      headers: key === undefined ? {} : { "idempotency-key": key },
    });

  it("is looked at, protected or passed by its key alone", () => {
    const [route] = routesOf({ path: "/pay", mode: "observe", enforce: "30%", observe: { sample: 0.5 } }).routes;
    if (route === undefined) throw new Error("no route");
    for (let at = 0; at < 300; at += 1) {
      const key = `key-${at}`;
      const expected = shareOf("enforce", key) < 0.3 ? "protect" : shareOf("sample", key) < 0.5 ? "look" : "pass";
      expect(decideTrial(post(key), route)).toBe(expected);
    }
    expect(decideTrial(post(), route)).toBe("look");
    expect(decideTrial(post("not valid"), route)).toBe("look");
  });

  it("gets a stricter route where one might match", () => {
    const { routes } = routesOf(
      { path: "/a/*", mode: "observe" },
      { path: "/b/*", mode: "observe", enforce: "50%" },
      { path: "/c/*", key: "optional", unknown: "retry" },
    );
    expect(strictestRoute(routes)?.path).toBe("/c/*");
    expect(strictestRoute(routes.slice(0, 2))?.path).toBe("/b/*");
  });

  const LONG = `/pay/${"%2e".repeat(3000)}`;
  it.each([
    ["observe", "pass"],
    ["enforce", "refuse"],
  ])("whose path is too long to compare is as if there were no route: %s", (mode, kind) => {
    const read = intentReader(routesOf({ path: "/pay/*", mode }), () => false);
    const request = new Request(`https://gateway.example${LONG}`, { method: "POST" });
    expect(read(request, new URL(request.url)).kind).toBe(kind);
  });
});

describe("check --against", () => {
  const ROUTE = { route: "/pay", protectedShare: 0, sample: 1, seen: 9, counts: {}, examples: [] };
  const LINES = [
    { kind: "break", count: 3, text: "have no key: would be refused with 400", setting: "key" },
    { kind: "gain", count: 5, text: "would get the first answer again", setting: "retention" },
  ];
  const notAsked = { earlier: 0, missing: 0, oldestAnswerAt: null };
  const report = { since: "", routes: [{ ...ROUTE, lines: LINES }], unreachable: [], notAsked };
  const found = (route: object, running: number | null = 0) =>
    routesOf({ path: "/pay", ...route }).routes.flatMap((one) =>
      breakingOf(one, { ...report, routes: [{ ...ROUTE, lines: LINES, protectedShare: running }] }),
    );

  it("says what breaks of a route that protects more keys than the running one", () => {
    for (const [route, running] of [
      [{}, 0],
      [{}, 0.5],
      [{ mode: "observe", enforce: "60%" }, 0.5],
    ] as const) {
      expect(found(route, running)).toEqual([
        {
          path: "ROUTES[0].mode",
          code: "requests-refused",
          message:
            "protects more keys, and of the requests that were observed 3 have no key: would be refused with 400 (key): npx onceway report shows them",
        },
      ]);
    }
  });

  it("says nothing of any other", () => {
    expect([found({ mode: "observe" }), found({}, 1), found({}, null), found({ path: "/other" })]).toEqual([
      [],
      [],
      [],
      [],
    ]);
  });
});
