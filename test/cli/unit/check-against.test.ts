// `onceway check --against`: which configurations are refused, given the layouts of the gateway that runs.

import { describe, expect, it } from "vitest";
import { compareLayouts, type Comparison } from "../../../src/cli/check-against.ts";
import type { RunningRoute } from "../../../src/kernel/node-feature.ts";
import { readConfig } from "../../../src/features/settings.ts";
import type { Route } from "../../../src/kernel/config/resolved.ts";
import { parseShards } from "../../../src/kernel/config/layout.ts";

type Running = Parameters<typeof compareLayouts>[1][number];

/** Routes as the gateway publishes them, from their texts, with the default scope. */
function published(
  texts: readonly string[],
  scope: readonly string[] = ["header:authorization"],
): readonly RunningRoute[] {
  return texts.map((text) => {
    const [path = "", ...methods] = text.split(" ").toReversed();
    return { path, methods: methods.toReversed(), scope };
  });
}

function routesOf(...settings: readonly object[]): readonly Route[] {
  const read = readConfig({
    IDEMPOTENCY: { origin: "https://origin.example" },
    ROUTES: settings,
    SEAL_SECRET: "0123456789abcdef".repeat(4),
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.config.routes;
}

function running(shards: number | string, changes: Partial<Running> = {}): Running {
  const none = { jurisdiction: null, closedFor: [], objects: 64, mayGo: false, reason: "Held." };
  return { layout: String(shards), shards, next: null, routes: ["POST PATCH /pay"], ...none, ...changes };
}

function compare(settings: object, ...layouts: readonly Running[]): Comparison {
  const texts = new Set(layouts.flatMap((layout) => layout.routes));
  // What the configuration no longer has is told by itself: see below.
  texts.delete("POST /other");
  return compareLayouts(routesOf({ path: "/pay", ...settings }), layouts, published([...texts]));
}

function messages({ problems }: Comparison): readonly string[] {
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

/** Of a route "/pay" with these settings, where a route with the same requests is in force. */
function compareToPay(settings: object, before: Partial<RunningRoute>): Comparison {
  const pay = { path: "/pay", methods: ["POST", "PATCH"], scope: ["header:authorization"], ...before };
  return compareLayouts(routesOf({ path: "/pay", ...settings }), [running(64)], [pay]);
}

const FINE: Comparison = { problems: [], warnings: [] };

describe("a configuration is fine", () => {
  it.each<[what: string, settings: object, layouts: readonly Running[]]>([
    ["that changes nothing", { shards: 64 }, [running(64)]],
    ["that lists what is in force", { shards: 128, previous_shards: [64] }, [running(64)]],
    ["that drops what may go", { shards: 128 }, [running(128), running(64, { next: "128", mayGo: true })]],
    [
      "that goes back under another name",
      { shards: "64b", previous_shards: [64, 128] },
      [running(128), running(64, { next: "128", closedFor: ["128"] })],
    ],
    [
      "that appends, where an object for each key was left for a layout that is closed",
      { shards: 256, previous_shards: ["per-key", 64, 128] },
      [
        running(128),
        running("per-key", { objects: null, next: "64" }),
        running(64, { next: "128", closedFor: ["128"] }),
      ],
    ],
    [
      "whose other route never used the layout",
      { shards: 8 },
      [running(8), running(64, { routes: ["POST /other"], mayGo: true })],
    ],
  ])("%s", (_what, settings, layouts) => {
    expect(compare(settings, ...layouts)).toEqual(FINE);
  });
});

describe("a configuration is refused", () => {
  it.each<[what: string, settings: object, layouts: readonly Running[], found: readonly string[]]>([
    [
      "that forgets the layout in force",
      { shards: 128 },
      [running(64)],
      ["ROUTES[0].previous_shards: forgets layout 64, which is in force: write previous_shards = [64]"],
    ],
    [
      "that drops a previous layout too early",
      { shards: 256, previous_shards: [128] },
      [running(128), running(64, { next: "128" })],
      [
        "ROUTES[0].previous_shards: forgets layout 64, which may still hold records (Held.): write previous_shards = [64, 128]",
      ],
    ],
    [
      "that moves to another jurisdiction",
      { shards: 64, jurisdiction: "eu" },
      [running(64)],
      [
        'ROUTES[0].previous_shards: forgets layout 64, which is in force: write previous_shards = [{ shards = 64, jurisdiction = "none" }]',
      ],
    ],
    [
      "that enters a closed layout again",
      { shards: 64, previous_shards: [128] },
      [running(128), running(64, { next: "128", closedFor: ["128"], mayGo: true })],
      [
        'ROUTES[0].shards: enters layout 64, whose objects are closed for 128, and a closed object is never opened again: write shards = "64b" for as many objects with other names',
      ],
    ],
    [
      "that stays in a layout that is closed, after a roll-back",
      { shards: 64 },
      [running(64, { closedFor: ["128"] })],
      ["ROUTES[0].shards: enters layout 64, whose objects are closed for 128"],
    ],
    [
      "that enters a layout whose objects, one for each key, close when they are asked",
      { shards: "per-key" },
      [
        running(64, { routes: ["POST /other"], mayGo: true }),
        running("per-key", { objects: null, next: "64", routes: [] }),
      ],
      [
        'ROUTES[0].shards: enters layout per-key, whose objects are closed for 64, and a closed object is never opened again: write shards = "64b", because an object for each key has no other name',
      ],
    ],
    [
      "that lists an object for each key before a layout that is closed for it",
      { shards: 128, previous_shards: ["per-key", 64] },
      [
        running("per-key", { objects: null, routes: ["POST /other"], mayGo: true }),
        running(64, { next: "per-key", closedFor: ["per-key"], routes: ["POST /other"], mayGo: true }),
      ],
      [
        "ROUTES[0].previous_shards: lists per-key before 64, whose objects are closed for it: both would send new keys to each other. Write 64 first",
      ],
    ],
    [
      "that begins keys in the newer layout, before the older one is closed",
      { shards: 64, previous_shards: [128] },
      [running(128), running(64, { next: "128" })],
      ["ROUTES[0].previous_shards: begins keys in layout 128, and the running gateway in 64"],
    ],
    [
      "that begins keys in a layout that the running one does not know",
      { shards: 256, previous_shards: [32, 64, 128] },
      [running(128), running(64, { next: "128" })],
      ["ROUTES[0].previous_shards: begins keys in layout 32, and the running gateway in 64"],
    ],
    [
      "that lists layouts in another order",
      { shards: 256, previous_shards: [32, 128, 64] },
      [running(128), running(32, { next: "64" }), running(64, { next: "128" })],
      ["ROUTES[0].previous_shards: changes the order of 32, 64, 128"],
    ],
    [
      "that does not list where a closed layout's later keys are",
      { shards: 256, previous_shards: [64] },
      [running(256), running(64, { next: "256", closedFor: ["128"] })],
      ["ROUTES[0].previous_shards: lists layout 64, which is closed for 128, where its later keys are: append 128"],
    ],
    [
      "that forgets the layout of a route that it no longer has",
      { shards: 8 },
      [running(64, { routes: ["POST /other"] })],
      ["ROUTES: forget layout 64, which is in force: write previous_shards in the routes that replace POST /other"],
    ],
  ])("%s", (_what, settings, layouts, found) => {
    const reported = messages(compare(settings, ...layouts));
    expect(reported).toEqual(found.map((text): unknown => expect.stringContaining(text)));
  });

  it("for the route that forgets, although another one lists the layout", () => {
    const configured = routesOf({ path: "/pay", shards: 128, previous_shards: [64] }, { path: "/refund", shards: 32 });
    const routes = ["POST PATCH /pay", "POST PATCH /refund"];
    expect(messages(compareLayouts(configured, [running(64, { routes })], published(routes)))).toEqual([
      "ROUTES[1].previous_shards: forgets layout 64, which is in force: write previous_shards = [64]",
    ]);
  });
});

it("warns of a previous layout with an object for each key, because nobody can count it", () => {
  const perKey = running("per-key", { objects: null, next: "64" });
  const { problems, warnings } = compare({ shards: 64 }, running(64), perKey);
  expect(problems).toEqual([]);
  expect(warnings).toMatchObject([{ path: "ROUTES[0].previous_shards" }]);
  expect(messages(compare({ shards: 64 }, running("per-key", { objects: null })))).toHaveLength(1);
});

describe("a route that changes takes over the keys of those that it overlaps", () => {
  const [PAY, REFUND] = ["POST PATCH /pay", "POST PATCH /refund"];
  const leaves = { path: "/pay", shards: 128, previous_shards: [64] };

  it.each<[what: string, texts: readonly string[], settings: readonly object[], path: string]>([
    [
      "with one method more",
      [PAY, REFUND],
      [leaves, { path: "/refund", shards: 256, methods: ["POST", "PATCH", "PUT"] }],
      "ROUTES[1]",
    ],
    ["with one method less", [PAY, REFUND], [leaves, { path: "/refund", shards: 256, methods: ["POST"] }], "ROUTES[1]"],
    [
      "with its methods in another order",
      [PAY, REFUND],
      [leaves, { path: "/refund", shards: 256, methods: ["PATCH", "POST"] }],
      "ROUTES[1]",
    ],
    [
      "when it splits off from a wildcard",
      ["POST PATCH /v1/*"],
      [
        { path: "/v1/payments/*", shards: 256 },
        { path: "/v1/*", shards: 64 },
      ],
      "ROUTES[0]",
    ],
    ["when a wildcard swallows it", ["POST PATCH /v1/payments/:id"], [{ path: "/v1/*", shards: 256 }], "ROUTES[0]"],
    [
      "when its path has a parameter",
      ["POST PATCH /v1/payments/new"],
      [{ path: "/v1/payments/:id{[a-z]+}", shards: 256 }],
      "ROUTES[0]",
    ],
  ])("%s", (_what, texts, settings, path) => {
    const found = compareLayouts(routesOf(...settings), [running(64, { routes: [...texts] })], published(texts));
    const message: unknown = expect.stringContaining(
      "forgets layout 64, which is in force: write previous_shards = [64]",
    );
    expect(found.problems).toContainEqual({ path: `${path}.previous_shards`, message });
  });

  it("and not those of a route that stays before or after it", () => {
    const texts = ["POST PATCH /v1/payments/*", "POST PATCH /v1/:kind/items", "POST PATCH /v1/*"];
    const layouts = [8, 16, 32].map((shards, at) => running(shards, { routes: texts.slice(at, at + 1) }));
    const same = routesOf(
      { path: "/v1/payments/*", shards: 8 },
      { path: "/v1/:kind/items", shards: 16 },
      { path: "/v1/*", shards: 32 },
    );
    expect(compareLayouts(same, layouts, published(texts))).toEqual(FINE);
  });

  it("and a method that has no route any more is warned of", () => {
    const found = compareLayouts(routesOf({ path: "/pay", methods: ["POST"] }), [running(64)], published([PAY]));
    expect(found).toEqual({
      problems: [],
      warnings: [
        {
          path: "ROUTES",
          message: "leaves PATCH /pay without protection: a retry of a request of before acts again",
        },
      ],
    });
  });
});

describe("a jurisdiction of the gateway itself", () => {
  const warned = (jurisdiction: string | null, ...layouts: readonly Running[]): readonly string[] =>
    compareLayouts(routesOf({ path: "/pay" }), layouts, [], jurisdiction).warnings.map(({ path }) => path);

  it("is warned of where no layout in force has it: totals and audit log begin anew", () => {
    const eu = { layout: "64-eu", jurisdiction: "eu" };
    expect(warned("eu", running(64))).toContain("IDEMPOTENCY.jurisdiction");
    expect(warned(null, running(64, eu))).toContain("IDEMPOTENCY.jurisdiction");
    // It was left for another, and may have been of any.
    expect(warned("eu", running(64), running(64, { ...eu, next: "64" }))).toContain("IDEMPOTENCY.jurisdiction");
  });

  it("is fine where a layout in force has it, and where nothing runs", () => {
    const eu = { layout: "64-eu", jurisdiction: "eu" };
    expect(warned("eu", running(64, eu), running(128))).not.toContain("IDEMPOTENCY.jurisdiction");
    expect(warned(null, running(64))).not.toContain("IDEMPOTENCY.jurisdiction");
    expect(warned("eu")).not.toContain("IDEMPOTENCY.jurisdiction");
  });
});

describe("another scope", () => {
  const compared = (settings: object, scope: readonly string[]): Comparison =>
    compareLayouts(routesOf({ path: "/pay", ...settings }), [running(64)], published(["POST PATCH /pay"], scope));

  it("that is not a narrower one is refused without previous_scope", () => {
    expect(messages(compared({ scope: ["header:x-tenant"] }, ["header:authorization"]))).toEqual([
      'ROUTES[0].previous_scope: forgets the keys of scope = ["header:authorization"], which is in force: write previous_scope = [["header:authorization"]]',
    ]);
    const listed = { scope: ["header:x-tenant"], previous_scope: [["none"], ["header:authorization"]] };
    expect(compared(listed, ["header:authorization"])).toEqual(FINE);
  });

  it("that is a narrower one is warned of, because it may be meant to forget", () => {
    for (const [scope, before] of [
      [["header:authorization"], ["none"]],
      [["header:authorization", "header:x-tenant"], ["header:authorization"]],
    ] as const) {
      const { problems, warnings } = compared({ scope }, before);
      expect(problems).toEqual([]);
      const list = `[${before.map((part) => JSON.stringify(part)).join(", ")}]`;
      expect(warnings).toEqual([
        {
          path: "ROUTES[0].previous_scope",
          message: `forgets the keys of scope = ${list}, which is in force: write previous_scope = [${list}], unless the older scope showed one caller's answers to another`,
        },
      ]);
      expect(compared({ scope, previous_scope: [before] }, before)).toEqual(FINE);
    }
  });
});

describe("where the keys come from", () => {
  const keyFrom = ["header:x-order", "json:/id"];
  const compared = (settings: object): Comparison => compareToPay(settings, { keyFrom });

  it("is warned of when a place is left out, and not when one is added or written in another case", () => {
    expect(compared({ key_from: ["header:X-Order", "form:id", "json:/id"] })).toEqual(FINE);
    expect(compared({ key_from: ["json:/id"] })).toEqual({
      problems: [],
      warnings: [
        {
          path: "ROUTES[0].key_from",
          message:
            "no longer takes keys from header:x-order, as the gateway that runs does: requests that were sent with such a key are not recognized when they come again",
        },
      ],
    });
    expect(compared({ key_from: [["header:X-Order", "json:/id"]] }).warnings).toHaveLength(2);
  });

  it("is not known of a gateway of before", () => {
    expect(compareToPay({ key_from: ["json:/other"] }, {})).toEqual(FINE);
  });
});

describe("a route that is no longer encrypted", () => {
  const compared = (encrypted: unknown, before: boolean | undefined): Comparison =>
    compareToPay({ encrypt_responses: encrypted }, before === undefined ? {} : { encryptResponses: before });

  it('is refused while encrypt_responses = true is in force, unless it is "past"', () => {
    expect(messages(compared(false, true))).toEqual([
      'ROUTES[0].encrypt_responses: leaves responses that do not open, because encrypt_responses = true is in force: write "past" for a retention first',
    ]);
    for (const [encrypted, before] of [
      ["past", true],
      [true, true],
      [true, false],
      [false, false],
      [false, undefined],
    ] as const) {
      expect(compared(encrypted, before)).toEqual(FINE);
    }
  });
});

describe("a route that no longer accepts requests", () => {
  const compared = (async: string, before: string | undefined): Comparison =>
    compareToPay({ async }, before === undefined ? {} : { async: before });

  it("is warned of, and not one that accepts others than before", () => {
    for (const before of ["prefer", "always"] as const) {
      expect(compared("never", before)).toEqual({
        problems: [],
        warnings: [
          {
            path: "ROUTES[0].async",
            message: `is "never", while async = "${before}" is in force: requests that were accepted are still tried, but nobody can read their monitors or cancel them. Leave it until none of them waits`,
          },
        ],
      });
      expect(compared("prefer", before)).toEqual(FINE);
    }
    for (const before of ["never", undefined] as const) expect(compared("never", before)).toEqual(FINE);
  });
});

describe("an identity of the same name", () => {
  const JWT = { issuer: "https://login.example.com", audience: "a", jwks: "https://login.example.com/jwks" };
  const RUNNING = { user: { [JWT.issuer]: "sub" } };

  const compared = (user: object, identities: RunningRoute["identities"], scope = "identity:user"): Comparison => {
    const read = readConfig({
      IDEMPOTENCY: { origin: "https://origin.example", scope: [scope] },
      IDENTITIES: { user, person: user },
      ROUTES: [{ path: "/pay" }],
    });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const [route] = published(["POST PATCH /pay"], ["identity:user"]);
    const running64 = [running(64)];
    return compareLayouts(
      read.config.routes,
      running64,
      route === undefined ? [] : [{ ...route, ...(identities === undefined ? {} : { identities }) }],
    );
  };

  it("that takes callers' names from elsewhere is refused", () => {
    const others = [{ jwt: { ...JWT, claim: "email" } }, { ask: { path: "/me", pointer: "/id" } }];
    for (const user of others) {
      expect(messages(compared(user, RUNNING))).toEqual([
        'IDENTITIES.user: gives callers other names than the identity "user" that is in force, so their keys are forgotten: leave it as it is, write the new one under another name, and previous_scope = [["identity:user"]] in ROUTES[0]',
      ]);
    }
    const asked = { user: { "": "/me /id" } };
    expect(messages(compared({ ask: { path: "/me", pointer: "/account" } }, asked))).toHaveLength(1);
  });

  it("may trust other issuers, or take the same names in another way", () => {
    expect(compared({ jwt: { ...JWT, jwks: "https://keys.example.com", audience: "b" } }, RUNNING)).toEqual(FINE);
    expect(compared({ jwt: [JWT, { ...JWT, issuer: "b" }] }, RUNNING)).toEqual(FINE);
    expect(compared({ jwt: { ...JWT, issuer: "b", claim: "email" } }, RUNNING)).toEqual(FINE);
  });

  it("is not known of a gateway of before, and counts as the same", () => {
    expect(compared({ jwt: JWT }, undefined)).toEqual(FINE);
  });

  it("is another scope under another name", () => {
    expect(messages(compared({ jwt: JWT }, RUNNING, "identity:person"))).toEqual([
      expect.stringContaining('write previous_scope = [["identity:user"]]'),
    ]);
  });
});

it("what it says to write instead of a closed layout is not refused in turn", () => {
  for (const [shards, taken] of [
    ["per-key", []],
    ["per-key", ["64"]],
    [64, ["64b"]],
    ["64b", [64]],
  ] as const) {
    const closed = running(shards, { next: "128", closedFor: ["128"], routes: [] });
    const layouts = [running(128, { routes: [] }), closed, ...taken.map((one) => running(one, { routes: [] }))];
    const [problem = ""] = messages(
      compareLayouts(routesOf({ path: "/pay", shards, previous_shards: [128] }), layouts, []),
    );
    const value: unknown = JSON.parse(/write shards = ("?\w+"?)/.exec(problem)?.[1] ?? "null");
    if (typeof value !== "number" && typeof value !== "string") throw new Error(problem);
    expect(parseShards(value)).toMatchObject({ ok: true });
    expect([shards, ...taken].map(String)).not.toContain(String(value));
  }
});

describe("what names a record by the host, and what the origin's key is", () => {
  const auth = "header:authorization";

  it("is compared when an origin becomes a binding or a URL again", () => {
    expect(messages(compareToPay({ origin: { entrypoint: "Api" } }, { scope: [auth] }))).toEqual([
      'ROUTES[0].previous_scope: forgets the keys of scope = ["header:authorization"], which is in force: write previous_scope = [["header:authorization", "any-host"]], unless the older scope showed one caller\'s answers to another',
    ]);
    const settled = { origin: { entrypoint: "Api" }, previous_scope: [[auth, "any-host"]] };
    expect(compareToPay(settled, { scope: [auth] })).toEqual(FINE);
    expect(messages(compareToPay({}, { scope: [auth, "host"] }))).toEqual([
      expect.stringContaining('write previous_scope = [["header:authorization", "host"]]'),
    ]);
    expect(compareToPay({ previous_scope: [[auth, "host"]] }, { scope: [auth, "host"] })).toEqual(FINE);
  });

  it("is compared when a proxy is no longer trusted", () => {
    expect(messages(compareToPay({ scope: [auth, "host"] }, { scope: [auth, "forwarded-host"] }))).toEqual([
      expect.stringMatching(/^IDEMPOTENCY\.trust_forwarded: .* write trust_forwarded = true until/),
    ]);
  });

  it("and what is compared of a request is told of", () => {
    const { problems, warnings } = compareToPay({ fingerprint: { body: "json" } }, { fingerprint: "{}" });
    expect(problems).toEqual([]);
    expect(warnings.map(({ path }) => path)).toEqual(["ROUTES[0].fingerprint"]);
  });
});
