// Defects that shipped in other implementations, each as one test that would have caught it. Those that need a crash, or time to pass:
// defects-of-time.test.ts. Those that a guarantee names: guarantees.test.ts (simultaneous requests, another caller, another query, a client
// that leaves, the quoted form of a key). Responses of an unusual kind, or without a body: bodies/bytes-forms.test.ts, bodies/bytes.test.ts and
// bodies/heads.test.ts; too large to keep: bodies/bytes-not-kept.test.ts.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 2, timeout: "20s", lock: "30s" }, [
    { path: "/reject/*" },
    { path: "/wait/*", duplicate: "wait", wait: "15s" },
    { path: "/impatient/*", duplicate: "wait", wait: "200ms" },
  ]);
});
afterAll(() => scene.close());

/** Every byte, and sequences that every UTF-8 decoder changes. */
const BINARY = Buffer.concat([
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from([0xff, 0xfe, 0, 0xc3]),
]);

describe("concurrent duplicates", () => {
  it("runs an operation once when its answer comes before the duplicates", async () => {
    const key = freshKey();
    const responses = await Promise.all(Array.from({ length: 50 }, () => scene.send({ path: "/wait/fast", key })));
    expect(new Set(responses.map(({ body }) => body.toString())).size).toBe(1);
    expect(await scene.origin.requests(key)).toHaveLength(1);
  });

  it("starts one attempt for all requests after the origin's refusal; requests that waited share the refusal", async () => {
    const behave = {
      sequence: [
        { status: 503, hold: true, effect: false },
        { status: 201, hold: true, body: "once" },
      ],
    };
    const message = { path: `/wait/${freshKey()}`, key: freshKey(), behave };
    for (const [round, status] of [503, 201].entries()) {
      const requests = Array.from({ length: 10 }, () => scene.send(message));
      await scene.origin.arrived(message.key, round + 1);
      // Answered by the same shard, after all that came before it: now the others wait.
      expect((await scene.send({ ...message, body: "another" })).status).toBe(422);
      await scene.origin.release(message.key);
      const statuses = (await Promise.all(requests)).map((response) => response.status);
      expect(statuses).toEqual(Array.from({ length: 10 }, () => status));
    }
    expect((await scene.origin.requests(message.key)).map(({ attempt }) => attempt)).toEqual(["1", "2"]);
  });
});

it("a waiter that times out does not release the owner's lock", async () => {
  const message = { path: "/impatient/owner", key: freshKey(), behave: { status: 201, hold: true, body: "owner's" } };
  const owner = scene.send(message);
  await scene.origin.arrived(message.key);
  for (let waiter = 0; waiter < 3; waiter += 1) {
    const response = await scene.send(message);
    expectProblem(response, { code: "in-flight", status: 409, retryable: true, echo: message.key });
  }
  await scene.origin.release(message.key);
  const first = await owner;
  expectFirstAnswer(first, 201);
  expectReplay(await scene.send(message), first);
  expect(await scene.origin.requests(message.key)).toHaveLength(1);
});

describe("bodies read as text", () => {
  it("binary bodies pass both ways byte for byte, and are replayed byte for byte", async () => {
    const bytes = BINARY.toString("base64");
    const message = {
      path: "/reject/binary",
      key: freshKey(),
      body: BINARY,
      behave: { status: 200, bodyBase64: bytes },
    };
    const first = await scene.send(message);
    expect(first.body.equals(BINARY)).toBe(true);
    expectReplay(await scene.send(message), first);
    const requests = await scene.origin.requests(message.key);
    expect(requests.map(({ body }) => body?.base64)).toEqual([bytes]);
  });

  it("two bodies that differ only in invalid UTF-8 are different payloads", async () => {
    const key = freshKey();
    await scene.send({ path: "/reject/bytes", key, body: Buffer.from([0xff]) });
    const other = await scene.send({ path: "/reject/bytes", key, body: Buffer.from([0xfe]) });
    expectProblem(other, { code: "key-reused", status: 422, retryable: false, echo: key });
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

it("201 stays 201 with its Location and ETag, and Set-Cookie goes to the first client only", async () => {
  const headers: [string, string][] = [
    ["Location", "/things/7"],
    ["ETag", '"v1"'],
    ["Set-Cookie", "session=secret; HttpOnly"],
    ["Set-Cookie", "other=1"],
  ];
  const message = { path: "/reject/created", key: freshKey(), behave: { status: 201, headers, body: "{}" } };
  const first = await scene.send(message);
  expectFirstAnswer(first, 201);
  expect([headerValue(first, "location"), headerValue(first, "etag")]).toEqual(["/things/7", '"v1"']);
  expect(first.headers.filter(([name]) => name.toLowerCase() === "set-cookie")).toHaveLength(2);
  const replay = await scene.send(message);
  expectReplay(replay, first, ["set-cookie"]);
  expect(headerValue(replay, "set-cookie")).toBeNull();
});

it.each([503, 530])("%i is passed on but never replayed: the next request runs the operation", async (status) => {
  const refusal = {
    status,
    headers: [["Retry-After", "1"] satisfies [string, string]],
    body: "not now",
    effect: false,
  };
  const behave = { sequence: [refusal, refusal, { status: 201, body: "done" }] };
  const message = { path: `/reject/${freshKey()}`, key: freshKey(), behave };
  for (let refused = 0; refused < 2; refused += 1) {
    const response = await scene.send(message);
    expectFirstAnswer(response, status);
    expect([headerValue(response, "idempotency-expires"), headerValue(response, "retry-after")]).toEqual([null, "1"]);
  }
  const first = await scene.send(message);
  expectFirstAnswer(first, 201);
  expectReplay(await scene.send(message), first);
  expect((await scene.origin.requests(message.key)).map(({ attempt }) => attempt)).toEqual(["1", "2", "3"]);
});

it("a reused key is reported as such while the first request still runs, not as in-flight", async () => {
  for (const route of ["reject", "wait"]) {
    const message = { path: `/${route}/order`, key: freshKey(), behave: { status: 201, hold: true } };
    const first = scene.send(message);
    await scene.origin.arrived(message.key);
    const reuse = await scene.send({ ...message, body: "other", timeoutMs: 5_000 });
    expectProblem(reuse, { code: "key-reused", status: 422, retryable: false, echo: message.key });
    await scene.origin.release(message.key);
    expectFirstAnswer(await first, 201);
    expect(await scene.origin.effects(message.key)).toBe(1);
  }
});
