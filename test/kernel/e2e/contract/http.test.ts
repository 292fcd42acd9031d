// The HTTP contract of a protected request (docs/contract.md): what of the request reaches the origin, what of its
// answer reaches the client, and that a replay is the same answer. Its statuses, headers and codings: bodies/bytes-forms.test.ts and
// bodies/bytes.test.ts; settings of routes: http-settings.test.ts; what no route protects: pass-through.test.ts.

import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 2, timeout: "20s", lock: "30s" }, [
    { path: "/pay/*" },
    { path: "/every/*", methods: ["POST", "PUT", "PATCH", "DELETE", "PURGE"] },
    { path: "/retry/*", unknown: "retry", timeout: "2s", lock: "2500ms" },
  ]);
});
afterAll(() => scene.close());

/** Names in lower case, as the one request with this key had them at the origin. */
async function headersAtOrigin(key: string): Promise<ReadonlyMap<string, string>> {
  const requests = await scene.origin.requests(key);
  expect(requests).toHaveLength(1);
  return new Map(requests[0]?.headers.map(([name, value]) => [name.toLowerCase(), value]));
}

function linesOf({ headers }: RawResponse, name: string): string[] {
  return headers.filter(([candidate]) => candidate.toLowerCase() === name).map(([, value]) => value);
}

describe("a request's headers on their way to the origin", () => {
  it("arrive with their values, except those of the connection and those that Connection names", async () => {
    const key = freshKey();
    const headers: HeaderPair[] = [
      ["Connection", "close, X-Named"],
      ["X-Named", "for the next hop only"],
      ["Keep-Alive", "timeout=5"],
      ["Proxy-Authorization", "Basic cHJveHk="],
      ["TE", "trailers"],
      ["Authorization", "Bearer token"],
      ["Accept", "application/json"],
      ["Accept-Encoding", "gzip"],
      ["Cookie", "a=1; b=2"],
      ["If-Match", '"v1"'],
      ["User-Agent", "a client"],
      ["X-Custom", "kept; as=it is"],
    ];
    expectFirstAnswer(await scene.send({ path: "/pay/headers", key, headers }), 201);
    const seen = await headersAtOrigin(key);
    const names = ["x-named", "keep-alive", "proxy-authorization", "te", "transfer-encoding"];
    expect(names.filter((name) => seen.has(name))).toEqual([]);
    for (const [name, value] of headers.slice(5)) expect([name, seen.get(name.toLowerCase())]).toEqual([name, value]);
    expect(seen.get("host")).toBe(new URL(scene.origin.url).host);
  });

  it("carry the gateway's attempt number, not a client's", async () => {
    const headers: HeaderPair[] = [["Idempotency-Attempt", "41"]];
    const behave = { sequence: [{ status: 503 }, { drop: "after-effect" }, { status: 201 }] } as const;
    const message = { path: `/retry/${freshKey()}`, key: freshKey(), headers };
    await scene.origin.behave({ key: message.key }, { sequence: [...behave.sequence] });
    const statuses: number[] = [];
    while (!statuses.includes(201)) statuses.push((await scene.send(message)).status);
    expect(statuses.filter((status) => status !== 409)).toEqual([503, 502, 201]);
    expect((await scene.origin.requests(message.key)).map(({ attempt }) => attempt)).toEqual(["1", "2", "3"]);
  });

  it("keep all values of repeated lines", async () => {
    const key = freshKey();
    const headers: HeaderPair[] = [
      ["X-List", "one"],
      ["X-List", "two"],
    ];
    await scene.send({ path: "/pay/lines", key, headers });
    expect((await headersAtOrigin(key)).get("x-list")).toBe("one, two");
  });
});

it.each(["POST", "PUT", "PATCH", "DELETE", "PURGE"])("protects %s where the route names it", async (method) => {
  const message = { method, path: "/every/thing", key: freshKey() };
  const first = await scene.send(message);
  expectFirstAnswer(first, 201);
  expectReplay(await scene.send(message), first);
  const requests = await scene.origin.requests(message.key);
  expect(requests.map((request) => [request.method, request.body?.bytes])).toEqual([[method, 12]]);
});

it.each([
  ["none", null],
  ["an empty one", ""],
])("sends a request's body as it is where there is %s", async (_what, body) => {
  const message = { method: "DELETE", path: "/every/bodiless", key: freshKey(), body };
  const first = await scene.send(message);
  // The runtime says `Content-Length: 0` in both cases, also of what it passes through.
  const seen = await headersAtOrigin(message.key);
  expect([seen.get("content-length"), seen.has("transfer-encoding"), seen.has("content-type")]).toEqual([
    "0",
    false,
    false,
  ]);
  expectReplay(await scene.send(message), first);
});

describe("an answer's headers on their way to the client", () => {
  it("arrive and are replayed, except those of the connection and those that Connection names", async () => {
    const headers: [string, string][] = [
      ["Connection", "X-Hop"],
      ["X-Hop", "1"],
      ["Keep-Alive", "timeout=7"],
      ["Proxy-Authenticate", "Basic"],
      ["X-Custom", "kept; as=it is"],
      ["Cache-Control", "no-store"],
      ["Date", "Tue, 03 Nov 2026 10:00:00 GMT"],
      ["Content-Language", "de"],
      ["Link", '</next>; rel="next"'],
    ];
    const message = { path: "/pay/answer", key: freshKey(), behave: { status: 201, headers, body: "{}" } };
    const first = await scene.send(message);
    const replay = await scene.send(message);
    expectReplay(replay, first);
    for (const response of [first, replay]) {
      for (const name of ["x-hop", "keep-alive", "proxy-authenticate"])
        expect([name, linesOf(response, name)]).toEqual([name, []]);
      for (const [name, value] of headers.slice(4)) expect([name, headerValue(response, name)]).toEqual([name, value]);
    }
  });

  it("cannot fake a replay, an expiry or an echo", async () => {
    const headers: [string, string][] = [
      ["Idempotent-Replayed", "true"],
      ["Idempotency-Expires", "Thu, 01 Jan 1970 00:00:00 GMT"],
      ["Idempotency-Key", "another"],
    ];
    const refused = { path: "/pay/fake", key: freshKey(), behave: { status: 503, headers } };
    const answer = await scene.send(refused);
    expect([linesOf(answer, "idempotent-replayed"), linesOf(answer, "idempotency-expires")]).toEqual([[], []]);
    expect(linesOf(answer, "idempotency-key")).toEqual([refused.key]);
    const kept = { path: "/pay/fake", key: freshKey(), behave: { status: 200, headers } };
    const first = await scene.send(kept);
    expect(linesOf(first, "idempotent-replayed")).toEqual([]);
    expect(linesOf(first, "idempotency-key")).toEqual([kept.key]);
    expect(Date.parse(linesOf(first, "idempotency-expires").join())).toBeGreaterThan(Date.now());
    expectReplay(await scene.send(kept), first);
  });
});

describe("statuses", () => {
  it.each(["/relative", "https://itty-durable/do/call/ask", "https://key-shard/1/exchange"])(
    "a redirect to %s goes to the client and is never followed inside the gateway",
    async (location) => {
      const behave = { status: 303, headers: [["Location", location] satisfies [string, string]], body: "see other" };
      const message = { path: "/pay/inside", key: freshKey(), behave };
      const first = await scene.send(message);
      expectFirstAnswer(first, 303);
      expect([headerValue(first, "location"), first.body.toString()]).toEqual([location, "see other"]);
      expectReplay(await scene.send(message), first);
      expect(await scene.origin.effects(message.key)).toBe(1);
    },
  );
});

describe("content codings", () => {
  const plain = Buffer.from("the same text, over and over; ".repeat(200));
  it("an uncoded body with a Content-Encoding passes unchanged", async () => {
    const headers: [string, string][] = [["Content-Encoding", "gzip"]];
    const message = { path: "/pay/lie", key: freshKey(), behave: { status: 200, headers, body: "not gzip at all" } };
    const first = await scene.send(message);
    expect(first.body.toString()).toBe("not gzip at all");
    expectReplay(await scene.send(message), first);
  });

  it("a coded request body reaches the origin unchanged, and is compared by its bytes", async () => {
    const message = { path: "/pay/coded", key: freshKey(), headers: [["Content-Encoding", "gzip"] as const] };
    expectFirstAnswer(await scene.send({ ...message, body: gzipSync(plain) }), 201);
    const [request] = await scene.origin.requests(message.key);
    expect(request?.body?.base64).toBe(gzipSync(plain).toString("base64"));
    const reuse = await scene.send({ ...message, body: plain });
    expectProblem(reuse, { code: "key-reused", status: 422, retryable: false, echo: message.key });
  });
});

describe("path variants of a protected path", () => {
  it.each([
    "/pay/thing/",
    "//pay/thing",
    "/pay//thing",
    "/%70ay/thing",
    "/pay/thin%67",
    "/pay;x=1/thing",
    "/pay/thing;x=1",
    "/x/../pay/thing",
    "/./pay/thing",
    "/pay/./thing",
    "/pay%2Fthing",
    "/x/%2e%2e/pay/thing",
    "/pay\\thing",
    "/pay",
    "/pay/",
    "/pay?x=1",
  ])("%s is protected as well", async (target) => {
    const before = (await scene.origin.requests()).length;
    const response = await scene.send({ path: target });
    expectProblem(response, { code: "key-missing", status: 400, retryable: false, echo: null });
    expect(await scene.origin.requests()).toHaveLength(before);
  });

  it.each(["/pay/thing/", "//pay/thing", "/%70ay/thing;x=1?q=%20%C3%A9&&a"])(
    "%s reaches the origin unchanged",
    async (target) => {
      const key = freshKey();
      expectFirstAnswer(await scene.send({ path: target, key }), 201);
      expect((await scene.origin.requests(key)).map(({ url }) => url)).toEqual([target]);
    },
  );
});
