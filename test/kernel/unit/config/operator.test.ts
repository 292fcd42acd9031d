// Where operators have access, and with which secrets.

import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { configOf, PAYMENTS, problemsOf } from "./support.ts";

const env = (path?: unknown, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  OPERATOR_API: path === undefined ? {} : { path },
  ROUTES: [PAYMENTS],
  ...more,
});

const withApi = (settings: Readonly<Record<string, unknown>>) => ({ OPERATOR_API: settings, ROUTES: [PAYMENTS] });

describe("OPERATOR_API.hostname", () => {
  it("is none by default: operators are served on every host, and on the clients' port", () => {
    expect(configOf(env())).toMatchObject({ operatorHostname: null, hasOperatorPort: false });
    expect(configOf(withApi({ hostname: "ops.example.com" })).operatorHostname).toBe("ops.example.com");
  });

  it.each([
    "",
    "https://ops.example.com",
    "ops.example.com:8443",
    "Ops.example.com",
    "ops.example.com.",
    "*.example.com",
    7,
  ])("is not %s", (hostname) => {
    expect(problemsOf(withApi({ hostname })).map(({ path }) => path)).toEqual(["OPERATOR_API.hostname"]);
  });
});

describe("OPERATOR_API", () => {
  it("names each problem of its members, and those that it does not have", () => {
    const wrong = { listener: "mine", path: "ops", hostname: "x:1" };
    expect(problemsOf(withApi(wrong)).map(({ path }) => path)).toEqual(
      Object.keys(wrong).map((name) => `OPERATOR_API.${name}`),
    );
  });

  it.each(["ops.example.com", 7, []])("is a table, and not %j", (table) => {
    expect(problemsOf({ OPERATOR_API: table, ROUTES: [PAYMENTS] }).map(({ path }) => path)).toEqual(["OPERATOR_API"]);
  });

  it("may come as JSON text, as a variable of the dashboard does", () => {
    expect(configOf({ OPERATOR_API: '{"path":"/ops"}', ROUTES: [PAYMENTS] }).operatorPath).toBe("/ops");
  });

  it("serves operators on their own port alone where there is one", () => {
    expect(configOf({ ...env(), ONCEWAY_OPERATOR_PORT: "8788" }).hasOperatorPort).toBe(true);
  });
});

describe("OPERATOR_API.environment", () => {
  const read = (environment: unknown) => withApi({ environment });

  it("is a name, and none by default", () => {
    expect(configOf(env()).environment).toBeNull();
    for (const name of ["staging", "EU production 2", "a", "x".repeat(30)]) {
      expect(configOf(read(name)).environment).toBe(name);
    }
  });

  it.each(["", " ", "<b>", "staging ", "x".repeat(31), 7])("is not %s", (name) => {
    expect(problemsOf(read(name)).map(({ path }) => path)).toEqual(["OPERATOR_API.environment"]);
  });
});

describe("OPERATOR_API.path", () => {
  it("is /_onceway, or one or more plain segments", () => {
    expect(configOf(env()).operatorPath).toBe("/_onceway");
    for (const path of ["/ops", "/internal/v1.0/idempotency-keys", "/~a_b"]) {
      expect(configOf(env(path)).operatorPath).toBe(path);
    }
  });

  it.each([
    "",
    "/",
    "ops",
    "/ops/",
    "//ops",
    "/a b",
    "/:ops",
    "/*",
    "/o%70s",
    "/a/../b",
    "/.",
    7,
    "/.well-known",
    "/.well-known/idempotency/x",
  ])("is not %s", (path) => {
    expect(problemsOf(env(path)).map((one) => one.path)).toEqual(["OPERATOR_API.path"]);
  });

  it.each(["/_onceway", "/_onceway/x", "/_onceway/*"])("makes the route %s unreachable, which is a problem", (path) => {
    expect(problemsOf({ ROUTES: [{ path }] }).map((one) => one.path)).toEqual(["ROUTES[0].path"]);
    expect(configOf(env("/ops", { ROUTES: [{ path }] })).routes).toHaveLength(1);
  });

  it("may be covered by a wide route", () => {
    expect(configOf({ ROUTES: [{ path: "/*" }] }).routes).toHaveLength(1);
    expect(configOf({ ROUTES: [{ path: "/_oncewayward" }] }).routes).toHaveLength(1);
  });
});

describe("trust_forwarded", () => {
  it("holds for every route, and is false by default", () => {
    const trusting = configOf({ IDEMPOTENCY: { trust_forwarded: true }, ROUTES: [PAYMENTS] });
    expect([trusting.trustForwarded, trusting.routes[0]?.trustForwarded]).toEqual([true, true]);
    const plain = configOf(env());
    expect([plain.trustForwarded, plain.routes[0]?.trustForwarded]).toEqual([false, false]);
  });

  it("is a setting of the gateway and not of a route, and each invalid setting is named", () => {
    expect(problemsOf({ ROUTES: [{ ...PAYMENTS, trust_forwarded: true }] })).toMatchObject([
      { path: "ROUTES[0].trust_forwarded", message: expect.stringContaining("[vars.IDEMPOTENCY]") },
    ]);
    const faulty = { consumer_path: "ops", trust_forwarded: "yes" };
    expect(
      problemsOf({ IDEMPOTENCY: faulty, ROUTES: [PAYMENTS] })
        .map((one) => one.path)
        .toSorted(),
    ).toEqual(["IDEMPOTENCY.consumer_path", "IDEMPOTENCY.trust_forwarded"]);
  });
});

describe("tokens", () => {
  const ADMIN_TOKEN = "secret-of-an-admin-0123456789abc";
  const READ_TOKEN = "secret-of-a-reader-0123456789abc";

  it("are read: one, both or none", () => {
    expect(readConfig(env())).toMatchObject({ operators: null });
    const admin = { name: "admin", role: "admin", values: [ADMIN_TOKEN] };
    expect(readConfig(env(undefined, { ADMIN_TOKEN }))).toMatchObject({ operators: { tokens: [admin], access: null } });
    const both = readConfig(env(undefined, { ADMIN_TOKEN, READ_TOKEN }));
    const reader = { name: "reader", role: "reader", values: [READ_TOKEN] };
    expect(both).toMatchObject({ operators: { tokens: [admin, reader] } });
  });

  it.each([
    ["too short", { ADMIN_TOKEN: ADMIN_TOKEN.slice(1) }, ["ADMIN_TOKEN"]],
    ["empty", { ADMIN_TOKEN: "" }, ["ADMIN_TOKEN"]],
    ["with a space", { ADMIN_TOKEN: `${ADMIN_TOKEN} x` }, ["ADMIN_TOKEN"]],
    ["beyond ASCII", { ADMIN_TOKEN: `${ADMIN_TOKEN}é` }, ["ADMIN_TOKEN"]],
    ["no text", { ADMIN_TOKEN: { secret: ADMIN_TOKEN } }, ["ADMIN_TOKEN"]],
    ["to read, too short", { ADMIN_TOKEN, READ_TOKEN: "secret-of-a-reader" }, ["READ_TOKEN"]],
    ["to read, without one to change", { READ_TOKEN }, ["READ_TOKEN"]],
    ["the same twice", { ADMIN_TOKEN, READ_TOKEN: ADMIN_TOKEN }, ["READ_TOKEN"]],
  ])("that are %s are a problem, which does not show them", (_name, secrets, paths) => {
    const problems = problemsOf(env(undefined, secrets));
    expect(problems.map((one) => one.path)).toEqual(paths);
    expect(JSON.stringify(problems)).not.toContain("secret-of");
  });

  it("must not be in a configuration file", () => {
    const [top] = checkWranglerConfig({ vars: env(undefined, { ADMIN_TOKEN, READ_TOKEN }) });
    const found = (top?.problems ?? []).filter(({ path }) => path.endsWith("_TOKEN"));
    expect(found.map(({ path }) => path)).toEqual(["ADMIN_TOKEN", "READ_TOKEN"]);
    expect(JSON.stringify(top?.problems)).not.toContain("secret-of");
  });
});
