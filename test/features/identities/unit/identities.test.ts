// `[vars.IDENTITIES]`: what it becomes, and what is wrong with it. The tables of defaults are tested in settings-table.test.ts.

import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";

import { checkWranglerConfig, configWarnings } from "../../../../src/cli/check/file.ts";
import { type Identity } from "../../../../src/kernel/config/identity.ts";
import { JWT_ALGORITHMS } from "../../../../src/kernel/config/trusted-issuer.ts";
import { readScope } from "../../../../src/kernel/request/scope.ts";
import { configOf, PAYMENTS, problemsOf } from "../../../kernel/unit/config/support.ts";

const JWT = {
  issuer: "https://login.example.com",
  audience: "https://api.example.com",
  jwks: "https://login.example.com/jwks.json",
};
const ASK = { path: "/v1/me", pointer: "/account/id" };

function identityOf(user: object): Identity | undefined {
  return configOf({ ROUTES: [{ ...PAYMENTS, scope: ["identity:user"] }], IDENTITIES: { user } }).identities[0];
}

/** As `path: message`, without the beginning of the path. */
function problemsWith(user: unknown, scope: readonly string[] = ["identity:user"]): readonly string[] {
  const problems = problemsOf({ ROUTES: [{ ...PAYMENTS, scope }], IDENTITIES: { user } });
  return problems.map(({ path, message }) => `${path.replace("IDENTITIES.user", "")}: ${message}`);
}

const TRUSTED = {
  issuer: JWT.issuer,
  audience: [JWT.audience],
  claim: ["sub"],
  jwks: JWT.jwks,
  algorithms: [...JWT_ALGORITHMS],
  clockToleranceMs: 30_000,
};

describe("an identity", () => {
  it("from an issuer's tokens has a default for all but issuer, audience and jwks", () => {
    expect(identityOf({ jwt: JWT })).toEqual({
      name: "user",
      credential: [{ kind: "header", name: "authorization" }],
      anonymous: "refuse",
      proof: { kind: "jwt", issuers: [TRUSTED] },
    });
  });

  it("may have several issuers, each with its own claim", () => {
    const other = { ...JWT, issuer: "https://id.example.org", claim: "/account/a~1b~0c" };
    expect(identityOf({ jwt: [JWT, other] })?.proof).toEqual({
      kind: "jwt",
      issuers: [TRUSTED, { ...TRUSTED, issuer: other.issuer, claim: ["account", "a/b~c"] }],
    });
  });

  it("from a question has a path, a pointer and times", () => {
    const credential = ["header:X-Session", "cookie:Tenant"];
    expect(identityOf({ ask: { ...ASK, cache: "30s" }, credential, anonymous: "allow" })).toEqual({
      name: "user",
      credential: [
        { kind: "header", name: "x-session" },
        { kind: "cookie", name: "Tenant" },
      ],
      anonymous: "allow",
      proof: {
        kind: "ask",
        question: { path: "/v1/me", pointer: ["account", "id"], cacheMs: 30_000, timeoutMs: 5_000 },
      },
    });
  });

  it("is known to every route whose scopes name it, also older ones", () => {
    const { routes } = configOf({
      IDENTITIES: { user: { jwt: JWT }, account: { ask: ASK } },
      ROUTES: [
        { path: "/a", scope: ["identity:user", "header:x-tenant"] },
        { path: "/b", previous_scope: [["identity:account"]], scope: ["identity:user"] },
        { path: "/c" },
      ],
    });
    expect(routes.map(({ identities }) => identities.map(({ name }) => name))).toEqual([
      ["user"],
      ["user", "account"],
      [],
    ]);
  });

  it.each(["http://127.0.0.1:9000/jwks", "http://localhost/jwks", "http://[::1]:9000/jwks"])(
    "may have keys on the same machine without TLS: %s",
    (jwks) => {
      expect(identityOf({ jwt: { ...JWT, jwks } })?.proof).toMatchObject({ issuers: [{ jwks }] });
    },
  );
});

describe("what is wrong with an identity", () => {
  it("is also that no identity has the name that a scope uses", () => {
    expect(problemsWith({ jwt: JWT }, ["identity:users"])).toEqual([
      expect.stringMatching(
        /^ROUTES\[0\].scope: names an identity that is not described, "users": write "identity:user"/,
      ),
    ]);
    const previous = { ROUTES: [{ ...PAYMENTS, previous_scope: [["identity:x"]] }] };
    expect(problemsOf(previous).map(({ path }) => path)).toEqual(["ROUTES[0].previous_scope"]);
  });

  it("is also that routes with different origins ask by it, because equal ids of both would be one caller", () => {
    const problems = problemsOf({
      IDEMPOTENCY: { origin: "https://a.example.com", scope: ["identity:account"] },
      IDENTITIES: { account: { ask: ASK }, user: { jwt: JWT } },
      ROUTES: [
        { path: "/a" },
        { path: "/b", origin: "https://b.example.com" },
        { path: "/c", origin: { binding: "C" }, scope: ["ip"], previous_scope: [["identity:account"]] },
        { path: "/d", origin: "https://d.example.com", scope: ["identity:user"] },
        { path: "/e", origin: "https://a.example.com/" },
      ],
      C: {},
    });
    expect(problems.map(({ path }) => path)).toEqual(["ROUTES[1].scope", "ROUTES[2].previous_scope"]);
    expect(problems[0]?.message).toBe(
      'names the identity "account", which asks https://b.example.com here and https://a.example.com in ROUTES[0], so that equal ids ' +
        'of both would be one caller: describe an identity for each, [vars.IDENTITIES.account_2], and write "identity:account_2" here',
    );
  });

  it("is not that each origin has an identity of its own, whose callers have other names", () => {
    const { routes } = configOf({
      IDENTITIES: { account: { ask: ASK }, account_2: { ask: ASK } },
      ROUTES: [
        { path: "/a", origin: "https://a.example.com", scope: ["identity:account"] },
        { path: "/b", origin: "https://b.example.com", scope: ["identity:account_2"] },
      ],
    });
    const proofs = new Map(["account", "account_2"].map((name) => [name, { value: "7" }]));
    const scopes = routes.map(({ scope }) => readScope(new Headers(), "", scope, proofs));
    expect(scopes).toEqual([{ values: ["identity:account", "7"] }, { values: ["identity:account_2", "7"] }]);
  });

  it("is also a name that no scope could write, or a variable that is no table", () => {
    const paths = (IDENTITIES: unknown): readonly string[] =>
      problemsOf({ ROUTES: [PAYMENTS], IDENTITIES }).map(({ path }) => path);
    expect(paths({ "a b": { jwt: JWT } })).toEqual(['IDENTITIES."a b"']);
    expect(paths([{ jwt: JWT }])).toEqual(["IDENTITIES"]);
    expect(paths("{")).toEqual(["IDENTITIES"]);
  });
});

describe("a configuration that can be deployed", () => {
  const routes = [{ ...PAYMENTS, scope: ["identity:user"] }];

  it("warns of an identity that no scope names", () => {
    const config = configOf({ ROUTES: [PAYMENTS], IDENTITIES: { user: { jwt: JWT } } });
    expect(configWarnings(config).map(({ path }) => path)).toEqual(["IDENTITIES.user"]);
  });

  it("warns of a fingerprint that a refreshed credential changes", () => {
    const compared = [{ ...PAYMENTS, scope: ["identity:user"], fingerprint: { headers: ["Authorization"] } }];
    const config = configOf({ ROUTES: compared, IDENTITIES: { user: { jwt: JWT } } });
    expect(configWarnings(config).map(({ path }) => path)).toEqual(["ROUTES[0].fingerprint.headers"]);
  });

  const file = (vars: object, env: object) => ({
    compatibility_date: "2026-10-01",
    routes: ["api.example.com/*"],
    durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["KeyShard"] }],
    vars,
    env,
  });

  it("describes its identities in each environment, because none inherits them", () => {
    const bindings = { durable_objects: { bindings: [{ name: "KEY_SHARD", class_name: "KeyShard" }] } };
    const vars = { ROUTES: routes, IDENTITIES: { user: { jwt: JWT } } };
    const [top, staging] = checkWranglerConfig(file(vars, { staging: { ...bindings, vars: { ROUTES: routes } } }));
    expect(top?.problems).toEqual([]);
    expect(staging?.problems.map(({ path }) => path)).toContain("env.staging.IDENTITIES");
  });

  it("is no larger than a variable may be", () => {
    const IDENTITIES = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`user${at}`, { jwt: JWT }]));
    const [top] = checkWranglerConfig(file({ ROUTES: [PAYMENTS], IDENTITIES }, {}));
    expect(top?.problems).toMatchObject([
      { path: "IDENTITIES", message: expect.stringContaining("leave out the identities that no scope names") },
    ]);
  });

  it("is completed by editors: the JSON Schema takes and refuses the same", () => {
    const text = readFileSync(new URL("../../../../src/kernel/config/wrangler.schema.json", import.meta.url), "utf8");
    const validate = new Ajv({ strict: false }).compile(JSON.parse(text));
    const takes = (user: object): boolean => validate({ vars: { ROUTES: routes, IDENTITIES: { user } } });
    expect([{ jwt: JWT }, { jwt: [JWT, JWT] }, { ask: ASK, credential: ["cookie:s"] }].map(takes)).toEqual([
      true,
      true,
      true,
    ]);
    expect([{ jwt: { ...JWT, issuers: 1 } }, { asks: ASK }, { jwt: [{ ...JWT, claim: 1 }] }].map(takes)).toEqual([
      false,
      false,
      false,
    ]);
  });
});
