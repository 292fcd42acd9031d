// Scopes with a value of the body, which is read before anything is sent, or with a path, by which a key is looked up. Which values are one
// record: property/scope-parts.test.ts; which older one is found: integration/exchange/scopes.test.ts.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey, type HeaderPair } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Message, type Scene, startScene } from "../../../support/e2e/scene.ts";

const CALLER = "header:x-caller";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 4, scope: [CALLER] }, [
    { path: "/path/*", scope: [CALLER, "path"] },
    { path: "/json/*", scope: [CALLER, "json:/account"], fingerprint: { body: "json" }, max_request_body: "2MB" },
  ]);
});
afterAll(() => scene.close());

const JSON_TYPE: HeaderPair = ["Content-Type", "application/json"];
const by = (name: string): HeaderPair => ["X-Caller", name];

function posts(path: string, key: string, body: unknown, caller = "ann"): Message & { readonly key: string } {
  return { path, key, headers: [by(caller), JSON_TYPE], body: typeof body === "string" ? body : JSON.stringify(body) };
}

it("json: a body in which readers could find different values is refused, and nothing is sent", async () => {
  const key = freshKey();
  for (const body of [
    '{"account":1,"account":2}',
    '{"Account":1}',
    '{"account":1,"ACCOUNT":2}',
    '{"account":9007199254740993}',
    '{"account":"\\ud800"}',
    "no JSON",
    '{"account":1',
  ]) {
    const response = await scene.send(posts("/json/x", key, body));
    expectProblem(response, { code: "request-invalid", status: 400, retryable: false, echo: key });
  }
  const compressed = await scene.send({
    ...posts("/json/x", key, "{}"),
    headers: [by("ann"), ["Content-Encoding", "gzip"]],
  });
  expectProblem(compressed, { code: "request-invalid", status: 400, retryable: false, echo: key });
  const long = await scene.send(posts("/json/x", key, { account: "x".repeat(300_000) }));
  expectProblem(long, { code: "request-invalid", status: 400, retryable: false, echo: key });
  const large = await scene.send(posts("/json/x", key, { account: 1, pad: "x".repeat(1_100_000) }));
  expectProblem(large, { code: "body-too-large", status: 413, retryable: false, echo: key });
  expect(await scene.origin.effects(key)).toBe(0);
});

it("json: a part is found in a body of up to 1 MiB", async () => {
  const key = freshKey();
  const pad = "x".repeat(900_000);
  const first = await scene.send(posts("/json/x", key, { account: 1, pad }));
  expectFirstAnswer(first, 201);
  expectReplay(await scene.send(posts("/json/x", key, { account: 1, pad })), first);
  expectFirstAnswer(await scene.send(posts("/json/x", key, { account: 2, pad })), 201);
  expect(await scene.origin.effects(key)).toBe(2);
});

it("a key in a scope with a path is looked up by the path in question", async () => {
  const key = freshKey();
  await scene.send(posts("/path/looked", key, {}));
  const ask = (path: string) =>
    scene.send({ method: "GET", path: `/.well-known/idempotency/requests${path}?key=${key}`, headers: [by("ann")] });
  expect((await ask("/path/looked")).status).toBe(200);
  expect((await ask("/path/other")).status).toBe(404);
});
