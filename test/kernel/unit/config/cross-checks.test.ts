import { describe, expect, it } from "vitest";

import { configOf, PAYMENTS, problemOf, problemsOf, routeOf, settingsOf } from "./support.ts";

const lines = (env: Readonly<Record<string, unknown>>) =>
  problemsOf(env).map(({ path, message }) => `${path}: ${message}`);

describe("lock, timeout, retention and wait", () => {
  it("may not be equal to the millisecond", () => {
    const others = { timeout: "39999ms", retention: "40001ms", duplicate: "wait", wait: "39999ms" };
    expect(routeOf({ lock: "40s", ...others }).rules.policy.lockMs).toBe(40_000);
  });

  it("give a lock that is not written ten seconds more than the timeout in force", () => {
    expect(routeOf({}).rules.policy.lockMs).toBe(40_000);
    expect(routeOf({ timeout: "2m" }).rules.policy.lockMs).toBe(130_000);
    const { routes } = configOf({ IDEMPOTENCY: { timeout: "15m" }, ROUTES: [PAYMENTS, { path: "/b", timeout: "1s" }] });
    expect(routes.map(({ rules }) => rules.policy.lockMs)).toEqual([910_000, 11_000]);
    const written = configOf({ IDEMPOTENCY: { lock: "20m" }, ROUTES: [{ ...PAYMENTS, timeout: "2m" }] });
    expect(written.routes[0]?.rules.policy.lockMs).toBe(1_200_000);
  });

  it("ignore wait if no duplicate waits", () => {
    expect(routeOf({ wait: "60s" }).rules.waitMs).toBe(60_000);
  });

  it("are not a problem of defaults that every route overrides", () => {
    expect(
      configOf({ IDEMPOTENCY: { timeout: "50s" }, ROUTES: [{ ...PAYMENTS, lock: "60s" }] }).routes[0]?.rules.policy
        .lockMs,
    ).toBe(60_000);
  });

  it.each([
    [{ IDEMPOTENCY: { timeout: "x" }, ROUTES: [{ ...PAYMENTS, lock: "1s" }] }, ["IDEMPOTENCY.timeout"]],
    [{ ROUTES: [{ ...PAYMENTS, lock: 5, timeout: "60s" }] }, ["ROUTES[0].lock"]],
    [{ ROUTES: [{ ...PAYMENTS, lok: "90s", timeout: "60s" }] }, ["ROUTES[0].lok"]],
    [{ ROUTES: [{ ...PAYMENTS, timeout: "x", retention: "1s" }] }, ["ROUTES[0].timeout"]],
    [{ IDEMPOTENCY: 7, ROUTES: [{ ...PAYMENTS, timeout: "60s" }] }, ["IDEMPOTENCY"]],
  ])("are not guessed where a value is unknown: %j", (env, paths) => {
    expect(problemsOf(env).map(({ path }) => path)).toEqual(paths);
  });
});

describe("unknown", () => {
  const ruleOf = (defaults: object, route: object): string | undefined =>
    configOf({ IDEMPOTENCY: defaults, ROUTES: [{ ...PAYMENTS, ...route }] }).routes[0]?.rules.policy.unknown;

  it("is verify where an address to ask is written, and what it says itself where it is written as near", () => {
    const verify = "/v1/by-key/{key}";
    expect(ruleOf({}, {})).toBe("hold");
    expect(ruleOf({}, { verify })).toBe("verify");
    expect(ruleOf({ verify }, {})).toBe("verify");
    expect(ruleOf({ verify }, { unknown: "hold" })).toBe("hold");
    expect(ruleOf({ unknown: "retry" }, { verify })).toBe("verify");
    expect(ruleOf({ unknown: "hold", verify }, {})).toBe("hold");
  });

  it("is not guessed where the address is wrong", () => {
    const route = { ...PAYMENTS, verify: "/v1", on_store_failure: "open" };
    expect(problemsOf({ ROUTES: [route] }).map(({ path }) => path)).toEqual(["ROUTES[0].verify"]);
  });
});

/** Settings that contradict each other with `others` in force, and the member that is reported. */
const CONTRADICTIONS: readonly (readonly [member: string, settings: object, others?: object])[] = [
  ["lock", { lock: "30s", timeout: "31s" }],
  ["retention", { retention: "50s", lock: "60s" }],
  ["remember", { remember: "40d", retention: "40d" }],
  ["unknown_retention", { unknown_retention: "2d", retention: "3d" }],
  ["wait", { wait: "40s", lock: "40s" }, { duplicate: "wait" }],
  ["refused", { refused: [404] }, { ambiguous: [404] }],
  ["key_format.max", { key_format: { max: 250 }, forward_key: "charge" }],
  ["on_store_failure", { on_store_failure: "open", unknown: "hold" }],
  ["forward_key", { forward_key: "none", unknown: "verify" }, { verify: "/v1/by-key/{key}" }],
  ["previous_shards", { previous_shards: [32], shards: 32 }], // feature: previous-shards
  ["previous_scope", { previous_scope: [["ip"]], scope: ["ip"] }],
  ["unknown", { encrypt_responses: true, unknown: "verify" }, { verify: "/v1/by-key/{key}" }],
  ["previous_scope", { encrypt_responses: true, previous_scope: [["ip"]] }],
  ["note.label", { encrypt_responses: true, note: { label: "json:/id" } }],
  ["note.excerpt", { encrypt_responses: true, note: { excerpt: 100 } }],
  ["publish", { encrypt_responses: true, publish: [{ to: "x", type: "a.b" }] }], // feature: outbox
  ["async", { encrypt_responses: true, async: "prefer" }], // feature: accepted
  ["on_store_failure", { on_store_failure: "open", async: "prefer" }], // feature: accepted
  ["give_up.after", { give_up: { after: "60s" }, lock: "60s" }, { async: "prefer" }], // feature: accepted
  ["retention", { give_up: { after: "8h" }, retention: "15m" }, { async: "prefer" }], // feature: accepted
];

describe("settings that contradict each other", () => {
  const paths = (defaults: object, route: object) =>
    problemsOf({
      ENCRYPTION_SECRET: "a".repeat(32),
      SECRET: `whsec_${btoa("0".repeat(32))}`,
      DESTINATIONS: [{ name: "x", url: "https://x.example.net/", secret: "SECRET" }],
      IDEMPOTENCY: defaults,
      ROUTES: [{ ...PAYMENTS, ...route }],
    }).map(({ path }) => path);

  it.each(CONTRADICTIONS.map(([member, settings, others = {}]) => [member, settings, others] as const))(
    "are reported at %s, in a route that writes one of them, and not guessed: %j",
    (member, settings, others) => {
      const all = { unknown: "retry", ...others, ...settings };
      expect(paths(all, {})).toEqual([`IDEMPOTENCY.${member}`]);
      for (const [name, value] of Object.entries(settings)) {
        expect(paths(all, { [name]: value })).toEqual([`ROUTES[0].${member}`]);
        expect(paths(all, { [name]: null })).toEqual([`ROUTES[0].${name}`]);
      }
    },
  );
});

describe("refused and ambiguous", () => {
  it("can be swapped by writing both lists", () => {
    expect(settingsOf({ refused: [502], ambiguous: [504] })).toMatchObject({ refused: [502], ambiguous: [504] });
  });

  it("may have a status in one list and its class in the other, but not the same entry in both", () => {
    const lists = { refused: ["5xx", 429], ambiguous: [502, "4xx"] };
    expect(routeOf(lists).rules.lists).toEqual(lists);
    expect(problemOf({ refused: ["5xx", 429], ambiguous: [408, "5xx"] })).toBe(
      'refused: "5xx" is in ambiguous too: write ambiguous = [408], or leave it out here',
    );
  });
});

describe("key_format", () => {
  it("has no minimum length above the maximum", () => {
    expect(problemOf({ key_format: { min: 9, max: 8 } })).toBe(
      "key_format.min: must not exceed max (8): write min = 8 or less, or max = 9 or more",
    );
    expect(routeOf({ key_format: { min: 8, max: 8 } }).keyFormat).toEqual({ pattern: null, min: 8, max: 8 });
  });

  it("leaves room for the name of a step, since the origin accepts no longer key than the gateway", () => {
    const advice = "must not exceed 248, because the origin gets <key>:charge, and a key has at most 255 characters";
    expect(problemOf({ forward_key: "charge", key_format: { max: 249 } })).toBe(
      `key_format.max: ${advice}: write max = 248 or less`,
    );
    expect(problemOf({ forward_key: "charge", key_format: { min: 249 } })).toBe(
      `key_format.min: ${advice}: write min = 248 or less`,
    );
    expect(routeOf({ forward_key: "charge", key_format: { max: 248 } }).keyFormat.max).toBe(248);
    expect(routeOf({ forward_key: "charge" }).keyFormat.max).toBe(248);
    expect(routeOf({ forward_key: "none" }).keyFormat.max).toBe(255);
  });
});

describe("bindings", () => {
  // A stub that is callable under every name, as the platform's are.
  const binding: object = new Proxy({}, { get: () => () => null });

  it("serve as origins if they exist", () => {
    const config = configOf({ API: binding, IDEMPOTENCY: { origin: { binding: "API" } }, ROUTES: [PAYMENTS] });
    expect(config.routes[0]?.origin).toEqual({ kind: "binding", binding: "API" });
  });

  it.each([[undefined], [null], ["https://api.example.com"], [7]])("must exist: %j is not a binding", (value) => {
    const env = { API: value, IDEMPOTENCY: { origin: { binding: "API" } }, ROUTES: [PAYMENTS, { path: "/v1/orders" }] };
    expect(lines(env)).toEqual([
      'IDEMPOTENCY.origin.binding: there is no service, mTLS certificate or VPC service binding "API": ' +
        'write [[services]] with binding = "API", or the name of one that exists',
    ]);
  });

  it.each(["IDEMPOTENCY", "ROUTES", "KEY_SHARD", "toString"])("are not the gateway's own: %s", (name) => {
    const env = { KEY_SHARD: binding, IDEMPOTENCY: {}, ROUTES: [{ ...PAYMENTS, origin: { binding: name } }] };
    expect(lines(env)).toHaveLength(1);
  });
});

describe("routes that shadow each other", () => {
  it("may be several routes together", () => {
    expect(lines({ ROUTES: [{ path: "/a" }, { path: "/a/:x" }, { path: "/a/:y?" }] })).toEqual([
      'ROUTES[2].path: never gets a POST or PATCH, because ROUTES[0] ("/a") and ROUTES[1] ("/a/:x") catch it first: write this route above those, or remove it',
    ]);
  });

  it("do not occur if the methods differ", () => {
    const routes = [{ path: "/v1/*", methods: ["PUT"] }, { path: "/v1/payments" }];
    expect(configOf({ ROUTES: routes }).routes).toHaveLength(2);
  });
});
