// ACP (rfcs/rfc.agentic_checkout.md, section 6) by its own rules: a gateway with `preset = "acp"` and an origin that knows no keys. The same rules are
// section 5 of rfc.delegate_payment.md.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue, type HeaderPair, type RawResponse } from "../../../support/http.ts";
import { expectFirstAnswer, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import { type Message, type Scene, startScene, until } from "../../../support/e2e/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 4 }, [
    { path: "/checkout_sessions/*", preset: "acp", unknown: "hold" },
    { path: "/again/*", preset: "acp", unknown: "retry", timeout: "5s", lock: "6s" },
  ]);
});
afterAll(() => scene.close());

type Keyed = Message & { readonly key: string };

function post(body: unknown, { path = "/checkout_sessions", key = freshKey(), caller = "ann" } = {}): Keyed {
  const headers: HeaderPair[] = [
    ["Authorization", `Bearer ${caller}`],
    ["Content-Type", "application/json"],
  ];
  return { path, key, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}

function expectError(response: RawResponse, status: number, code: string, message: string): void {
  expect(response.status).toBe(status);
  expect(headerValue(response, "content-type")).toBe("application/json");
  expect(JSON.parse(response.body.toString())).toEqual({ type: "invalid_request", code, message });
}

const CONFLICT = "Idempotency-Key has already been used with a different request body";

describe("6.1 the key", () => {
  it("is required on every POST, and its absence has the exact body", async () => {
    const { key: _, ...without } = post({ items: [] });
    const message = "Idempotency-Key header is required on all POST requests";
    expectError(await scene.send(without), 400, "idempotency_key_required", message);
  });

  it("is opaque, has up to 255 characters, and is repeated", async () => {
    const key = "k!~".repeat(85);
    expect(key).toHaveLength(255);
    const first = await scene.send(post({}, { key }));
    expectFirstAnswer(first, 201);
    expect(headerValue(first, "idempotency-key")).toBe(key);
    const long = await scene.send(post({}, { key: `${key}x` }));
    expect([long.status, JSON.parse(long.body.toString()).code]).toEqual([400, "idempotency_key_invalid"]);
  });

  it("is scoped to the identity and the path: another caller, endpoint or session has a key of its own", async () => {
    const key = freshKey();
    for (const path of [
      "/checkout_sessions",
      "/checkout_sessions/a",
      "/checkout_sessions/b",
      "/checkout_sessions/a/complete",
    ]) {
      expectFirstAnswer(await scene.send(post({ path }, { path, key })), 201);
    }
    expectFirstAnswer(await scene.send(post({ caller: "bob" }, { key, caller: "bob" })), 201);
    expect(await scene.origin.effects(key)).toBe(5);
  });
});

describe("6.2 equal requests", () => {
  it.each([
    ["another order of members", '{"a":1,"b":[1,2]}', '{ "b" : [1,2], "a":1 }'],
    ["1.0 and 1", '{"a":1.0}', '{"a":1}'],
  ])("%s are equal", async (_what, one, other) => {
    const message = post(one);
    const first = await scene.send(message);
    expectReplay(await scene.send({ ...message, body: other }), first);
  });

  it.each([
    ["null and absent", '{"a":1,"b":null}', '{"a":1}'],
    ["another order of an array", '{"a":[1,2]}', '{"a":[2,1]}'],
    ["6.7 a field of an extension", '{"a":1}', '{"a":1,"x_extension":{"on":true}}'],
  ])("%s are different, and get the error of 6.4", async (_what, one, other) => {
    const message = post(one);
    expectFirstAnswer(await scene.send(message), 201);
    expectError(await scene.send({ ...message, body: other }), 422, "idempotency_conflict", CONFLICT);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("are equal whatever their other headers say", async () => {
    const message = post({ a: 1 });
    const first = await scene.send(message);
    const headers: HeaderPair[] = [...(message.headers ?? []), ["Request-Id", freshKey()], ["API-Version", "2"]];
    expectReplay(await scene.send({ ...message, headers }), first);
  });
});

describe("6.3 a replay", () => {
  it.each(["/checkout_sessions", "/checkout_sessions/a", "/checkout_sessions/a/complete"])(
    "of %s has the first status, is marked, and acts no second time",
    async (path) => {
      const message = { ...post({}, { path }), behave: { status: 202, body: '{"id":"a"}' } };
      const first = await scene.send(message);
      expectFirstAnswer(first, 202);
      expectReplay(await scene.send(message), first);
      expect(await scene.origin.effects(message.key)).toBe(1);
    },
  );

  it("of a 4xx is the same 4xx", async () => {
    const message = { ...post({}), behave: { status: 400, body: '{"code":"invalid_email"}' } };
    const first = await scene.send(message);
    expectReplay(await scene.send(message), first);
  });
});

it("6.4 a request whose key is in flight gets 409 with Retry-After, and of ten at once one acts", async () => {
  const message = { ...post({ burst: true }), behave: { delayMs: 1500 } };
  const first = scene.send(message);
  await scene.origin.arrived(message.key);
  const others = await Promise.all(Array.from({ length: 9 }, () => scene.send(message)));
  for (const other of others) {
    expectError(
      other,
      409,
      "idempotency_in_flight",
      "A request with this Idempotency-Key is currently being processed",
    );
    expectRetryAfter(other, 60);
  }
  const answer = await first;
  expectReplay(await scene.send(message), answer);
  expect(await scene.origin.effects(message.key)).toBe(1);
});

describe("6.5 an answer with 5xx", () => {
  it.each([500, 502, 503, 504, 599])("%i is not kept: the retry is a fresh request", async (status) => {
    const message = { ...post({}), behave: { sequence: [{ status }, { status: 201 }] } };
    expect((await scene.send(message)).status).toBe(status);
    expectFirstAnswer(await scene.send(message), 201);
  });

  it("lets the key take a corrected body", async () => {
    const message = { ...post({ a: 1 }), behave: { sequence: [{ status: 500 }, { status: 201 }] } };
    expect((await scene.send(message)).status).toBe(500);
    const corrected = { ...message, body: '{"a":2}' };
    const first = await scene.send(corrected);
    expectFirstAnswer(first, 201);
    expectReplay(await scene.send(corrected), first);
  });

  it("is no lost call, which follows what is written as unknown", async () => {
    const lost = { ...post({}), behave: { sequence: [{ drop: "after-effect" as const }, { status: 201 }] } };
    expect((await scene.send(lost)).status).toBe(502);
    const held = await scene.send(lost);
    expect([held.status, JSON.parse(held.body.toString()).type]).toEqual([409, "processing_error"]);
    expect(await scene.origin.effects(lost.key)).toBe(1);
  });
});

it("6.6 a key lives for 24 hours", async () => {
  const sentAt = Date.now();
  const first = await scene.send(post({}));
  const expires = Date.parse(headerValue(first, "idempotency-expires") ?? "");
  // An HTTP date has whole seconds.
  expect(expires - sentAt).toBeGreaterThan(24 * 3_600_000 - 1000);
});

it('with unknown = "retry" a lost call is followed by a fresh attempt, when it can no longer be running', async () => {
  const message = {
    ...post({}, { path: "/again/x" }),
    behave: { sequence: [{ drop: "after-effect" as const }, { status: 201 }] },
  };
  expect((await scene.send(message)).status).toBe(502);
  const fresh = await until(async () => {
    const answer = await scene.send(message);
    return answer.status === 201 ? answer : null;
  }, "a fresh attempt");
  expectReplay(await scene.send(message), fresh);
  expect(await scene.origin.effects(message.key)).toBe(2);
});

it("a client that leaves before its answer finds it with the same key", async () => {
  const message = { ...post({ cut: true }), behave: { delayMs: 800, status: 201 } };
  const call = scene.open(message);
  await scene.origin.arrived(message.key);
  call.reset();
  await call.response.catch(() => undefined);
  const answer = await until(async () => {
    const one = await scene.send(message);
    return one.status === 201 ? one : null;
  }, "the answer");
  expect(headerValue(answer, "idempotent-replayed")).toBe("true");
  expect(await scene.origin.effects(message.key)).toBe(1);
});
