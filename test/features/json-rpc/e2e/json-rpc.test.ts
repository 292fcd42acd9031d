// A JSON-RPC server behind the gateway, with its effects counted at the origin: calls take effect once, and each caller gets the response to its own call.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { expectProblem } from "../../../support/e2e/problem.ts";
import { clientOf, type Message, removeGateway, startGateway } from "../../../support/e2e/scene.ts";

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
  const message = JSON.stringify({ jsonrpc: "2.0", result: { number: seen.payments }, id });
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
  gateway = await startGateway(`http://127.0.0.1:${port}`, { shards: 2 }, [
    { path: "/mcp", jsonrpc: { tools: ["pay*"], optional: ["refund_*"] } },
    { path: "/mcp", jsonrpc: { tools: ["ship"] }, key_from: ["json:/params/arguments/order"] },
  ]);
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

  it("gets from an event stream its response alone", async () => {
    const key = freshKey();
    const first = await ask(call(1, "pay_slowly"), { key });
    expect(textOf(first)).toContain("progressToken");
    const again = await ask(call(2, "pay_slowly"), { key });
    expect(textOf(again)).toBe('event: message\ndata: {"jsonrpc":"2.0","result":{"number":1},"id":2}\n\n');
  });

  it("is another with other arguments, or of another tool", async () => {
    const key = freshKey();
    await ask(call(1, "pay", { amount: 5 }), { key });
    for (const other of [call(2, "pay", { amount: 6 }), call(2, "pay_all", { amount: 5 })]) {
      expectProblem(await ask(other, { key }), { code: "key-reused", status: 422, retryable: false, echo: key });
    }
    expect(seen.payments).toBe(1);
  });

  it("needs a key, the same one wherever it is", async () => {
    expectProblem(await ask(call(1, "pay")), { code: "key-missing", status: 400, retryable: false, echo: null });
    const two = await ask(call(1, "pay", { idempotency_key: "one" }), { key: "another" });
    expectProblem(two, { code: "key-invalid", status: 400, retryable: false, echo: null });
    expect(seen.bodies).toEqual([]);
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
    ["no JSON", "pay"],
    ["a method twice", '{"id":1,"method":"ping","method":"tools/call","params":{"name":"pay"}}'],
    ["a method in another case", '{"id":1,"method":"ping","Method":"tools/call","params":{"name":"pay"}}'],
    ["a batch with one", `[${JSON.stringify(call(1, "pay"))}]`],
  ])("is refused, and nothing is sent: %s", async (_what, body) => {
    const answered = await ask(body, { key: freshKey() });
    expect([answered.status, textOf(answered)]).toEqual([400, expect.stringContaining("request-invalid")]);
    expect(seen.bodies).toEqual([]);
  });
});

describe("everything else", () => {
  it.each([
    ["another tool", JSON.stringify(call(1, "list"))],
    ["another method", '{ "id" : 1,"method":"tools/list" }'],
    ["a notification", '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
    ["a response", '{"jsonrpc":"2.0","id":9,"result":{}}'],
    ["a batch of others", '[{"id":1,"method":"ping"}]'],
    ["an optional tool without a key", JSON.stringify(call(1, "refund_all"))],
  ])("passes each time, byte by byte: %s", async (_what, body) => {
    for (const _ of [1, 2]) expect(headerValue(await ask(body), "idempotent-replayed")).toBeNull();
    expect(seen.bodies).toEqual([body, body]);
  });

  it("passes by GET, and an optional tool with a key is protected", async () => {
    const answered = await clientOf(gateway.url).send({ method: "GET", path: "/mcp", body: null });
    expect(answered.status).toBe(200);
    const key = freshKey();
    await ask(call(1, "refund_all"), { key });
    await ask(call(2, "refund_all"), { key });
    expect(seen.payments).toBe(1);
  });
});
