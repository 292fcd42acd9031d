// @module-tag needs/haproxy
// @module-tag needs/nginx
// Operators behind real proxies, in the two ways that src/serve/README.md describes: a listener of their own, with its very lines, and a
// rule for their path. Every form of attack goes through the proxy, and to the gateway itself.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../support/gateway.ts";
import { freshKey, type HeaderPair, headerValue, rawRequest, type RawResponse } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { freePort } from "../../support/ports.ts";
import { type Proxy, runProxy, startProxy } from "../../support/proxies.ts";
import { ADMIN_TOKEN, BASE } from "../../support/e2e/operator-scene.ts";
import { removeGateway } from "../../support/e2e/scene.ts";

const OPERATOR = "127.0.0.2";
const KINDS = ["nginx", "haproxy"] as const;

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());

async function startGateway(operatorPort?: number): Promise<Gateway> {
  const listener = operatorPort === undefined ? {} : { trust_forwarded: true };
  return startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1, scope: ["none"], ...listener },
      ROUTES: [{ path: "/v1/*" }],
      ADMIN_TOKEN,
    },
    ...(operatorPort === undefined ? {} : { operatorPort }),
  });
}

const TOKEN: HeaderPair = ["Authorization", `Bearer ${ADMIN_TOKEN}`];

/** A client's request. */
function pay(port: number, key: string): Promise<RawResponse> {
  return rawRequest({
    host: "127.0.0.1",
    port,
    method: "POST",
    target: "/v1/pay",
    headers: [["Idempotency-Key", key]],
    body: "{}",
  });
}

/** From anywhere but the operators' network, unless told otherwise. */
function ask(
  port: number,
  target: string,
  headers: readonly HeaderPair[] = [],
  from = "127.0.0.1",
): Promise<RawResponse> {
  return rawRequest({
    host: "127.0.0.1",
    port,
    from,
    method: "GET",
    target,
    headers: headers.some(([name]) => name === "Authorization") ? headers : [TOKEN, ...headers],
  });
}

const TARGETS = [
  "/_onceway",
  "/_onceway/health",
  "/x/../_onceway/health",
  "/x/%2e%2e/_onceway/health",
  "/%2e/_onceway/health",
  "/_onceway\\health",
  "/x\\..\\_onceway\\health",
  "//_onceway/health",
  "/./_onceway/health",
  "/%5fonceway/health",
  "/%255fonceway/health",
  "/_Onceway/health",
  "/_onceway;/health",
  "/_onceway%2fhealth",
  "/_onceway./health",
  "/_onceway%20/health",
  "http://x/_onceway/health",
  "http://x/x/../_onceway/health",
  "HTTP://x/_onceway/health",
  "@x/_onceway/health",
  ".x/_onceway/health",
  "x/_onceway/health",
];

const HOSTS = [
  "x/_onceway/health?",
  "x/_onceway/health#",
  "x\\_onceway\\health?",
  "x?",
  "x@y",
  "x y",
  "ops.example.com",
];

const MARKS: readonly (readonly HeaderPair[])[] = [
  [["X-Forwarded-Host", "ops.example.com"]],
  [["X-Original-URL", "/_onceway/health"]],
  [["X-Rewrite-URL", "/_onceway/health"]],
  [["X-Forwarded-Prefix", "/_onceway"]],
  [["MF-Entrypoint", "Operators"]],
  [["CF-Worker-Entrypoint", "Operators"]],
];

/** Whatever a stranger tries here, no operator API answers, and nothing below its path reaches the origin. */
async function checkClosed(port: number): Promise<void> {
  await origin.reset();
  const answers: (readonly [string, RawResponse])[] = [];
  for (const target of TARGETS) answers.push([target, await ask(port, target)]);
  for (const host of HOSTS) {
    for (const target of ["/", "/health", "/_onceway/health"]) {
      answers.push([`${host} ${target}`, await ask(port, target, [["Host", host]])]);
    }
  }
  for (const headers of MARKS) {
    for (const target of ["/health", "/_onceway/health"]) {
      answers.push([`${JSON.stringify(headers)} ${target}`, await ask(port, target, headers)]);
    }
  }
  for (const [what, { status, body }] of answers) {
    expect([what, status >= 400 && status < 500, body.includes('"version"')]).toEqual([what, true, false]);
  }
  expect((await origin.requests()).map(({ url }) => url)).toEqual([]);
}

describe("operators with a listener of their own", () => {
  let gateway: Gateway;
  let operatorPort = 0;
  beforeAll(async () => {
    operatorPort = await freePort();
    gateway = await startGateway(operatorPort);
  });
  afterAll(() => removeGateway(gateway));

  it("reach the operator path there, and nothing else", async () => {
    expect((await ask(operatorPort, `${BASE}/health`)).status).toBe(200);
    await origin.reset();
    for (const target of ["/", "/v1/orders", "/.well-known/idempotency", "/x/../_onceway/health", "/_Onceway/health"]) {
      expect((await ask(operatorPort, target)).status).toBe(404);
    }
    expect((await ask(operatorPort, "/", [["Host", "x/_onceway/health?"]])).status).toBe(400);
    expect(await origin.requests()).toEqual([]);
  });

  it("reach it on no other port without a proxy", () => checkClosed(gateway.port));

  describe.each(KINDS)("behind %s, as src/serve/README.md prints it", (kind) => {
    let proxy: Proxy;
    beforeAll(async () => {
      const places = { gatewayPort: gateway.port, operatorPort, operatorNetwork: `${OPERATOR}/32` };
      proxy = await startProxy(kind, places);
    });
    afterAll(() => proxy.stop());

    it("reach it only from their own network", async () => {
      expect((await ask(proxy.operatorPort, `${BASE}/health`, [], OPERATOR)).status).toBe(200);
      expect((await ask(proxy.operatorPort, `${BASE}/health`)).status).toBe(403);
    });

    it("reach it on no other port", () => checkClosed(proxy.port));

    it("do not affect clients", async () => {
      const key = freshKey();
      expect((await pay(proxy.port, key)).status).toBe(201);
      expect((await pay(proxy.port, key)).headers.some(([name]) => name.toLowerCase() === "idempotent-replayed")).toBe(
        true,
      );
      expect(await origin.effects(key)).toBe(1);
    });

    it("brings clients answers with 55 kB of headers, and their replays", async () => {
      const key = freshKey();
      const headers: HeaderPair[] = Array.from({ length: 55 }, (_, at) => [`X-Field-${at}`, "v".repeat(1000)]);
      await origin.behave({ key }, { status: 201, headers: headers.map(([name, value]) => [name, value]) });
      for (const isReplay of [false, true]) {
        const answer = await pay(proxy.port, key);
        expect([answer.status, headerValue(answer, "x-field-54")?.length]).toEqual([201, 1000]);
        expect(headerValue(answer, "idempotent-replayed")).toBe(isReplay ? "true" : null);
      }
      expect(await origin.effects(key)).toBe(1);
    });

    it("tells the gateway the requested host, the scheme and the client's address, and drops a client's own claims", async () => {
      const target = `/open/${freshKey()}`;
      await ask(proxy.port, target, [
        ["Host", "api.example.com"],
        ["Authorization", "Bearer of-a-client"],
        ["X-Forwarded-Host", "claimed.example"],
        ["X-Forwarded-Proto", "gopher"],
        ["Forwarded", "host=claimed.example"],
        ["CF-Connecting-IP", "192.0.2.1"],
      ]);
      const request = (await origin.requests()).find(({ url }) => url === target);
      const said = request?.headers.filter(([name]) =>
        /^(?:(?:x-)?forwarded(?:-host|-proto)?|cf-connecting-ip)$/i.test(name),
      );
      expect(said?.map(([name, value]) => `${name.toLowerCase()}: ${value}`).toSorted()).toEqual([
        "cf-connecting-ip: 127.0.0.1",
        "x-forwarded-host: api.example.com",
        "x-forwarded-proto: https",
      ]);
    });
  });
});

describe("operators on the clients' port, behind a proxy's rule for their path", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => removeGateway(gateway));

  const RULES = {
    nginx: (port: number, to: number) => `server {
      listen 127.0.0.1:${port};
      location /_onceway { allow ${OPERATOR}/32; deny all; proxy_pass http://127.0.0.1:${to}; proxy_set_header Host $http_host; }
      location / { proxy_pass http://127.0.0.1:${to}; proxy_set_header Host $http_host; }
    }\n`,
    haproxy: (port: number, to: number) =>
      `listen all\n  bind 127.0.0.1:${port}\n  http-request deny if { path_beg /_onceway } !{ src ${OPERATOR}/32 }\n  server gateway 127.0.0.1:${to}\n`,
  };

  it.each(KINDS)("reach it only from their own network: %s", async (kind) => {
    const port = await freePort();
    const proxy = await runProxy(kind, RULES[kind](port, gateway.port), port, port);
    try {
      expect((await ask(port, `${BASE}/health`, [], OPERATOR)).status).toBe(200);
      await checkClosed(port);
    } finally {
      await proxy.stop();
    }
  });
});
