// draft-ietf-httpapi-idempotency-key-header-07, requirement by requirement, as black-box HTTP against the real gateway.
// Every test names its section; requirements on clients are tested as far as a resource can observe or enforce them.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair, headerValue } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";

const UUID_PATTERN = "^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 4, timeout: "20s", lock: "30s" }, [
    { path: "/payments/*", retention: "36h" },
    { path: "/uuid/*", key_format: { pattern: UUID_PATTERN, min: 36, max: 36 } },
    { path: "/whole/*", fingerprint: { body: "json", headers: ["x-api-version"] } },
    { path: "/selected/*", fingerprint: { body: "none" } },
  ]);
});
afterAll(() => scene.close());

const publishedPolicy = v.looseObject({
  specification: v.string(),
  routes: v.array(
    v.looseObject({
      path: v.string(),
      methods: v.array(v.string()),
      key: v.looseObject({ required: v.boolean(), pattern: v.optional(v.string()), minLength: v.number() }),
      scope: v.array(v.string()),
      fingerprint: v.looseObject({ body: v.string(), headers: v.array(v.string()) }),
      retentionSeconds: v.number(),
    }),
  ),
});

async function readPolicy(): Promise<v.InferOutput<typeof publishedPolicy>> {
  const response = await scene.send({ method: "GET", path: "/.well-known/idempotency", body: null });
  expect(response.status).toBe(200);
  return v.parse(publishedPolicy, JSON.parse(response.body.toString()));
}

describe("row 1, §2.1: the header's syntax", () => {
  it("§2.1 accepts a structured-field string as the key, and passes it to the origin unchanged", async () => {
    const key = freshKey();
    const response = await scene.send({ path: "/payments/quoted", key: `"${key}"` });
    expectFirstAnswer(response, 201);
    expect(headerValue(response, "idempotency-key")).toBe(`"${key}"`);
    const [request] = await scene.origin.requests(key);
    expect(request?.headers.find(([name]) => name.toLowerCase() === "idempotency-key")?.[1]).toBe(`"${key}"`);
  });

  it("§2.1 decodes the escapes of a structured-field string", async () => {
    const key = `${freshKey()}\\x"y`;
    const quoted = `"${key.replaceAll(/["\\]/g, "\\$&")}"`;
    const first = await scene.send({ path: "/payments/escaped", key: quoted });
    expectFirstAnswer(first, 201);
    // The same value bare names the same record, so the escapes were read.
    const bare = await scene.send({ path: "/payments/escaped", key });
    expect(headerValue(bare, "idempotent-replayed")).toBe("true");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it.each([
    ["an unfinished string", '"abc'],
    ["a string with something behind it", '"abc"def'],
    ["an escape that does not exist", '"a\\bc"'],
    ["two strings", '"abc", "def"'],
    ["two bare values", "abc,def"],
    ["an empty string", '""'],
    ["a string with a space", '"a b"'],
  ])("§2.1 refuses %s", async (_what, key) => {
    const path = `/payments/${freshKey()}`;
    const response = await scene.send({ path, key });
    expectProblem(response, { code: "key-invalid", status: 400, retryable: false, echo: null });
    expect((await scene.origin.requests()).filter((request) => request.path === path)).toEqual([]);
  });

  it("§2.1 refuses a repeated header line, also with the same key twice", async () => {
    const key = freshKey();
    const lines: HeaderPair[] = [
      ["Idempotency-Key", key],
      ["Idempotency-Key", key],
    ];
    const response = await scene.send({ path: "/payments/repeated", headers: lines });
    expectProblem(response, { code: "key-invalid", status: 400, retryable: false, echo: null });
    expect(await scene.origin.effects(key)).toBe(0);
  });
});

// Row 2, that a client's keys are unique: deliberately not covered, a gateway sees only the reuse.
it("§2.2 refuses a key that is reused with another payload", async () => {
  const key = freshKey();
  const first = await scene.send({ path: "/payments/reuse", key, body: '{"amount":1}' });
  const reuse = await scene.send({ path: "/payments/reuse", key, body: '{"amount":2}' });
  expectProblem(reuse, { code: "key-reused", status: 422, retryable: false, echo: key });
  expect(await scene.origin.effects(key)).toBe(1);
  expectReplay(await scene.send({ path: "/payments/reuse", key, body: '{"amount":1}' }), first);
});

it("§2.2 keeps the same key of two callers apart, as the published scope says", async () => {
  const key = freshKey();
  const send = (token: string) =>
    scene.send({ path: "/payments/unique", key, headers: [["Authorization", `Bearer ${token}`]] });
  const [one, other] = [await send("one"), await send("other")];
  expectFirstAnswer(one, 201);
  expectFirstAnswer(other, 201);
  expect(await scene.origin.effects(key)).toBe(2);
  const { routes } = await readPolicy();
  expect(routes.map(({ scope }) => scope)).toEqual(routes.map(() => ["header:authorization"]));
});

// Row 4, time-based keys: deliberately not covered, they are a MAY, and this gateway requires none.
it("§2.3 publishes the expiration policy and tells of each answer when it expires", async () => {
  const { routes } = await readPolicy();
  expect(routes.find(({ path }) => path === "/payments/*")?.retentionSeconds).toBe(36 * 3600);
  const before = Date.now();
  const response = await scene.send({ path: "/payments/expiry", key: freshKey() });
  const expiresAt = Date.parse(headerValue(response, "idempotency-expires") ?? "");
  const secondsOff = (expiresAt - (before + 36 * 3600_000)) / 1000;
  expect(Math.abs(secondsOff)).toBeLessThan(10);
});

describe("row 5, §2.4: the fingerprint", () => {
  it("§2.4 includes the whole payload in the fingerprint", async () => {
    const key = freshKey();
    const send = (body: string, version: string) =>
      scene.send({ path: "/whole/order", key, body, headers: [["X-Api-Version", version]] });
    const first = await send('{"a":1,"b":[2]}', "1");
    expectReplay(await send('{ "b": [2], "a": 1.0 }', "1"), first);
    const mismatch = { code: "key-reused", status: 422, retryable: false, echo: key };
    expectProblem(await send('{"a":1,"b":[3]}', "1"), mismatch);
    expectProblem(await send('{"a":1,"b":[2]}', "2"), mismatch);
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("§2.4 includes only the selected parts in the fingerprint", async () => {
    const key = freshKey();
    const first = await scene.send({ path: "/selected/order", key, body: "one" });
    expectReplay(await scene.send({ path: "/selected/order", key, body: "two" }), first);
    expect(await scene.origin.effects(key)).toBe(1);
  });
});

it("§2.5.2 publishes an idempotency specification with the expiration policy of every route", async () => {
  const policy = await readPolicy();
  expect(policy.specification).toContain("draft-ietf-httpapi-idempotency-key-header");
  expect(policy.routes.map(({ path, methods, key }) => [path, methods, key.required])).toEqual(
    ["/payments/*", "/uuid/*", "/whole/*", "/selected/*"].map((path) => [path, ["POST", "PATCH"], true]),
  );
  for (const { retentionSeconds } of policy.routes) expect(retentionSeconds).toBeGreaterThan(0);
});

it("§2.5.2 identifies the key from the header, generates the fingerprint and enforces idempotency", async () => {
  const [key, otherKey] = [freshKey(), freshKey()];
  const first = await scene.send({ path: "/payments/enforced", key });
  expectReplay(await scene.send({ path: "/payments/enforced", key }), first);
  const other = await scene.send({ path: "/payments/enforced", key: otherKey });
  expectFirstAnswer(other, 201);
  expect(other.body.equals(first.body)).toBe(false);
  const reuse = await scene.send({ path: "/payments/elsewhere", key });
  expectProblem(reuse, { code: "key-reused", status: 422, retryable: false, echo: key });
  expect(await scene.origin.effects(key)).toBe(1);
  expect(await scene.origin.effects(otherKey)).toBe(1);
});

it("§2.6 processes a first request normally: the request arrives, and the answer returns", async () => {
  const key = freshKey();
  const response = await scene.send({
    path: "/payments/first?currency=EUR",
    key,
    body: '{"amount":7}',
    headers: [["Content-Type", "application/json"]],
    behave: { status: 202, statusText: "Taken", headers: [["X-Ours", "yes"]], body: "as the origin says" },
  });
  expectFirstAnswer(response, 202);
  expect([response.statusText, headerValue(response, "x-ours")]).toEqual(["Taken", "yes"]);
  expect(response.body.toString()).toBe("as the origin says");
  const requests = await scene.origin.requests(key);
  expect(requests.map(({ method, url }) => [method, url])).toEqual([["POST", "/payments/first?currency=EUR"]]);
  expect(Buffer.from(requests[0]?.body?.base64 ?? "", "base64").toString()).toBe('{"amount":7}');
  expect(new Map(requests[0]?.headers.map(([name, value]) => [name.toLowerCase(), value])).get("content-type")).toBe(
    "application/json",
  );
});

it.each([200, 201, 302, 400, 402, 404, 409, 422, 500, 501])(
  "§2.6 answers a duplicate after completion with the result of the completed operation: status %i",
  async (status) => {
    const message = { path: "/payments/completed", key: freshKey(), behave: { status, body: `first ${status}` } };
    const first = await scene.send(message);
    expectFirstAnswer(first, status);
    expectReplay(await scene.send(message), first);
    expect(await scene.origin.effects(message.key)).toBe(1);
  },
);

it("§2.6 answers a concurrent duplicate with a conflict, and the origin sees one request", async () => {
  const message = { path: "/payments/concurrent", key: freshKey(), behave: { status: 201, hold: true, body: "one" } };
  const first = scene.send(message);
  await scene.origin.arrived(message.key);
  const duplicate = await scene.send(message);
  expectProblem(duplicate, { code: "in-flight", status: 409, retryable: true, echo: message.key });
  await scene.origin.release(message.key);
  expectFirstAnswer(await first, 201);
  expect(await scene.origin.effects(message.key)).toBe(1);
});

describe("rows 11 to 13, §2.7: errors with a link to the documentation", () => {
  it("§2.7 answers 400 with a link to the documentation when a required key is missing", async () => {
    const path = `/payments/${freshKey()}`;
    const response = await scene.send({ path });
    expectProblem(response, { code: "key-missing", status: 400, retryable: false, echo: null });
    expect((await scene.origin.requests()).filter((request) => request.path === path)).toEqual([]);
  });

  it("§2.7 answers 422 with a link to the documentation when a key is reused with another payload", async () => {
    const key = freshKey();
    await scene.send({ path: "/payments/link", key, body: "one" });
    const response = await scene.send({ path: "/payments/link", key, body: "two" });
    expectProblem(response, { code: "key-reused", status: 422, retryable: false, echo: key });
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("§2.7 answers 409 with a link to the documentation while the original is in process, and its result after", async () => {
    const message = { path: "/payments/process", key: freshKey(), behave: { status: 201, hold: true, body: "done" } };
    const original = scene.send(message);
    await scene.origin.arrived(message.key);
    const retry = await scene.send(message);
    expectProblem(retry, { code: "in-flight", status: 409, retryable: true, echo: message.key });
    expect(headerValue(retry, "retry-after")).toMatch(/^[0-9]+$/);
    await scene.origin.release(message.key);
    const first = await original;
    expectReplay(await scene.send(message), first);
  });

  it("§2.7 links to documentation that exists", async () => {
    const { headers } = await scene.send({ path: "/payments/linked" });
    const target = /^<([^>]+)>/.exec(headerValue({ headers }, "link") ?? "")?.[1] ?? "";
    const documentation = await scene.send({ method: "GET", path: target, body: null });
    expect(documentation.status).toBe(200);
    expect(headerValue(documentation, "content-type")).toMatch(/^application\/json/);
  });
});

// Row 14 binds the client. A gateway can only say which errors a plain retry never fixes, and be consistent about it.
it("§2.7 accepts a corrected request, and refuses the same error each time", async () => {
  const key = freshKey();
  const path = "/uuid/corrected";
  const invalid = { code: "key-invalid", status: 400, retryable: false, echo: null };
  expectProblem(await scene.send({ path, key: "not-a-uuid" }), invalid);
  expectProblem(await scene.send({ path, key: "not-a-uuid" }), invalid);
  expectFirstAnswer(await scene.send({ path, key, body: "one" }), 201);
  const reused = { code: "key-reused", status: 422, retryable: false, echo: key };
  expectProblem(await scene.send({ path, key, body: "two" }), reused);
  expectProblem(await scene.send({ path, key, body: "two" }), reused);
  expectFirstAnswer(await scene.send({ path, key: freshKey(), body: "two" }), 201);
  expect(await scene.origin.effects(key)).toBe(1);
});

describe("row 15, §5: security considerations", () => {
  it("§5 publishes the key format and refuses other keys before any processing", async () => {
    const { routes } = await readPolicy();
    const route = routes.find(({ path }) => path === "/uuid/*");
    expect(route?.key).toMatchObject({ pattern: UUID_PATTERN, minLength: 36 });
    const key = freshKey().toUpperCase();
    const refused = await scene.send({ path: "/uuid/format", key });
    expectProblem(refused, { code: "key-invalid", status: 400, retryable: false, echo: null });
    expect(await scene.origin.effects(key)).toBe(0);
    expectFirstAnswer(await scene.send({ path: "/uuid/format", key: freshKey() }), 201);
  });

  it("§5 finds a record by key and caller, so a stolen key is useless", async () => {
    const key = freshKey();
    const mine: HeaderPair = ["Authorization", "Bearer mine"];
    const secret = { status: 200, body: "the owner's secret" };
    await scene.send({ path: "/payments/stolen", key, headers: [mine], behave: secret });
    const stolen = [
      await scene.send({ path: "/payments/stolen", key, headers: [["Authorization", "Bearer theirs"]] }),
      await scene.send({ path: "/payments/stolen", key }),
    ];
    for (const response of stolen) {
      expectFirstAnswer(response, 201);
      expect(response.body.toString()).not.toContain("secret");
    }
  });
});
