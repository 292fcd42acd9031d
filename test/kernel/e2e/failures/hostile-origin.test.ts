import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue, rawRequest, endpoint } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene } from "../../../support/e2e/scene.ts";
import { openShardDatabase } from "../../../support/e2e/shard-database.ts";

let scene: Scene;

beforeAll(async () => {
  const routes = [
    { path: "/cookie/*", scope: ["cookie:session"] },
    { path: "/ambiguous/*", unknown: "hold", ambiguous: [500] },
    { path: "/*", unknown: "hold" },
  ];
  scene = await startScene({ shards: 1, scope: ["none"] }, routes);
});

afterAll(async () => {
  await scene.close();
});

describe("an origin's answer", () => {
  it.each(["destroy", "reset", "deleteAlarm", "toJSON", "inspect", "alarm"])(
    "that redirects to the shard's own %s is passed to the client, and calls nothing",
    async (method) => {
      const marker = { path: "/marker", key: freshKey() };
      const first = await scene.send(marker);
      const location = `https://itty-durable/do/call/${method}`;
      const behave = { status: 307, headers: [["Location", location] satisfies [string, string]] };
      const redirect = await scene.send({ path: "/redirect", key: freshKey(), behave });
      expectFirstAnswer(redirect, 307);
      expect(headerValue(redirect, "location")).toBe(location);
      expectReplay(await scene.send(marker), first);
    },
  );

  it.each([600, 999])("with the invalid status %d is processed as a 500, kept and replayed", async (status) => {
    const behave = { status, statusText: "Odd", headers: [["X-Own", "1"] satisfies [string, string]], body: "?" };
    const message = { path: "/odd", key: freshKey(), behave };
    const first = await scene.send(message);
    expectFirstAnswer(first, 500);
    // Its own words say something else.
    expect([first.statusText, headerValue(first, "x-own"), first.body.toString()]).toEqual(["", "1", "?"]);
    expectReplay(await scene.send(message), first);
    expect(await scene.origin.requests(message.key)).toHaveLength(1);
  });

  it.each([600, 999])("with the invalid status %d is ambiguous where a 500 is", async (status) => {
    const message = { path: "/ambiguous/x", key: freshKey(), behave: { status, body: "?" } };
    const first = await scene.send(message);
    expect({ status: first.status, body: first.body.toString() }).toEqual({ status: 500, body: "?" });
    const expected = { code: "outcome-unknown", status: 409, retryable: false, echo: message.key };
    expectProblem(await scene.send(message), expected);
    expect(await scene.origin.requests(message.key)).toHaveLength(1);
  });

  it.each([600, 999])("with the invalid status %d passes unchanged on an unprotected path", async (status) => {
    const response = await scene.send({ method: "GET", path: "/odd", body: null, behave: { status, body: "?" } });
    expect({ status: response.status, body: response.body.toString() }).toEqual({ status, body: "?" });
  });

  it("that cannot be stored is sent once, and never causes a second effect", async () => {
    await scene.send({ path: "/first", key: freshKey() });
    const database = openShardDatabase(scene.gateway);
    const message = { path: "/unstorable", key: freshKey(), behave: { status: 201, body: "once" } };
    try {
      database.refuseBodies();
      expectFirstAnswer(await scene.send(message), 201);
    } finally {
      database.allowBodies();
      database.close();
    }
    const expected = { code: "response-not-kept", status: 409, retryable: false, echo: message.key };
    expect(expectProblem(await scene.send(message), expected)).toMatchObject({ originalStatus: 201 });
    expect(await scene.origin.effects(message.key)).toBe(1);
  });
});

describe("a request without a valid URL", () => {
  it.each(["[", "a b", "x:99999999", "a%zz"])("with the host %j is refused, and not forwarded", async (host) => {
    const before = (await scene.origin.requests()).length;
    const response = await rawRequest({
      ...endpoint(scene.gateway.url),
      method: "POST",
      target: "/x",
      headers: [
        ["Host", host],
        ["Idempotency-Key", freshKey()],
        ["Content-Length", "0"],
        ["Connection", "close"],
      ],
      bare: true,
    });
    expectProblem(response, { code: "request-invalid", status: 400, retryable: false, echo: null });
    expect(await scene.origin.requests()).toHaveLength(before);
  });
});

describe("a cookie that a strict parser would drop", () => {
  it("still distinguishes callers from each other, and from a caller without one", async () => {
    const key = freshKey();
    const cookies = ['session={"user":"alice"}', 'session={"user":"bob"}', "other=1"];
    for (const cookie of cookies) {
      expectFirstAnswer(await scene.send({ path: "/cookie/x", key, headers: [["Cookie", cookie]] }), 201);
    }
    expect(await scene.origin.effects(key)).toBe(3);
  });
});
