// The table of problems (docs/contract.md): each code with its status and members, what the client may do next, and
// what the origin has seen. Those of a lost answer: guarantees.test.ts (G6); of the store and of the configuration:
// problems-of-the-gateway.test.ts.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

const LIMIT_BYTES = 1000;

let scene: Scene;
/** An origin that stops listening, behind separate routes. */
let mortal: TestOrigin;
beforeAll(async () => {
  mortal = await startOrigin();
  scene = await startScene({ shards: 2, timeout: "20s", lock: "30s" }, [
    { path: "/pay/*" },
    { path: "/wait/*", duplicate: "wait", wait: "300ms" },
    { path: "/hold/*", unknown: "hold" },
    { path: "/small/silent", max_response_body: LIMIT_BYTES, idle_timeout: "2s" },
    { path: "/small/*", max_request_body: LIMIT_BYTES, max_response_body: LIMIT_BYTES },
    { path: "/down/hold/*", unknown: "hold", origin: mortal.url },
    { path: "/down/retry/*", unknown: "retry", origin: mortal.url },
  ]);
});
afterAll(async () => {
  await scene.close();
  await mortal.close();
});

describe("key-missing", () => {
  it("refuses a request without a key, names the header, and links to documentation that exists", async () => {
    const path = `/pay/${freshKey()}`;
    const response = await scene.send({ path });
    const { detail } = expectProblem(response, {
      code: "key-missing",
      status: 400,
      retryable: false,
      echo: null,
    });
    expect(detail).toContain("Idempotency-Key");
    const [, target = ""] = /^<([^>]+)>/.exec(headerValue(response, "link") ?? "") ?? [];
    const documentation = await scene.send({ method: "GET", path: target, body: null });
    expect([documentation.status, headerValue(documentation, "content-type")]).toEqual([
      200,
      expect.stringMatching(/^application\/json/),
    ]);
    expect((await scene.origin.requests()).filter((request) => request.path === path)).toEqual([]);
  });
});

describe("in-flight", () => {
  it("refuses a duplicate at once while the first runs, and says when to retry", async () => {
    const message = { path: "/pay/reject", key: freshKey(), behave: { status: 201, hold: true } };
    const first = scene.send(message);
    await scene.origin.arrived(message.key);
    const duplicate = await scene.send(message);
    expectProblem(duplicate, { code: "in-flight", status: 409, retryable: true, echo: message.key });
    expectRetryAfter(duplicate, 30);
    await scene.origin.release(message.key);
    const answer = await first;
    expectReplay(await scene.send(message), answer);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("refuses a duplicate that has waited as long as the route allows", async () => {
    const message = { path: "/wait/elapsed", key: freshKey(), behave: { status: 201, hold: true } };
    const first = scene.send(message);
    await scene.origin.arrived(message.key);
    const askedAt = performance.now();
    const duplicate = await scene.send(message);
    expect(performance.now() - askedAt).toBeGreaterThan(290);
    expectProblem(duplicate, { code: "in-flight", status: 409, retryable: true, echo: message.key });
    expectRetryAfter(duplicate, 30);
    await scene.origin.release(message.key);
    expectFirstAnswer(await first, 201);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });
});

describe("outcome-unknown", () => {
  it("refuses every retry of an attempt that may have taken effect, without calling the origin", async () => {
    const message = { path: "/hold/unknown", key: freshKey(), behave: { drop: "after-effect" } } as const;
    await scene.send(message);
    for (const body of ["{}", "{}"]) {
      const retry = await scene.send(message);
      expectProblem(retry, { code: "outcome-unknown", status: 409, retryable: false, echo: message.key });
      const reuse = await scene.send({ ...message, body });
      expectProblem(reuse, { code: "key-reused", status: 422, retryable: false, echo: message.key });
    }
    expect(await scene.origin.effects(message.key)).toBe(1);
  });
});

describe("response-not-kept", () => {
  it.concurrent("breaks off the first client's answer when the origin stops sending a body that is not kept", async () => {
    const message = { path: "/small/silent", key: freshKey() };
    const chunks = ["r".repeat(LIMIT_BYTES + 1), "the rest"];
    await scene.origin.behave({ key: message.key }, { status: 200, chunks, holdBody: 1 });
    const first = await scene.send(message);
    expect([first.status, first.complete]).toEqual([200, false]);
    const retry = await scene.send(message);
    expectProblem(retry, { code: "response-not-kept", status: 409, retryable: false, echo: message.key });
  });
});

describe("body-too-large", () => {
  it.each([
    ["with a length", LIMIT_BYTES + 1, false],
    ["in chunks", LIMIT_BYTES + 1, true],
    // Of a body by megabytes too large, the rest is never read: a client may see the connection break before the answer.
    ["with a length, by far", 300_000, false],
    ["in chunks, by far", 300_000, true],
  ])("refuses a body over the limit %s, and claims nothing", async (_how, bytes, chunked) => {
    const key = freshKey();
    const response = await scene.send({ path: "/small/body", key, body: Buffer.alloc(bytes, "b"), chunked });
    const problem = expectProblem(response, { code: "body-too-large", status: 413, retryable: false, echo: key });
    expect(problem["limitBytes"]).toBe(LIMIT_BYTES);
    expect(await scene.origin.requests(key)).toEqual([]);
    const fitting = await scene.send({ path: "/small/body", key, body: Buffer.alloc(LIMIT_BYTES, "b"), chunked });
    expectFirstAnswer(fitting, 201);
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

it("origin-unreachable: says that nothing was sent once that is known, and the same key succeeds as soon as the origin is back", async () => {
  const path = "/down/hold/payment";
  expectFirstAnswer(await scene.send({ path, key: freshKey() }), 201);
  await mortal.stopListening();
  const uncertain = await scene.send({ path, key: freshKey() });
  expect(uncertain.status).toBe(502);
  const key = freshKey();
  const unreachable = { code: "origin-unreachable", status: 502, retryable: true, echo: key };
  expectProblem(await scene.send({ path, key }), unreachable);
  expectProblem(await scene.send({ path, key }), unreachable);
  const retried = freshKey();
  const response = await scene.send({ path: "/down/retry/payment", key: retried });
  expectProblem(response, { ...unreachable, echo: retried });
  await mortal.startListening();
  expectFirstAnswer(await scene.send({ path, key }), 201);
  expectFirstAnswer(await scene.send({ path: "/down/retry/payment", key: retried }), 201);
  expect([await mortal.effects(key), await mortal.effects(retried)]).toEqual([1, 1]);
});

it("distinguishes its own errors from the same status of the origin", async () => {
  const theirs: [string, string][] = [["Content-Type", "application/json"]];
  const message = { path: "/pay/theirs", key: freshKey(), behave: { status: 409, headers: theirs, body: "{}" } };
  const first = await scene.send(message);
  const replay = await scene.send(message);
  for (const response of [first, replay]) {
    expect([headerValue(response, "link"), headerValue(response, "x-should-retry")]).toEqual([null, null]);
    expect(headerValue(response, "content-type")).toBe("application/json");
  }
});
