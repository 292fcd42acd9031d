// Problems in shapes over the wire: which answers have one, what stays as it is, and that nothing else of a route changes.

import { parse } from "smol-toml";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blockWith } from "../../../support/docs.ts";
import { freshKey, headerValue, type HeaderPair, type RawResponse } from "../../../support/http.ts";
import { expectFirstAnswer, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

/** Without a status of its own. */
const ACME = {
  type: "application/vnd.acme+json",
  body: {
    kind: "{word}",
    status: "{status}",
    text: "Problem: {detail}",
    order: "{json:/order}",
    wait: "{retryAfter?}",
  },
  codes: { default: { word: "other" }, "key-reused": { word: "REUSED" } },
};

const PAGE = "src/features/problem-shapes/README.md";
const SHOWN = v.parse(
  v.object({ PROBLEMS: v.object({ acme: v.record(v.string(), v.any()) }) }),
  Object(parse(blockWith(PAGE, "vars.PROBLEMS"))).vars,
);

let scene: Scene;
beforeAll(async () => {
  scene = await startScene(
    { shards: 4, timeout: "5s", lock: "8s" },
    [
      { path: "/acp/*", problems: "acp", max_request_body: "1kB" },
      { path: "/acme/*", problems: "acme", key_reused_status: 422 },
      { path: "/shown", problems: "shown" },
      { path: "/rpc", problems: "jsonrpc" },
      { path: "/plain/*" },
    ],
    { PROBLEMS: { acme: ACME, shown: SHOWN.PROBLEMS.acme } },
  );
});
afterAll(() => scene.close());

const JSON_TYPE: HeaderPair = ["Content-Type", "application/json"];

function bodyOf(response: RawResponse): unknown {
  return JSON.parse(response.body.toString());
}

async function reuse(path: string, first: string, second: string): Promise<RawResponse> {
  const key = freshKey();
  expectFirstAnswer(await scene.send({ path, key, headers: [JSON_TYPE], body: first }), 201);
  return scene.send({ path, key, headers: [JSON_TYPE], body: second });
}

it("has the shape before and after the shard, and keeps the headers", async () => {
  const missing = await scene.send({ path: "/acp/x", body: "{}" });
  expect([missing.status, bodyOf(missing)]).toEqual([
    400,
    {
      type: "invalid_request",
      code: "idempotency_key_required",
      message: "Idempotency-Key header is required on all POST requests",
    },
  ]);
  expect(headerValue(missing, "content-type")).toBe("application/json");
  expect(headerValue(missing, "link")).toContain("/.well-known/idempotency");
  const reused = await reuse("/acp/x", "{}", "[]");
  expect([reused.status, bodyOf(reused)]).toEqual([422, expect.objectContaining({ code: "idempotency_conflict" })]);
  expect(headerValue(reused, "idempotency-status")).toBe("key-reused");
  expect(headerValue(reused, "x-should-retry")).toBe("false");
  expect(headerValue(reused, "idempotency-key")).not.toBeNull();
  const large = await scene.send({ path: "/acp/x", key: freshKey(), body: "x".repeat(2000) });
  expect([large.status, bodyOf(large)]).toEqual([413, expect.objectContaining({ type: "invalid_request" })]);
});

it("is what the page shows", async () => {
  const key = freshKey();
  const first = scene.send({ path: "/acp/shown", key, behave: { delayMs: 1500 } });
  await scene.origin.arrived(key);
  expect(bodyOf(await scene.send({ path: "/acp/shown", key }))).toEqual(
    JSON.parse(blockWith(PAGE, '"idempotency_in_flight"')),
  );
  await first;
  const { text, order, ...shown } = JSON.parse(blockWith(PAGE, '"kind": "REUSED"'));
  const reused = bodyOf(await reuse("/shown", '{"order":1}', '{"order":{"id":17}}'));
  expect(reused).toEqual({ ...shown, order, text: expect.stringContaining(text.replace(" …", "")) });
});

it("has the shape of the origin's absence, and not of its own errors", async () => {
  const late = await scene.send({ path: "/acp/x", key: freshKey(), behave: { hold: true } });
  expect([late.status, bodyOf(late)]).toEqual([504, expect.objectContaining({ type: "processing_error" })]);
  const problem = '{"code":"key-reused","detail":"mine"}';
  const headers: [string, string][] = [["content-type", "application/problem+json"]];
  const message = { path: "/acp/x", key: freshKey(), behave: { status: 422, headers, body: problem } };
  const first = await scene.send(message);
  expect([first.status, first.body.toString()]).toEqual([422, problem]);
  expectReplay(await scene.send(message), first);
});

it("tells a duplicate when to come again, in the body where the shape says so", async () => {
  const message = { path: "/acme/x", key: freshKey(), headers: [JSON_TYPE], body: '{"order":{"id":17.0}}' };
  const first = scene.send({ ...message, behave: { delayMs: 1500 } });
  await scene.origin.arrived(message.key);
  const second = await scene.send(message);
  await first;
  expect(second.status).toBe(409);
  expect(second.body.toString()).toContain('"order":{"id":17.0}');
  const after = Number(headerValue(second, "retry-after"));
  expect(bodyOf(second)).toMatchObject({ kind: "other", status: 409, wait: after });
});

it("has a shape without a status that of the route, and the words of its code", async () => {
  const reused = await reuse("/acme/x", '{"order":1}', '{"order":"\\"}"}');
  expect([reused.status, bodyOf(reused)]).toEqual([
    422,
    { kind: "REUSED", status: 422, text: expect.stringMatching(/^Problem: This idempotency key/), order: '"}' },
  ]);
});

it("answers JSON-RPC under the id of the request, with 200, and with null where it read none", async () => {
  const call = (id: string, amount: number): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"pay","params":[${amount}]}`;
  const reused = await reuse("/rpc", call("1", 1), call('"b"', 2));
  expect([reused.status, bodyOf(reused)]).toEqual([
    200,
    {
      jsonrpc: "2.0",
      id: "b",
      error: {
        code: 409,
        message: expect.any(String),
        data: expect.objectContaining({ code: "key-reused", status: 422 }),
      },
    },
  ]);
  expect(headerValue(reused, "idempotency-status")).toBe("key-reused");
  const missing = await scene.send({ path: "/rpc", headers: [JSON_TYPE], body: call("3", 1) });
  expect([missing.status, bodyOf(missing)]).toEqual([400, expect.objectContaining({ id: null })]);
});

it("is published, with the status of a key that was used before, and other routes have none", async () => {
  const { routes } = Object(bodyOf(await scene.send({ method: "GET", path: "/.well-known/idempotency" })));
  expect(routes.map(({ problems, mismatchStatus }: never) => [problems, mismatchStatus])).toEqual([
    ["acp", 422],
    ["acme", 422],
    ["shown", 409],
    ["jsonrpc", 422],
    [undefined, 422],
  ]);
  const plain = await reuse("/plain/x", "{}", "[]");
  expect(headerValue(plain, "content-type")).toBe("application/problem+json");
});
