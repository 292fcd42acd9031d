// The settings of a route whose effect is on the wire: which header carries the key, what the origin receives of it, bytes of a scope that
// are no text, and how long an answer lives. What each setting names and compares: unit/config/changes.test.ts.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const RETENTION_MS = 3_000;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: "per-key", timeout: "20s", lock: "30s" }, [
    { path: "/alias/*", key_from: ["header:Idempotency-Key", "header:X-Request-Key"] },
    { path: "/forward/client/*" },
    { path: "/forward/none/*", forward_key: "none", key_from: ["header:Idempotency-Key", "header:X-Request-Key"] },
    { path: "/forward/step/*", forward_key: "charge", key_from: ["header:Idempotency-Key", "header:X-Request-Key"] },
    { path: "/forward/same-step/*", forward_key: "charge" },
    { path: "/scope/header/*", scope: ["header:X-Tenant"] },
    { path: "/scope/cookie/*", scope: ["cookie:session"] },
    { path: "/optional/*", key: "optional" },
    { path: "/conflict/*", key_reused_status: 409 },
    { path: "/lists/*", refused: [500], ambiguous: [], unknown: "hold" },
    { path: "/brief/*", timeout: "2s", lock: "2500ms", retention: `${RETENTION_MS}ms` },
  ]);
});
afterAll(() => scene.close());

/** What the one request to this path had as header lines of these names. */
async function sentToOrigin(path: string, names: readonly string[]): Promise<readonly string[]> {
  const requests = (await scene.origin.requests()).filter((request) => request.path === path);
  expect(requests).toHaveLength(1);
  return (requests[0]?.headers ?? [])
    .filter(([name]) => names.includes(name.toLowerCase()))
    .map(([name, value]) => `${name.toLowerCase()}: ${value}`);
}

const KEY_HEADERS = ["idempotency-key", "x-request-key"];

describe("headers: the names that may carry the key", () => {
  it("each of them names the same record", async () => {
    const [key, path] = [freshKey(), `/alias/${freshKey()}`];
    const first = await scene.send({ path, headers: [["X-Request-Key", key]] });
    expectFirstAnswer(first, 201);
    expect(headerValue(first, "idempotency-key")).toBe(key);
    expectReplay(await scene.send({ path, key }), first);
    expectReplay(await scene.send({ path, key, headers: [["X-Request-Key", key]] }), first);
    expect(await sentToOrigin(path, KEY_HEADERS)).toEqual([`x-request-key: ${key}`]);
  });
});

describe("forward_key: what the origin receives of the key", () => {
  it.each([
    ["client", "KEY", ["idempotency-key: KEY"]],
    ["client", '"KEY"', ['idempotency-key: "KEY"']],
    ["none", "KEY", []],
    ["step", "KEY", ["idempotency-key: KEY:charge"]],
    ["step", '"KEY"', ['idempotency-key: "KEY:charge"']],
    ["step", '"KEY\\"x"', ['idempotency-key: "KEY\\"x:charge"']],
  ])("%s: of %s", async (mode, form, expected) => {
    const [key, path] = [freshKey(), `/forward/${mode}/${freshKey()}`];
    const sent = form.replace("KEY", key);
    const response = await scene.send({ path, key: sent });
    expectFirstAnswer(response, 201);
    expect(headerValue(response, "idempotency-key")).toBe(sent);
    expect(await sentToOrigin(path, KEY_HEADERS)).toEqual(expected.map((line) => line.replace("KEY", key)));
  });

  it("none and a step remove all other aliases", async () => {
    for (const mode of ["none", "step"]) {
      const [key, path] = [freshKey(), `/forward/${mode}/${freshKey()}`];
      await scene.send({ path, key, headers: [["X-Request-Key", key]] });
      expect(await sentToOrigin(path, KEY_HEADERS)).toEqual(mode === "none" ? [] : [`idempotency-key: ${key}:charge`]);
    }
  });
});

it("one step on two routes never sends the same key for two operations: a key has one record on all routes", async () => {
  const key = freshKey();
  const [first, second] = [`/forward/step/${key}`, `/forward/same-step/${key}`];
  expectFirstAnswer(await scene.send({ path: first, key }), 201);
  const reused = await scene.send({ path: second, key });
  expectProblem(reused, { code: "key-reused", status: 422, retryable: false, echo: key });
  expect((await scene.origin.requests()).filter((request) => request.path === second)).toEqual([]);
});

describe("scope: whose key it is", () => {
  // Bytes beyond ASCII that are invalid UTF-8 (RFC 9110, section 5.5, obs-text): whether they are distinguished or refused, one
  // caller never gets another's answer.
  it.each([
    ["header", "X-Tenant", "caf\xe9", "caf\xfc"],
    ["cookie", "Cookie", "session=\xe9", "session=\xfc"],
  ])("never takes two values of a %s for one because it cannot decode them", async (kind, name, mine, theirs) => {
    const message = { path: `/scope/${kind}/x`, key: freshKey() };
    const behave = { status: 200, body: "the first caller's" };
    await scene.send({ ...message, behave, headers: [[name, mine]] });
    const other = await scene.send({ ...message, headers: [[name, theirs]] });
    expect(headerValue(other, "idempotent-replayed")).toBeNull();
    expect(other.body.toString()).not.toContain("the first caller's");
  });
});

it("key = optional: a request without a key passes, one with a key is protected, a bad key is refused", async () => {
  const path = `/optional/${freshKey()}`;
  for (const response of [await scene.send({ path }), await scene.send({ path })]) expectPassed(response, null);
  const message = { path, key: freshKey() };
  const first = await scene.send(message);
  expectReplay(await scene.send(message), first);
  const bad = await scene.send({ path, key: "a b" });
  expectProblem(bad, { code: "key-invalid", status: 400, retryable: false, echo: null });
  const requests = (await scene.origin.requests()).filter((request) => request.path === path);
  expect(requests.map(({ attempt }) => attempt)).toEqual([null, null, "1"]);
});

/** `became`: what the answer says in `Idempotency-Status`. */
function expectPassed(response: RawResponse, became: string | null): void {
  expectFirstAnswer(response, 201, became);
  expect([headerValue(response, "idempotency-key"), headerValue(response, "idempotency-expires")]).toEqual([
    null,
    null,
  ]);
}

it("key_reused_status: a reused key is answered with this status", async () => {
  const key = freshKey();
  await scene.send({ path: "/conflict/x", key, body: "one" });
  const reuse = await scene.send({ path: "/conflict/x", key, body: "two" });
  expectProblem(reuse, { code: "key-reused", status: 409, retryable: false, echo: key });
  expect(await scene.origin.effects(key)).toBe(1);
});

it("refused and ambiguous: a route's lists replace the defaults", async () => {
  const refused = {
    path: `/lists/${freshKey()}`,
    key: freshKey(),
    behave: { sequence: [{ status: 500 }, { status: 201 }] },
  };
  expectFirstAnswer(await scene.send(refused), 500);
  expectFirstAnswer(await scene.send(refused), 201);
  for (const status of [429, 503, 504]) {
    const message = { path: "/lists/kept", key: freshKey(), behave: { status } };
    const first = await scene.send(message);
    expectReplay(await scene.send(message), first);
    expect(await scene.origin.effects(message.key)).toBe(1);
  }
});

it("retention: an answer is replayed until it expires, as Idempotency-Expires says, and then the key is new", async () => {
  const message = { path: "/brief/x", key: freshKey() };
  const before = Date.now();
  const first = await scene.send(message);
  const after = Date.now();
  const text = headerValue(first, "idempotency-expires") ?? "";
  expect(new Date(text).toUTCString()).toBe(text);
  // An HTTP date counts whole seconds; it may name the second in which the answer expires.
  expect(Date.parse(text)).toBeGreaterThan(before + RETENTION_MS - 1_000);
  expect(Date.parse(text)).toBeLessThanOrEqual(after + RETENTION_MS);
  const second = await until(async () => {
    const sentAt = Date.now();
    const response = await scene.send(message);
    if (headerValue(response, "idempotent-replayed") === null) return response;
    expectReplay(response, first);
    expect(sentAt).toBeLessThan(after + RETENTION_MS);
    return null;
  }, "the expiry");
  expectFirstAnswer(second, 201);
  expect(Date.parse(headerValue(second, "idempotency-expires") ?? "")).toBeGreaterThanOrEqual(Date.parse(text) + 1_000);
  const requests = await scene.origin.requests(message.key);
  expect(requests.map(({ attempt }) => attempt)).toEqual(["1", "1"]);
  expect((requests[1]?.arrivedAtMs ?? 0) - (requests[0]?.arrivedAtMs ?? 0)).toBeGreaterThanOrEqual(RETENTION_MS);
});
