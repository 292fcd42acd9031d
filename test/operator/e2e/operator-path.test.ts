// Attacks on the operator path over raw sockets: no form of the path reaches the origin, which would leak an operator's token,
// and no form is answered that a proxy's rule for the path would miss.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoint, freshKey, type HeaderPair, rawRequest, type RawResponse } from "../../support/http.ts";
import { operatorPathForm } from "../../support/operator-path-forms.ts";
import {
  ADMIN_TOKEN,
  BASE,
  type OperatorScene,
  READ_TOKEN,
  startOperatorScene,
} from "../../support/e2e/operator-scene.ts";

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 1, scope: ["none"] }, [{ path: "/v1/*" }, { path: "/*" }]);
});
afterAll(() => scene.close());

const TOKEN: HeaderPair = ["Authorization", `Bearer ${ADMIN_TOKEN}`];

function ask(target: string, headers: readonly HeaderPair[] = [TOKEN], method = "GET"): Promise<RawResponse> {
  return rawRequest({ ...endpoint(scene.gateway.url), method, target, headers });
}

const codeOf = ({ body }: RawResponse): unknown => /"code":"([^"]+)"/.exec(body.toString())?.[1];

/** What has reached the origin since this was last asked. */
async function arrivals(): Promise<readonly string[]> {
  const requests = await scene.origin.requests();
  await scene.origin.reset();
  return requests.map(({ method, url }) => `${method} ${url}`);
}

const HOSTS = [
  "x/_onceway/health?",
  "x/_onceway/health#",
  "x\\_onceway\\health?",
  "x?/../_onceway/health",
  "x#",
  "api.example@127.0.0.1",
  "a:b@127.0.0.1",
  "x y",
  "x\ty",
  "x\u0001y",
  "x\u007f",
  "x%2f_onceway%2fhealth",
  "x,y",
  "x:80:80",
  "[::1",
  "\u00c3\u00a9.example",
  "",
];

describe("a Host header that is not a host name", () => {
  it.each(HOSTS)("is answered 400 for every caller, and nothing is forwarded: %j", async (host) => {
    for (const [method, target] of [
      ["GET", "/"],
      ["POST", "/v1/orders"],
      ["GET", `${BASE}/health`],
      ["GET", "/.well-known/idempotency"],
    ] as const) {
      const headers: HeaderPair[] = [["Host", host], ["Idempotency-Key", freshKey()], TOKEN];
      expect((await ask(target, headers, method)).status).toBe(400);
    }
    expect(await arrivals()).toEqual([]);
  });

  it.each([
    "@other.example/v2",
    ":pass@other.example/v2",
    ".other.example/v2",
    "other.example/v2",
    ":81/v2",
    "@x/_onceway",
  ])("is one that the target adds to: %s", async (target) => {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const headers: HeaderPair[] = [["Host", "api.example.com"], ["Idempotency-Key", freshKey()], TOKEN];
      expect([method, (await ask(target, headers, method)).status]).toEqual([method, 400]);
    }
    expect(await arrivals()).toEqual([]);
  });

  it("is refused when it is repeated, whatever the values", async () => {
    for (const [one, other] of [
      ["api.example", "ops.example"],
      ["api.example", "api.example"],
      ["api.example", ""],
    ] as const) {
      expect(
        (
          await ask("/", [
            ["Host", one],
            ["Host", other],
          ])
        ).status,
      ).toBe(400);
    }
    expect(await arrivals()).toEqual([]);
  });
});

describe("the operator path", () => {
  it("is served in its plain form, and in the absolute form that proxies use, with a token whatever the route", async () => {
    expect((await ask(`${BASE}/health`)).status).toBe(200);
    expect((await ask(`http://other.example${BASE}/health`)).status).toBe(200);
    expect((await ask(`${BASE}/records`, [["Idempotency-Key", freshKey()]], "POST")).status).toBe(401);
    expect(await arrivals()).toEqual([]);
  });

  it.each([
    "/x/../_onceway/health",
    "/%2e%2e/_onceway/health",
    "/_onceway\\health",
    "/_onceway/../_onceway/health",
    "/./_onceway/health",
    "//_onceway/health",
    "/_Onceway/health",
    "/_ONCEWAY/HEALTH",
    "/%5fonceway/health",
    "/%255fonceway/health",
    "/_onceway;/health",
    "/_onceway./health",
    "/_onceway%20/health",
    "/_onceway%00/health",
    "/_onceway%2fhealth",
    "/_onceway/",
    "/_onceway/health/",
    "/_onceway/%68ealth",
    "/_onceway/./health;x",
    "/_onceway/records/x%2f",
    "/x%2f..%2f_onceway/health",
    "/x/..;/_onceway/health",
    "http://other.example/x/../_onceway/health",
  ])("is not found elsewhere, and reaches no origin: %s", async (target) => {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const answer = await ask(target, [TOKEN, ["Idempotency-Key", freshKey()]], method);
      expect([answer.status, codeOf(answer)]).toEqual([404, "operator-not-found"]);
    }
    expect(await arrivals()).toEqual([]);
  });

  it("reaches no origin in any spelling", async () => {
    await fc.assert(
      fc.asyncProperty(operatorPathForm, async (form) => {
        const answer = await ask(form, [TOKEN, ["Idempotency-Key", freshKey()]], "POST");
        // 400: the runtime itself takes no such target.
        expect([404, 400]).toContain(answer.status);
        if (answer.status === 404) expect(codeOf(answer)).toBe("operator-not-found");
      }),
      { numRuns: 500 },
    );
    expect(await arrivals()).toEqual([]);
  });

  it("does not hide paths that only look like it", async () => {
    const without: HeaderPair[] = [];
    for (const path of ["/_oncewayward", "/v2/_onceway/x", "/_once/way"])
      expect((await ask(path, without)).status).toBe(200);
    expect(await arrivals()).toHaveLength(3);
  });
});

describe("an operator's token", () => {
  it("that was sent to another path is not forwarded to an origin", async () => {
    for (const token of [ADMIN_TOKEN, READ_TOKEN]) {
      for (const scheme of ["Bearer", "bearer", "Bearer  "]) {
        const headers: HeaderPair[] = [
          ["Authorization", `${scheme} ${token}`],
          ["Idempotency-Key", freshKey()],
        ];
        for (const [method, target] of [
          ["GET", "/onceway/health"],
          ["POST", "/v1/orders"],
          ["GET", "/.well-known/idempotency"],
        ] as const) {
          expect(codeOf(await ask(target, headers, method))).toBe("operator-not-found");
        }
      }
    }
    expect(await arrivals()).toEqual([]);
  });

  it("is not confused with values that resemble one", async () => {
    const others = [`Bearer ${ADMIN_TOKEN}x`, `Bearer ${ADMIN_TOKEN.slice(1)}`, `Bearer ${"x".repeat(64)}`, "Bearer"];
    for (const other of others) expect((await ask("/x", [["Authorization", other]])).status).toBe(200);
    expect(await arrivals()).toHaveLength(others.length);
  });
});

describe("a hostname for operators", () => {
  const PATH = "/internal/ops";

  it("serves the path that is configured and nothing else, and no other host serves it", async () => {
    const more = { OPERATOR_API: { hostname: "ops.example.com", path: PATH } };
    const own = await startOperatorScene({ shards: 1, scope: ["none"] }, [{ path: "/v1/*" }], undefined, more);
    const at = async (host: string, target: string, headers: readonly HeaderPair[] = [TOKEN]): Promise<number> => {
      const all: readonly HeaderPair[] = [["Host", host], ...headers];
      return (await rawRequest({ ...endpoint(own.gateway.url), method: "GET", target, headers: all })).status;
    };
    try {
      expect(await at("ops.example.com", `${PATH}/health`)).toBe(200);
      expect(await at("OPS.example.com:8443", `${PATH}/health`)).toBe(200);
      for (const host of ["api.example.com", "ops.example.com.", "xops.example.com", "ops.example.com.evil.example"]) {
        expect(await at(host, `${PATH}/health`)).toBe(404);
        expect(await at(host, `/x/..${PATH}/health`)).toBe(404);
      }
      for (const target of [
        "/",
        "/v1/orders",
        "/.well-known/idempotency",
        `/x/..${PATH}/health`,
        "/Internal/ops/health",
        `${BASE}/health`,
      ]) {
        expect(await at("ops.example.com", target, [])).toBe(404);
      }
      expect(await own.origin.requests()).toEqual([]);
      expect(await at("api.example.com", "/v2", [])).toBe(200);
      expect(await at("api.example.com", "/.well-known/idempotency", [])).toBe(200);
    } finally {
      await own.close();
    }
  });
});
