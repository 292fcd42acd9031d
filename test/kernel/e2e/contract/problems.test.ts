// The table of problems (docs/contract.md): each code with its status and members, what the client may do next, and
// what the origin has seen. Problems of the store and of the configuration: problems-of-the-gateway.test.ts.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { type Message, type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const LIMIT_BYTES = 1000;
/** The lock lasts long enough for a retry to come before its end. */
const LOCK_MS = 4_000;
const LOCKED = { timeout: "2s", lock: `${LOCK_MS}ms` };

let scene: Scene;
/** An origin that stops listening, behind separate routes. */
let mortal: TestOrigin;
beforeAll(async () => {
  mortal = await startOrigin();
  scene = await startScene({ shards: 2, timeout: "20s", lock: "30s" }, [
    { path: "/pay/*" },
    { path: "/named/*", key_from: ["header:X-Request-Key"] },
    { path: "/wait/*", duplicate: "wait", wait: "300ms" },
    { path: "/hold/*", unknown: "hold", ...LOCKED },
    { path: "/retry/*", unknown: "retry", ...LOCKED },
    { path: "/idle/hold/*", unknown: "hold", idle_timeout: "2s" },
    { path: "/small/silent", max_response_body: LIMIT_BYTES, idle_timeout: "2s" },
    { path: "/small/*", max_request_body: LIMIT_BYTES, max_response_body: LIMIT_BYTES },
    { path: "/down/hold/*", unknown: "hold", origin: mortal.url },
    { path: "/down/retry/*", unknown: "retry", origin: mortal.url, ...LOCKED },
  ]);
});
afterAll(async () => {
  await scene.close();
  await mortal.close();
});

describe("key-missing", () => {
  const missing = { code: "key-missing", status: 400, retryable: false, echo: null };

  it("refuses a request without a key, and names the header", async () => {
    const path = `/pay/${freshKey()}`;
    const { detail } = expectProblem(await scene.send({ path }), missing);
    expect(detail).toContain("Idempotency-Key");
    expect((await scene.origin.requests()).filter((request) => request.path === path)).toEqual([]);
  });

  it("names the header that the route asks for, and accepts no other", async () => {
    const { detail } = expectProblem(await scene.send({ path: "/named/x", key: freshKey() }), missing);
    expect(detail).toContain("X-Request-Key");
  });
});

describe("key-invalid", () => {
  it.each([
    ["a key of 256 characters", "k".repeat(256)],
    ["a key beyond ASCII", "kéy"],
  ])("refuses %s and does not repeat it", async (_what, key) => {
    const path = `/pay/${freshKey()}`;
    const response = await scene.send({ path, headers: [["Idempotency-Key", key]] });
    expectProblem(response, { code: "key-invalid", status: 400, retryable: false, echo: null });
    expect((await scene.origin.requests()).filter((request) => request.path === path)).toEqual([]);
  });
});

describe("key-reused", () => {
  it.each([
    ["another body", { body: "other" }],
    ["no body", { body: null }],
    ["another path", { path: "/pay/reused/elsewhere" }],
    ["another query", { path: "/pay/reused?x=1" }],
    ["another method", { method: "PATCH" }],
  ] satisfies [string, Partial<Message>][])(
    "refuses the same key with %s, and reveals nothing of the answer",
    async (_what, change) => {
      const key = freshKey();
      const message = { path: "/pay/reused", key, body: "one", behave: { status: 200, body: "a secret" } };
      await scene.send(message);
      const response = await scene.send({ ...message, ...change });
      expectProblem(response, { code: "key-reused", status: 422, retryable: false, echo: key });
      expect(response.body.toString()).not.toContain("secret");
      expect(await scene.origin.effects(key)).toBe(1);
    },
  );
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

  it("passes an ambiguous status on and holds the key", async () => {
    const message = { path: "/hold/status", key: freshKey(), behave: { status: 504, body: "from the origin" } };
    const first = await scene.send(message);
    expectFirstAnswer(first, 504);
    expect(first.body.toString()).toBe("from the origin");
    expect(headerValue(first, "idempotency-expires")).toBeNull();
    const retry = await scene.send(message);
    expectProblem(retry, { code: "outcome-unknown", status: 409, retryable: false, echo: message.key });
    expect(await scene.origin.effects(message.key)).toBe(1);
  });
});

describe("response-not-kept", () => {
  it.each([
    ["with a length", { body: "r".repeat(LIMIT_BYTES + 1) }],
    ["in chunks, many times the limit", { chunks: Array.from({ length: 40 }, () => "0123456789".repeat(2_000)) }],
  ])("gives the first client all of a large answer %s, and no retry a second effect", async (_how, how) => {
    const message = { path: `/small/${freshKey()}`, key: freshKey() };
    await scene.origin.behave({ key: message.key }, { status: 203, ...how });
    const first = await scene.send(message);
    expectFirstAnswer(first, 203);
    expect([first.complete, first.body.toString()]).toEqual([true, "body" in how ? how.body : how.chunks.join("")]);
    expect(headerValue(first, "idempotency-key")).toBe(message.key);
    for (let retry = 0; retry < 2; retry += 1) {
      const response = await scene.send(message);
      const expected = { code: "response-not-kept", status: 409, retryable: false, echo: message.key };
      expect(expectProblem(response, expected)["originalStatus"]).toBe(203);
    }
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("sends no Idempotency-Expires with an answer that it does not keep", async () => {
    const message = {
      path: "/small/promise",
      key: freshKey(),
      behave: { status: 200, body: "r".repeat(LIMIT_BYTES + 1) },
    };
    const first = await scene.send(message);
    expectFirstAnswer(first, 200);
    expect(headerValue(first, "idempotency-expires")).toBeNull();
  });

  it.concurrent("breaks off the first client's answer when the origin stops sending a body that is not kept", async () => {
    const message = { path: "/small/silent", key: freshKey() };
    const chunks = ["r".repeat(LIMIT_BYTES + 1), "the rest"];
    await scene.origin.behave({ key: message.key }, { status: 200, chunks, holdBody: 1 });
    const first = await scene.send(message);
    expect([first.status, first.complete]).toEqual([200, false]);
    const retry = await scene.send(message);
    expectProblem(retry, { code: "response-not-kept", status: 409, retryable: false, echo: message.key });
  });

  it("refuses a duplicate while the first client is still reading", async () => {
    const message = { path: `/small/${freshKey()}`, key: freshKey() };
    const chunks = ["r".repeat(LIMIT_BYTES + 1), "the rest"];
    await scene.origin.behave({ key: message.key }, { status: 200, chunks, holdBody: 1 });
    const first = scene.open(message);
    expect((await first.head).status).toBe(200);
    const response = await scene.send(message);
    expectProblem(response, { code: "response-not-kept", status: 409, retryable: false, echo: message.key });
    await scene.origin.release(message.key);
    const { body, complete } = await first.response;
    expect([body.toString(), complete]).toEqual([chunks.join(""), true]);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("keeps an answer of exactly the largest size", async () => {
    const message = { path: "/small/fits", key: freshKey(), behave: { status: 200, body: "r".repeat(LIMIT_BYTES) } };
    const first = await scene.send(message);
    expectReplay(await scene.send(message), first);
    expect(await scene.origin.effects(message.key)).toBe(1);
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

/**
 * After an attempt with an unknown outcome on a route with retry, which began after `sentAt`: no call until its lock has ended,
 * then one more attempt.
 */
async function attemptsAfterTheLock(
  message: Message & { readonly key: string },
  sentAt: number,
): Promise<readonly (string | null)[]> {
  const early = await scene.send(message);
  expectProblem(early, { code: "in-flight", status: 409, retryable: true, echo: message.key });
  expectRetryAfter(early, LOCK_MS / 1_000);
  const second = await until(async () => {
    const response = await scene.send(message);
    return response.status === 409 ? null : response;
  }, "a second attempt");
  expectFirstAnswer(second, 201);
  const requests = await scene.origin.requests(message.key);
  expect(requests[1]?.arrivedAtMs).toBeGreaterThanOrEqual(sentAt + LOCK_MS);
  return requests.map(({ attempt }) => attempt);
}

describe.concurrent.each([
  ["origin-dropped", 502, "the request is read", { drop: "after-read" }],
  ["origin-dropped", 502, "the effect", { drop: "after-effect" }],
  ["origin-dropped", 502, "half of the body", { status: 200, body: "cut short", drop: "mid-body" }],
  ["origin-timeout", 504, "no answer in time", { delayMs: 60_000 }],
] as const)("%s (%i) after %s", (code, status, _when, fault) => {
  it("is not retryable on a route that holds, and the outcome stays unknown", async () => {
    const message = { path: `/hold/${code}`, key: freshKey(), behave: fault };
    const response = await scene.send(message);
    expectProblem(response, { code, status, retryable: false, echo: message.key });
    const retry = await scene.send(message);
    expectProblem(retry, { code: "outcome-unknown", status: 409, retryable: false, echo: message.key });
    expect((await scene.origin.requests(message.key)).map(({ attempt }) => attempt)).toEqual(["1"]);
  });

  it("is retryable on a route that retries, once the lock has ended", async () => {
    const behave = { sequence: [fault, { status: 201, body: "done" }] };
    const message = { path: `/retry/${code}-${freshKey()}`, key: freshKey(), behave };
    const sentAt = Date.now();
    const response = await scene.send(message);
    expectProblem(response, { code, status, retryable: true, echo: message.key });
    expectRetryAfter(response, LOCK_MS / 1_000);
    expect(await attemptsAfterTheLock(message, sentAt)).toEqual(["1", "2"]);
  });
});

it("breaks off a transfer whose body stops in the middle, when its first bytes were already sent", async () => {
  const behave = { status: 200, chunks: ["one", "two"], holdBody: 1 };
  const message = { path: "/idle/hold/silent", key: freshKey(), behave };
  const response = await scene.send(message);
  expect([response.status, response.body.toString(), response.complete]).toEqual([200, "one", false]);
  const retry = await scene.send(message);
  expectProblem(retry, { code: "outcome-unknown", status: 409, retryable: false, echo: message.key });
  expect(await scene.origin.effects(message.key)).toBe(1);
  await scene.origin.release(message.key);
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

it("publishes exactly these problems with these statuses", async () => {
  const policy = v.looseObject({
    problems: v.array(
      v.strictObject({
        type: v.string(),
        code: v.string(),
        title: v.string(),
        status: v.number(),
        retryable: v.union([v.boolean(), v.literal("by unknownOutcome")]),
      }),
    ),
  });
  const response = await scene.send({ method: "GET", path: "/.well-known/idempotency", body: null });
  const { problems } = v.parse(policy, JSON.parse(response.body.toString()));
  expect(problems.map(({ code, status, retryable }) => `${code} ${status} ${retryable}`).toSorted()).toEqual([
    "attempts-exhausted 502 true",
    "body-too-large 413 false",
    "cancel-refused 409 true",
    "configuration-invalid 500 false",
    "credential-invalid 401 false",
    "identity-unavailable 503 true",
    "in-flight 409 true",
    "key-abandoned 409 false",
    "key-expired 409 false",
    "key-invalid 400 false",
    "key-missing 400 false",
    "key-not-known 404 false",
    "key-reused 422 false",
    "monitor-not-found 404 false",
    "origin-dropped 502 by unknownOutcome",
    "origin-timeout 504 by unknownOutcome",
    "origin-unreachable 502 true",
    "outcome-unknown 409 by unknownOutcome",
    "repeated-content 409 false",
    "request-invalid 400 false",
    "response-not-kept 409 false",
    "store-unavailable 503 true",
    "too-many-keys 429 true",
  ]);
  for (const { type, code } of problems) expect(type).toBe(`/.well-known/idempotency#${code}`);
});
