// Scopes with a path, a route's word or a value of the body: keys are apart where these differ, and never where they should not be.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey, type HeaderPair } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Message, type Scene, startScene } from "../../../support/e2e/scene.ts";

const CALLER = "header:x-caller";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 4, scope: [CALLER] }, [
    { path: "/path/*", scope: [CALLER, "path"] },
    { path: "/word/a/*", scope: [CALLER, "route:one"], fingerprint: { body: "json" } },
    { path: "/word/b/*", scope: [CALLER, "route:two"] },
    { path: "/json/*", scope: [CALLER, "json:/account"], fingerprint: { body: "json" }, max_request_body: "2MB" },
    { path: "/moved/*", scope: [CALLER, "path"], previous_scope: [[CALLER]] },
    { path: "/anybody/*", scope: ["none", "path"] },
    { path: "/*" },
  ]);
});
afterAll(() => scene.close());

const JSON_TYPE: HeaderPair = ["Content-Type", "application/json"];
const by = (name: string): HeaderPair => ["X-Caller", name];

function posts(path: string, key: string, body: unknown, caller = "ann"): Message & { readonly key: string } {
  return { path, key, headers: [by(caller), JSON_TYPE], body: typeof body === "string" ? body : JSON.stringify(body) };
}

it("path: one key is two records on two paths, and one on spellings of a path", async () => {
  const key = freshKey();
  const first = await scene.send(posts("/path/a", key, {}));
  expectFirstAnswer(first, 201);
  expectFirstAnswer(await scene.send(posts("/path/b", key, {})), 201);
  expectReplay(await scene.send(posts("/path/a", key, {})), first);
  const spelt = await scene.send(posts("/path//a/", key, {}));
  expectProblem(spelt, { code: "key-reused", status: 422, retryable: false, echo: key });
  expectFirstAnswer(await scene.send(posts("/path/a", key, {}, "bob")), 201);
  expect(await scene.origin.effects(key)).toBe(3);
});

it("route: keys are apart from those of another word, and shared by the paths of one", async () => {
  const key = freshKey();
  expectFirstAnswer(await scene.send(posts("/word/a/1", key, {})), 201);
  expectFirstAnswer(await scene.send(posts("/word/b/1", key, {})), 201);
  expectFirstAnswer(await scene.send(posts("/other", key, {})), 201);
  const reused = await scene.send(posts("/word/a/2", key, {}));
  expectProblem(reused, { code: "key-reused", status: 422, retryable: false, echo: key });
});

it("json: a value counts by its canonical form, whatever it is", async () => {
  const key = freshKey();
  const first = await scene.send(posts("/json/x", key, '{"account":{"id":1,"of":"b"},"n":1}'));
  expectFirstAnswer(first, 201);
  expectReplay(await scene.send(posts("/json/x", key, '{"n":1,"account":{"of":"\\u0062", "id":1.0}}')), first);
  for (const body of ['{"account":{"id":2}}', '{"account":null}', '{"account":"null"}', "{}"]) {
    expectFirstAnswer(await scene.send(posts("/json/x", key, body)), 201);
  }
  const others = await scene.send(posts("/json/x", key, '{"account":{"id":2},"n":2}'));
  expectProblem(others, { code: "key-reused", status: 422, retryable: false, echo: key });
  expect(await scene.origin.effects(key)).toBe(5);
});

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

it("previous_scope: a record from before the path counted is found, and on another path it is reuse", async () => {
  const key = freshKey();
  const first = await scene.send(posts("/moved/a", key, {}));
  expectFirstAnswer(first, 201);
  expectReplay(await scene.send(posts("/moved/a", key, {})), first);
  // Under the older scope the same key means the same record on every path.
  const old = freshKey();
  expectFirstAnswer(await scene.send(posts("/before", old, {})), 201);
  const reused = await scene.send(posts("/moved/a", old, {}));
  expectProblem(reused, { code: "key-reused", status: 422, retryable: false, echo: old });
});

it("none: with a path alone all callers share their keys, and a missing caller is everybody without one", async () => {
  const key = freshKey();
  const first = await scene.send(posts("/anybody/a", key, {}, "ann"));
  expectReplay(await scene.send(posts("/anybody/a", key, {}, "bob")), first);
  expectFirstAnswer(await scene.send(posts("/anybody/b", key, {}, "bob")), 201);
});

it("a key in a scope with a path is looked up by the path in question", async () => {
  const key = freshKey();
  await scene.send(posts("/path/looked", key, {}));
  const ask = (path: string) =>
    scene.send({ method: "GET", path: `/.well-known/idempotency/requests${path}?key=${key}`, headers: [by("ann")] });
  expect((await ask("/path/looked")).status).toBe(200);
  expect((await ask("/path/other")).status).toBe(404);
});
