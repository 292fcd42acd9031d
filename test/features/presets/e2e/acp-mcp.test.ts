// `preset = "acp-mcp"` in front of a server that knows no keys: ACP's rules over MCP (docs/mcp-binding.md), with keys among the arguments.

import { createServer, type Server } from "node:http";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { listen } from "../../../support/origin-server.ts";
import { removeGateway } from "../../../support/e2e/scene.ts";

interface Call {
  readonly id: number | string;
  readonly params: { readonly arguments: { readonly fails?: string } };
}

let shop: Server;
let gateway: Gateway;
let sold = 0;

/** Sells once for each call. `fails`: the type of its error instead. */
beforeAll(async () => {
  shop = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { id, params }: Call = JSON.parse(Buffer.concat(pieces).toString());
      const { fails: type } = params.arguments;
      sold += 1;
      const data = { type, code: "no", message: "no" };
      const outcome =
        type === undefined ? { result: { sold } } : { error: { code: -32_000, message: `no ${sold}`, data } };
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
    });
  });
  const { port } = await listen(shop, 0);
  gateway = await startWorkerd({
    stateDir: await makeStateDir(),
    vars: {
      IDEMPOTENCY: { origin: `http://127.0.0.1:${port}`, shards: 1 },
      ROUTES: [{ path: "/mcp", preset: "acp-mcp", unknown: "hold" }],
    },
  });
});
afterAll(async () => {
  await removeGateway(gateway);
  shop.close();
});

let calls = 0;

/** The status and the message that a call gets; its id has to be its own. */
async function call(key: string | null, more: object = {}, name = "complete_checkout_session"): Promise<object> {
  calls += 1;
  const own = `call-${calls}`;
  const meta = { api_version: "2026-01-30", ...(key === null ? null : { idempotency_key: key }), request_id: own };
  const params = { name, arguments: { meta, id: "cs-1", ...more } };
  const response = await fetch(`${gateway.url}/mcp`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer agent" },
    body: JSON.stringify({ jsonrpc: "2.0", id: own, method: "tools/call", params }),
  });
  const message = v.parse(v.looseObject({ id: v.string() }), await response.json());
  expect(message.id).toBe(own);
  return { status: response.status, ...message };
}

async function soldBy(act: () => Promise<unknown>): Promise<number> {
  const before = sold;
  await act();
  return sold - before;
}

it("6.1 a key is the tool's and the session's, and may be left out", async () => {
  const key = freshKey();
  const first = await call(key);
  expect(await call(key)).toEqual({ ...first, id: `call-${calls}` });
  expect(await soldBy(() => call(key, { id: "cs-2" }))).toBe(1);
  expect(await soldBy(() => call(key, {}, "cancel_checkout_session"))).toBe(1);
  expect(await soldBy(() => Promise.all([call(null), call(null)]))).toBe(2);
});

it("6.4 other arguments under a key get ACP's error in data, with HTTP 200, and nothing is sold", async () => {
  const key = freshKey();
  await call(key);
  const conflict = soldBy(async () =>
    expect(await call(key, { payment_data: { token: "another" } })).toMatchObject({
      status: 200,
      error: {
        code: -32_000,
        data: {
          type: "invalid_request",
          code: "idempotency_conflict",
          message: "Idempotency-Key has already been used with a different request body",
        },
      },
    }),
  );
  expect(await conflict).toBe(0);
});

it.each([
  ["processing_error", 2],
  ["service_unavailable", 2],
  ["invalid_request", 1],
])("6.5 an error of the type %s: two calls with the key run %i times", async (fails, times) => {
  const key = freshKey();
  expect(
    await soldBy(async () => {
      await call(key, { fails });
      await call(key, { fails });
    }),
  ).toBe(times);
});

it("6.5 after such an error the key takes a corrected request", async () => {
  const key = freshKey();
  await call(key, { fails: "service_unavailable" });
  expect(await call(key, { payment_data: { token: "another" } })).toMatchObject({ status: 200, result: { sold } });
});
