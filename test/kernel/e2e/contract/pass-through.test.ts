// Unprotected requests pass as if there were no gateway: any method, size, status and protocol. Nothing is stored, and no
// object is called.

import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { type IncomingHttpHeaders, request as openRequest } from "node:http";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import type { Behaviour } from "../../../support/origin.ts";
import { expectProblem } from "../../../support/e2e/problem.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const LARGE_BYTES = 20 * 1024 * 1024;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: "per-key", max_request_body: "1MB", max_response_body: "1MB" }, [
    { path: "/protected/*" },
    { path: "/maybe/*", key: "optional" },
  ]);
});
afterAll(() => scene.close());

const digestOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

it.each([
  ["GET", null],
  ["HEAD", null],
  ["OPTIONS", null],
  ["PUT", "put"],
  ["DELETE", null],
  ["DELETE", "with a body"],
  ["POST", "post"],
  ["PATCH", "patch"],
  ["PROPFIND", "<a/>"],
])("passes a %s with the body %s to the origin and its answer back", async (method, body) => {
  const key = freshKey();
  const headers: [string, string][] = [
    ["X-Answer", "yes"],
    ["ETag", '"1"'],
    ["Set-Cookie", "a=1"],
    ["Set-Cookie", "b=2"],
  ];
  const bodiless = method === "HEAD";
  const behave = { status: 207, statusText: "Very Multi", headers, body: "as it is" };
  const response = await scene.send({ method, path: `/open/${key}?q=%20`, body, key, behave });
  expect([response.status, response.statusText]).toEqual([207, "Very Multi"]);
  expect([headerValue(response, "x-answer"), headerValue(response, "etag")]).toEqual(["yes", '"1"']);
  expect(response.headers.filter(([name]) => name.toLowerCase() === "set-cookie").map(([, value]) => value)).toEqual([
    "a=1",
    "b=2",
  ]);
  expect(response.body.toString()).toBe(bodiless ? "" : "as it is");
  expect(headerValue(response, "idempotency-key")).toBeNull();
  expect(headerValue(response, "idempotency-status")).toBe("ignored");
  const requests = await scene.origin.requests(key);
  expect(requests.map((request) => [request.method, request.url])).toEqual([[method, `/open/${key}?q=%20`]]);
  expect(Buffer.from(requests[0]?.body?.base64 ?? "", "base64").toString()).toBe(body ?? "");
});

it.each([
  ["GET", "/open/x", {}],
  ["POST", "/open/x", { key: freshKey() }],
  ["POST", "/maybe/x", {}],
  ["POST", "/maybe/x", { key: freshKey() }],
  ["GET", "/protected/x", {}],
] as const)(
  "keeps what the origin says to the gateway alone from the client: %s %s with %j",
  async (method, path, how) => {
    const headers: [string, string][] = [
      ["Onceway-Event", '{"type":"paid","data":{"card":"4111"}}'],
      ["Onceway-Elsewhere", '{"kind":"closed"}'],
      ["Idempotency-Small", "1"],
      ["X-Answer", "yes"],
    ];
    for (const status of [200, 404, 500]) {
      const response = await scene.send({
        method,
        path,
        body: null,
        ...how,
        behave: { status, headers, body: "as it is" },
      });
      const names = response.headers.map(([name]) => name.toLowerCase());
      expect(names).toContain("x-answer");
      expect(names.filter((name) => /^onceway-|-small$/.test(name))).toEqual([]);
      expect(response.body.toString()).toBe("as it is");
    }
  },
);

it("passes a path that is protected for another method unchanged, with its key", async () => {
  const key = freshKey();
  const message = { method: "PUT", path: "/protected/thing", key, headers: [["Idempotency-Attempt", "7"] as const] };
  for (const { status } of [await scene.send(message), await scene.send(message)]) expect(status).toBe(201);
  const requests = await scene.origin.requests(key);
  expect(requests.map(({ effect, attempt }) => [effect, attempt])).toEqual([
    [1, null],
    [2, null],
  ]);
});

it.each([301, 302, 303, 307, 308])("passes a %i on and does not follow it", async (status) => {
  const target = `/open/${freshKey()}`;
  const headers: [string, string][] = [["Location", scene.origin.url + target]];
  const response = await scene.send({ method: "GET", path: "/open/moved", body: null, behave: { status, headers } });
  expect([response.status, headerValue(response, "location")]).toEqual([status, scene.origin.url + target]);
  expect((await scene.origin.requests()).filter(({ path }) => path === target)).toEqual([]);
});

it.each([
  ["an answer without a body", { status: 204 }, 204, ""],
  ["a 304", { status: 304, headers: [["ETag", '"1"'] satisfies [string, string]] }, 304, ""],
  ["a 404", { status: 404, body: "nothing here" }, 404, "nothing here"],
  ["a 503 of the origin's", { status: 503, body: "come again" }, 503, "come again"],
  [
    "a problem of the origin's",
    { status: 422, headers: [["Content-Type", "application/problem+json"] satisfies [string, string]], body: "{}" },
    422,
    "{}",
  ],
])("passes %s on", async (_what, behave, status, body) => {
  const response = await scene.send({ method: "GET", path: "/open/any", body: null, behave });
  expect([response.status, response.body.toString()]).toEqual([status, body]);
});

it.each([
  ["GET", 600],
  ["GET", 700],
  ["GET", 999],
  ["HEAD", 600],
  ["HEAD", 700],
  ["HEAD", 999],
])("passes to a %s a status that HTTP does not define: %i", async (method, status) => {
  for (const keyed of [{}, { key: freshKey() }]) {
    const headers: [string, string][] = [["X-Answer", "yes"]];
    const behave = { status, statusText: "Odd", headers, body: "as it is" };
    const response = await scene.send({ method, path: "/open/odd", body: null, ...keyed, behave });
    expect([response.status, response.statusText, headerValue(response, "x-answer")]).toEqual([status, "Odd", "yes"]);
    expect(response.body.toString()).toBe(method === "HEAD" ? "" : "as it is");
  }
});

it.each([
  ["gzip", gzipSync],
  ["br", brotliCompressSync],
] as const)("passes bytes coded with %s on without decoding them, with a key as without", async (coding, compress) => {
  const bytes = compress("coded".repeat(100));
  const headers: [string, string][] = [["Content-Encoding", coding]];
  const behave = { status: 200, headers, bodyBase64: bytes.toString("base64") };
  for (const keyed of [{}, { key: freshKey() }]) {
    const response = await scene.send({ method: "GET", path: "/open/coded", body: null, ...keyed, behave });
    expect([headerValue(response, "content-encoding"), response.body.equals(bytes)]).toEqual([coding, true]);
  }
});

describe("the length of a body", () => {
  it.each([0, 1, 1234, 5_000_000_000])("passes with the answer to a HEAD: %i", async (length) => {
    const key = freshKey();
    const headers: [string, string][] = [["Content-Length", String(length)]];
    const response = await scene.send({ method: "HEAD", path: "/open/long", key, body: null, behave: { headers } });
    expect([response.status, headerValue(response, "content-length")]).toEqual([200, String(length)]);
    expect(response.body.length).toBe(0);
    expect((await scene.origin.requests(key)).map(({ method }) => method)).toEqual(["HEAD"]);
  });

  it("is said to a HEAD as to a GET where the gateway answers itself", async () => {
    const send = (method: string): Promise<RawResponse> =>
      scene.send({ method, path: "/.well-known/idempotency", body: null });
    const [head, get] = [await send("HEAD"), await send("GET")];
    expect([head.status, head.body.length, headerValue(head, "content-length")]).toEqual([
      200,
      0,
      String(get.body.length),
    ]);
  });

  it.each(["GET", "PUT"])("passes with the answer to a %s, and is not added to a body without one", async (method) => {
    const send = (behave: Behaviour): Promise<RawResponse> =>
      scene.send({ method, path: "/open/long", body: method === "GET" ? null : "x", behave });
    for (const bytes of [0, 1, 100_000]) {
      const response = await send({ generated: { seed: "long", bytes } });
      expect([headerValue(response, "content-length"), response.body.length]).toEqual([String(bytes), bytes]);
      expect(headerValue(response, "transfer-encoding")).toBeNull();
    }
    const chunked = await send({ chunked: true, generated: { seed: "long", bytes: 100_000 } });
    expect([headerValue(chunked, "content-length"), chunked.body.length]).toEqual([null, 100_000]);
  });

  it.each(["GET", "HEAD"])("passes with the answer to a %s also where another method is protected", async (method) => {
    const message = { method, path: "/protected/thing", key: freshKey(), body: null };
    const behave = { headers: [["Content-Length", "4"] satisfies [string, string]], body: "four" };
    for (let round = 0; round < 2; round += 1) {
      const response = await scene.send({ ...message, behave });
      expect([headerValue(response, "content-length"), response.body.toString()]).toEqual([
        "4",
        method === "HEAD" ? "" : "four",
      ]);
      expect(headerValue(response, "idempotency-key")).toBeNull();
    }
    expect(await scene.origin.requests(message.key)).toHaveLength(2);
  });
});

describe("large bodies", () => {
  it.each([false, true])(
    "passes an upload of 20 MiB, far beyond what a protected body may have (chunked: %s)",
    async (chunked) => {
      const key = freshKey();
      const body = randomBytes(LARGE_BYTES);
      const response = await scene.send({ path: `/open/${key}`, key, body, chunked });
      expect(response.status).toBe(201);
      const [request] = await scene.origin.requests(key);
      expect([request?.body?.bytes, request?.body?.sha256]).toEqual([LARGE_BYTES, digestOf(body)]);
    },
  );

  it("passes a download of 20 MiB", async () => {
    const path = `/open/${freshKey()}`;
    const piece = randomBytes(LARGE_BYTES / 20);
    await scene.origin.behave(
      { path },
      { status: 200, chunks: Array.from({ length: 20 }, () => ({ base64: piece.toString("base64") })) },
    );
    const response = await scene.send({ method: "GET", path, body: null });
    expect([response.complete, response.body.length]).toEqual([true, LARGE_BYTES]);
    expect(digestOf(response.body)).toBe(digestOf(Buffer.concat(Array.from({ length: 20 }, () => piece))));
  });

  it("streams an answer: the client gets its head before the origin has sent the body", async () => {
    const key = freshKey();
    const behave = { status: 200, chunks: ["first, ", "second"], holdBody: 1 };
    const request = scene.open({ method: "GET", path: "/open/stream", key, body: null, behave });
    expect((await request.head).status).toBe(200);
    expect((await scene.origin.requests(key)).map(({ answeredAtMs }) => answeredAtMs)).toEqual([null]);
    await scene.origin.release(key);
    expect((await request.response).body.toString()).toBe("first, second");
  });

  it("streams an upload: the origin gets its head before the client has sent the body", async () => {
    const key = freshKey();
    const request = scene.open({ path: "/open/upload", key, body: null, headers: [["Content-Length", "8"]] });
    await request.sent;
    request.write("1234");
    await until(async () => ((await scene.origin.requests(key)).length === 1 ? true : null), "the head at the origin");
    expect((await scene.origin.requests(key)).map(({ readAtMs }) => readAtMs)).toEqual([null]);
    request.write("5678");
    expect((await request.response).status).toBe(201);
  });
});

it("hides from a WebSocket's client what the handshake says to the gateway alone", async () => {
  const headers = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
  };
  const upgraded = (url: string): Promise<IncomingHttpHeaders> =>
    new Promise((resolve, reject) => {
      const opening = openRequest(`${url}/open/socket`, { headers });
      opening.once("error", reject);
      opening.once("upgrade", (response, socket) => {
        socket.destroy();
        resolve(response.headers);
      });
      opening.end();
    });
  expect(await upgraded(scene.origin.url)).toHaveProperty("onceway-event");
  expect(await upgraded(scene.gateway.url)).not.toHaveProperty("onceway-event");
});

it("passes a WebSocket, both ways", async () => {
  const socket = new WebSocket(`${scene.gateway.url.replace("http", "ws")}/open/socket`);
  const heard: unknown[] = [];
  const { promise: closed, resolve, reject } = Promise.withResolvers<void>();
  socket.addEventListener("error", () => reject(new Error("the WebSocket failed")));
  socket.addEventListener("open", () => socket.send("one"));
  socket.addEventListener("message", ({ data }) => {
    heard.push(data);
    if (heard.length === 1) socket.send("twö".repeat(1000));
    else socket.close();
  });
  socket.addEventListener("close", () => resolve());
  await closed;
  expect(heard).toEqual(["one", "twö".repeat(1000)]);
});

it("says that an unprotected request was not protected when its connection to the origin broke", async () => {
  const response = await scene.send({ path: "/open/broken", behave: { drop: "after-effect" } });
  const { detail } = expectProblem(response, { code: "origin-dropped", status: 502, retryable: false, echo: null });
  expect(detail).toContain("no idempotency key protects it");
});

describe("a body where none is expected", () => {
  const framings: readonly {
    readonly name: string;
    readonly body: string | null;
    readonly headers: [string, string][];
  }[] = [
    { name: "of some bytes", body: "query", headers: [["Content-Length", "5"]] },
    { name: "of some bytes, in chunks", body: "5\r\nquery\r\n0\r\n\r\n", headers: [["Transfer-Encoding", "chunked"]] },
    { name: "of length 0", body: null, headers: [["Content-Length", "0"]] },
    { name: "of no chunks", body: "0\r\n\r\n", headers: [["Transfer-Encoding", "chunked"]] },
  ];

  describe.each(["GET", "HEAD", "OPTIONS"])("of a %s", (method) => {
    it.each(framings)("passes: $name", async ({ body, headers }) => {
      const key = freshKey();
      const lines = [...headers, ["Idempotency-Attempt", "7"] as const];
      expect((await scene.send({ method, path: "/open/search?q=1", key, body, headers: lines })).status).toBe(200);
      const requests = await scene.origin.requests(key);
      const bodies = requests.map((request) => Buffer.from(request.body?.base64 ?? "", "base64").toString());
      // The runtime sends no body of unknown length with these two methods (see differential.test.ts).
      const isLost = method !== "OPTIONS" && headers.some(([name]) => name === "Transfer-Encoding");
      expect([requests.map((request) => [request.method, request.attempt]), bodies]).toEqual([
        [[method, null]],
        [body?.includes("query") === true && !isLost ? "query" : ""],
      ]);
    });
  });
});

it("lets no client claim that its request is a queue's message", async () => {
  const names = ["Onceway-Queue", "Onceway-Message-Id", "Onceway_Delivery", "onceway_message-id"];
  const headers = names.map((name) => [name, "orders"] as const);
  for (const path of ["/open/queue", "/protected/queue"]) {
    const key = freshKey();
    await scene.send({ path, key, headers });
    const [request] = await scene.origin.requests(key);
    expect(request?.headers.filter(([name]) => /^onceway/i.test(name))).toEqual([]);
  }
});

it("calls no object for an unprotected request", async () => {
  const own = await startScene({ shards: "per-key" }, [{ path: "/protected/*" }]);
  const objects = (): string[] =>
    readdirSync(own.gateway.stateDir, { recursive: true, encoding: "utf8" }).filter((name) =>
      /[0-9a-f]{64}\.sqlite$/.test(name),
    );
  // A second after the first request that it has answered alone, an isolate hands its counts to an object.
  await own.send({ path: "/protected/objects", body: null });
  const before = await until(async () => (objects().length === 1 ? objects() : null), "the object that counts");
  for (const method of ["POST", "GET"]) {
    await own.send({ method, path: "/open/objects", key: freshKey(), body: null });
    await own.send({ method, path: "/protected/objects", body: null });
  }
  await own.send({ method: "GET", path: "/.well-known/idempotency", body: null });
  expect(objects()).toEqual(before);
  await own.send({ path: "/protected/objects", key: freshKey() });
  expect(objects()).toHaveLength(2);
  await own.close();
});

it.each(["/open", "/protectedness/x", "/x/protected/y", "/x/PROTECTED/y", "/x?/protected/y"])(
  "%s is not protected",
  async (target) => {
    const response = await scene.send({ path: target });
    expect(response.status).toBe(201);
  },
);
