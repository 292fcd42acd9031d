// How gateway and origin identify a caller: by the Host header, by a cookie, by headers from a trusted proxy. Both must see
// the same caller, or one caller gets another's answer.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, type HeaderPair } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Client, clientOf, removeGateway } from "../../../support/e2e/scene.ts";

/** Two APIs behind one binding, distinguished by host. Each effect has its own answer. */
const WORKER = `let effects = 0;
export default {
  async fetch(request) {
    return new Response(new URL(request.url).host + " " + (effects += 1), { status: 201 });
  },
};`;

let origin: TestOrigin;
let gateway: Gateway;
let client: Client;
beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: origin.url, shards: 1 },
      ROUTES: [
        { path: "/binding/none/*", origin: { binding: "API" }, scope: ["none"] },
        { path: "/binding/*", origin: { binding: "API" } },
        { path: "/url/host/*", scope: ["host"] },
        { path: "/cookie/*", scope: ["cookie:session"] },
        { path: "/tenant/*", scope: ["header:x-acme"] },
        { path: "/*" },
      ],
    },
    extraBindings: ['(name = "API", service = "api")'],
    extraServices: [
      `(name = "api", worker = (modules = [(name = "api", esModule = ${JSON.stringify(WORKER)})], compatibilityDate = "2026-10-01"))`,
    ],
  });
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

describe("the Host header of a client", () => {
  const at = (host: string): readonly HeaderPair[] => [["Host", host]];

  it.each(["/binding/pay", "/binding/none/pay"])(
    "makes a separate record when it reaches the origin, also without a credential: %s",
    async (path) => {
      const key = freshKey();
      const first = await client.send({ path, key, headers: at("a.example.com") });
      expect(first.body.toString()).toMatch(/^a\.example\.com /);
      const other = await client.send({ path, key, headers: at("b.example.com") });
      expect(other.body.toString()).toMatch(/^b\.example\.com /);
      expectFirstAnswer(other, 201);
      expectReplay(await client.send({ path, key, headers: at("A.Example.COM") }), first);
    },
  );

  it("does not matter where the origin is a URL: clients may reach one API under several names", async () => {
    const key = freshKey();
    const first = await client.send({ path: "/url/pay", key, headers: at("a.example.com") });
    expectReplay(await client.send({ path: "/url/pay", key, headers: at("b.example.com") }), first);
    expect(await origin.requests(key)).toHaveLength(1);
  });

  it("also separates records there, if the scope says so", async () => {
    const key = freshKey();
    await client.send({ path: "/url/host/pay", key, headers: at("a.example.com") });
    expectFirstAnswer(await client.send({ path: "/url/host/pay", key, headers: at("b.example.com") }), 201);
    expect(await origin.requests(key)).toHaveLength(2);
  });
});

describe("a cookie that is part of the scope", () => {
  it("in a second Cookie line is refused, and never treated as absent", async () => {
    const key = freshKey();
    const path = "/cookie/pay";
    const lines: readonly HeaderPair[] = [
      ["Cookie", "theme=dark"],
      ["Cookie", "session=alice"],
    ];
    const refused = await client.send({ path, key, headers: lines });
    const body = expectProblem(refused, { code: "request-invalid", status: 400, retryable: false, echo: key });
    expect(body["detail"]).toContain("The cookie session");
    expect(await origin.requests(key)).toEqual([]);
    expectFirstAnswer(await client.send({ path, key }), 201);
  });

  it("in one line identifies the caller, beside any other cookies", async () => {
    const key = freshKey();
    const path = "/cookie/pay";
    const first = await client.send({ path, key, headers: [["Cookie", "theme=dark; session=alice"]] });
    expectReplay(await client.send({ path, key, headers: [["Cookie", "session=alice; theme=light"]] }), first);
    expectFirstAnswer(await client.send({ path, key, headers: [["Cookie", "session=bob"]] }), 201);
  });
});

describe("a header that a trusted proxy has added", () => {
  const added: readonly HeaderPair[] = [
    ["Authorization", "Bearer proxy"],
    ["Cf-Access-Jwt-Assertion", "jwt"],
    ["X-Acme", "tenant of the scope"],
    ["X-Forwarded-For", "192.0.2.1"],
    ["X-Remote-User", "alice"],
  ];

  it("is not removed by the client's Connection header", async () => {
    const key = freshKey();
    const connection = ["Connection", ["close", "X-Hop", ...added.map(([name]) => name)].join(", ")] as const;
    const headers = [connection, ["X-Hop", "1"] as const, ...added];
    expectFirstAnswer(await client.send({ path: "/tenant/pay", key, headers }), 201);
    const [seen] = await origin.requests(key);
    const names = new Map(seen?.headers.map(([name, value]) => [name.toLowerCase(), value]));
    for (const [name, value] of added) expect([name, names.get(name.toLowerCase())]).toEqual([name, value]);
    expect(names.has("x-hop")).toBe(false);
  });

  it("is not duplicated under a name that a CGI-style server reads as the same", async () => {
    const key = freshKey();
    const imitations: readonly HeaderPair[] = [
      ["X_Acme", "other"],
      ["X_Forwarded_For", "127.0.0.1"],
      ["Idempotency_Attempt", "7"],
      ["Idempotency_Key", "other"],
      ["X_Remote_User", "mallory"],
    ];
    const headers = [...added, ...imitations, ["Api_Key", "kept"] as const];
    const passed = `/passed/${key}`;
    const ours: readonly HeaderPair[] = [
      ["Idempotency_Attempt", "7"],
      ["X_Forwarded-Host", "other"],
      ["X-Forwarded_Proto", "https"],
      ["Api_Key", "kept"],
    ];
    await client.send({ method: "GET", path: passed, headers: ours, body: null });
    const unprotected = (await origin.requests()).find((request) => request.path === passed);
    expect(unprotected?.headers.map(([name]) => name.toLowerCase()).filter((name) => name.includes("_"))).toEqual([
      "api_key",
    ]);
    expectFirstAnswer(await client.send({ path: "/tenant/pay", key, headers }), 201);
    const [seen] = await origin.requests(key);
    const names = seen?.headers.map(([name]) => name.toLowerCase()) ?? [];
    expect(names.filter((name) => name.includes("_"))).toEqual(["api_key"]);
  });
});
