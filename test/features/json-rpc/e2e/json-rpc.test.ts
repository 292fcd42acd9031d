// A JSON-RPC server behind the gateway, with its effects counted at the origin: calls take effect once, and each caller gets the response to its own call.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { freePort } from "../../../support/ports.ts"; // feature: identities
import { clientOf, type Message, removeGateway, startGateway, until } from "../../../support/e2e/scene.ts";

const callSchema = v.looseObject({
  id: v.optional(v.union([v.number(), v.string()])),
  method: v.optional(v.string()),
  params: v.optional(v.looseObject({ name: v.optional(v.string()) })),
});

/** What the server has received and done. */
const seen: { bodies: string[]; payments: number } = { bodies: [], payments: 0 };

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = (await buffer(request)).toString();
  seen.bodies.push(text);
  const parsed: unknown = request.method === "POST" ? JSON.parse(text) : {};
  const { id, params } = v.parse(callSchema, Array.isArray(parsed) ? {} : parsed);
  const name = params?.name ?? "";
  if (/pay|refund/.test(name)) seen.payments += 1;
  const padding = name.endsWith("_largely") ? { padding: "x".repeat(900_000) } : null;
  const message = JSON.stringify({ jsonrpc: "2.0", result: { number: seen.payments, ...padding }, id });
  response.setHeader("Mcp-Session-Id", `session-${seen.bodies.length}`);
  if (!name.endsWith("_slowly")) {
    response.writeHead(200, { "Content-Type": "application/json", ETag: '"a"' }).end(message);
    return;
  }
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write('id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}\n\n');
  response.end(`id: 2\nevent: message\ndata: ${message}\n\n`);
}

let server: Server;
let gateway: Gateway;
beforeAll(async () => {
  server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = v.parse(v.object({ port: v.number() }), server.address());
  // feature: identities begins
  // Nothing listens there.
  const jwks = `http://127.0.0.1:${await freePort()}/keys`;
  const IDENTITIES = { user: { jwt: { issuer: "https://issuer.test", audience: "api", jwks } } };
  // feature: identities ends
  gateway = await startGateway(
    `http://127.0.0.1:${port}`,
    { shards: 2 },
    [
      { path: "/mcp", jsonrpc: { tools: ["pay*"], optional: ["refund_*"] } },
      { path: "/mcp", jsonrpc: { tools: ["ship"] }, key_from: ["json:/params/arguments/order"] },
      // feature: problem-shapes begins
      { path: "/shaped", jsonrpc: { tools: ["pay"] }, problems: "jsonrpc" },
      { path: "/shaped", jsonrpc: { tools: ["ship"] }, problems: "acp-mcp" },
      { path: "/known", jsonrpc: true, problems: "jsonrpc", scope: ["identity:user"] }, // feature: identities
      // feature: problem-shapes ends
    ],
    { IDENTITIES }, // feature: identities
  );
});
afterAll(async () => {
  await removeGateway(gateway);
  server.close();
});
beforeEach(() => {
  seen.bodies = [];
  seen.payments = 0;
});

function ask(body: unknown, more: Partial<Message> = {}): Promise<RawResponse> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = [["Content-Type", "application/json"]] as const;
  return clientOf(gateway.url).send({ path: "/mcp", headers, body: text, ...more });
}

const call = (id: unknown, name: string, args: object = {}, meta?: object): object => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
});

const textOf = ({ body }: RawResponse): string => body.toString();

describe("a call that is protected", () => {
  it("takes effect once, and each try gets the response under its own id, without the first one's session", async () => {
    const key = freshKey();
    const first = await ask(call(7, "pay"), { key });
    expect(textOf(first)).toBe('{"jsonrpc":"2.0","result":{"number":1},"id":7}');
    const again = await ask(call("next", "pay", {}, { progressToken: 5 }), { key });
    expect(textOf(again)).toBe('{"jsonrpc":"2.0","result":{"number":1},"id":"next"}');
    expect(headerValue(again, "idempotent-replayed")).toBe("true");
    expect([headerValue(again, "mcp-session-id"), headerValue(again, "etag")]).toEqual([null, null]);
    const same = await ask(call(7, "pay"), { key });
    expect([textOf(same), headerValue(same, "etag")]).toEqual([textOf(first), '"a"']);
    expect(seen.payments).toBe(1);
  });

  it.each([
    ["idempotency_key", (key: string) => ({ idempotency_key: key })],
    ["meta", (key: string) => ({ meta: { "idempotency-key": key } })],
  ])("may have its key in its arguments: %s", async (_where, argumentsOf) => {
    const args = argumentsOf(freshKey());
    await ask(call(1, "pay", args));
    expect(headerValue(await ask(call(2, "pay", args)), "idempotent-replayed")).toBe("true");
    expect(seen.payments).toBe(1);
  });

  it.each([
    ["of 300 KB", { text: "x".repeat(300_000) }, 8],
    ["whose ids are beyond 2^53", {}, "9007199254740995"],
  ])("is the same under its next id: one %s", async (_what, args, id) => {
    const key = freshKey();
    const text = (own: unknown, meta?: object): string =>
      JSON.stringify(call(0, "pay", args, meta)).replace('"id":0', `"id":${String(own)}`);
    await ask(text(typeof id === "string" ? "9007199254740993" : 7), { key });
    const again = await ask(text(id, { progressToken: 5 }), { key });
    expect([headerValue(again, "idempotent-replayed"), textOf(again)]).toEqual([
      "true",
      expect.stringContaining(`"id":${id}}`),
    ]);
    expect(seen.payments).toBe(1);
  });

  it("is protected by the route that names its tool, with the key of that route", async () => {
    const order = freshKey();
    await ask(call(1, "ship", { order }));
    expect(headerValue(await ask(call(2, "ship", { order })), "idempotent-replayed")).toBe("true");
    expect(seen.bodies).toHaveLength(1);
  });
});

describe("a request that nobody can tell from a protected call", () => {
  it.each([
    ["a method twice", '{"id":1,"method":"ping","method":"tools/call","params":{"name":"pay"}}'],
    ["a batch with one", `[${JSON.stringify(call(1, "pay"))}]`],
  ])("is refused, and nothing is sent: %s", async (_what, body) => {
    const answered = await ask(body, { key: freshKey() });
    expect([answered.status, textOf(answered)]).toEqual([400, expect.stringContaining("request-invalid")]);
    expect(seen.bodies).toEqual([]);
  });
});

describe("a replay of almost a MiB", () => {
  it("holds memory only until its client has it", async () => {
    const key = freshKey();
    await ask(call(1, "pay_largely"), { key });
    for (let id = 2; id < 30; id += 1) {
      const again = await ask(call(id, "pay_largely"), { key });
      expect([again.status, textOf(again).slice(-10)]).toEqual([200, `"},"id":${id}}`.slice(-10)]);
    }
    expect(seen.payments).toBe(1);
  });

  it("that its client does not take makes room for others", async () => {
    const key = freshKey();
    await ask(call(1, "pay_largely"), { key });
    const message = JSON.stringify(call(2, "pay_largely"));
    const stalled = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = connect(gateway.port, "127.0.0.1").pause();
        await once(socket, "connect");
        const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: ${key}\r\nContent-Type: application/json\r\n`;
        socket.write(`${head}Content-Length: ${message.length}\r\n\r\n${message}`);
        socket.on("error", () => undefined);
        return socket;
      }),
    );
    await until(async () => ((await ask(call(3, "pay_largely"), { key })).status === 200 ? true : null), "an answer");
    for (let id = 4; id < 10; id += 1) expect((await ask(call(id, "pay_largely"), { key })).status).toBe(200);
    for (const socket of stalled) socket.destroy();
  });
});

// feature: problem-shapes begins
describe("a problem of the gateway itself, for a client that finds its call by the id", () => {
  const errorOf = (response: RawResponse): unknown => JSON.parse(textOf(response));

  it("has the id of a call however large that is, and the form of the route that names its tool", async () => {
    const large = await ask(call(5, "pay", { text: "x".repeat(300_000) }), { path: "/shaped" });
    expect([large.status, errorOf(large)]).toMatchObject([200, { id: 5, error: { code: -32602 } }]);
    const ship = await ask(call("s", "ship"), { path: "/shaped" });
    expect([ship.status, errorOf(ship)]).toMatchObject([200, { id: "s", error: { code: -32000 } }]);
  });

  it("says of what is no JSON that it is none", async () => {
    const answered = await ask("{", { path: "/shaped", key: freshKey() });
    expect([answered.status, errorOf(answered)]).toMatchObject([400, { id: null, error: { code: -32700 } }]);
  });

  // feature: identities begins
  it("has the id also where nobody knows who calls", async () => {
    const key = freshKey();
    const nobody = await ask(call(6, "pay"), { path: "/known", key });
    expect([nobody.status, errorOf(nobody)]).toMatchObject([401, { id: 6, error: { code: 401 } }]);
    const claims = { iss: "https://issuer.test", aud: "api", exp: 4_000_000_000, sub: "me" };
    const token = [{ alg: "ES256", kid: "k" }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString("base64url"),
    );
    const headers = [
      ["Content-Type", "application/json"],
      ["Authorization", `Bearer ${token.join(".")}.AAAA`],
    ] as const;
    const away = await ask(call(7, "pay"), { path: "/known", key, headers });
    expect([away.status, errorOf(away)]).toMatchObject([200, { id: 7, error: { code: 503 } }]);
    expect(headerValue(away, "retry-after")).not.toBeNull();
  });
  // feature: identities ends
});
// feature: problem-shapes ends

describe("everything else", () => {
  it.each(['{ "id" : 1,"method":"tools/list" }', '{"jsonrpc":"2.0","id":9,"result":{}}'])(
    "passes each time, byte by byte: %s",
    async (body) => {
      for (const _ of [1, 2]) expect(headerValue(await ask(body), "idempotent-replayed")).toBeNull();
      expect(seen.bodies).toEqual([body, body]);
    },
  );

  it("passes by GET, and an optional tool with a key is protected", async () => {
    const answered = await clientOf(gateway.url).send({ method: "GET", path: "/mcp", body: null });
    expect(answered.status).toBe(200);
    const key = freshKey();
    await ask(call(1, "refund_all"), { key });
    await ask(call(2, "refund_all"), { key });
    expect(seen.payments).toBe(1);
  });
});
