// The two problems that are the gateway's own fault: a store that fails, and an invalid configuration. The storage really
// fails: its file is locked, refuses a commit, or is not a database. The gateway fails closed.

import { readdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import {
  clientOf,
  type Message,
  removeGateway,
  type Scene,
  startGateway,
  startScene,
  until,
} from "../../../support/e2e/scene.ts";
import { openShardDatabase, type ShardDatabase, shardFile } from "../../../support/e2e/shard-database.ts";

const LOCK_MS = 3_000;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 1, timeout: "2s", lock: `${LOCK_MS}ms` }, [
    { path: "/retry/*", unknown: "retry" },
    { path: "/hold/*", unknown: "hold" },
  ]);
});
afterAll(() => scene.close());

type Sent = Message & { readonly key: string };

async function expectUnavailable(message: Sent): Promise<void> {
  const response = await scene.send(message);
  expectProblem(response, { code: "store-unavailable", status: 503, retryable: true, echo: message.key });
  expectRetryAfter(response, 10);
}

/**
 * The result is not passed on. If its body came later than its head, the answer had begun, and breaks off: workerd then closes the connection, before
 * the head if both fall into one turn.
 */
async function expectNoResult(message: Sent): Promise<void> {
  const response = await scene.send(message).catch(() => null);
  expect(response?.body.toString() ?? "").not.toContain("secret");
  if (response?.complete === true)
    // The object is reset, and the request, delivered again, finds its own claim without a running attempt.
    expectProblem(response, { code: "in-flight", status: 409, retryable: true, echo: message.key });
}

describe("store-unavailable", () => {
  let database: ShardDatabase;
  beforeAll(async () => {
    await scene.send({ path: "/retry/first", key: freshKey() });
    database = openShardDatabase(scene.gateway);
  });
  afterAll(() => database.close());

  it("sends nothing when the claim cannot be written, and works again as soon as it can", async () => {
    const message = { path: "/retry/locked", key: freshKey() };
    database.lock();
    try {
      await expectUnavailable(message);
    } finally {
      database.unlock();
    }
    expect(await scene.origin.requests(message.key)).toEqual([]);
    const first = await scene.send(message);
    expectFirstAnswer(first, 201);
    expectReplay(await scene.send(message), first);
  });

  it("sends nothing when the claim is written but its commit fails: the origin never sees what is not durable", async () => {
    const message = { path: "/hold/uncommitted", key: freshKey() };
    database.failCommits("started");
    try {
      await expectUnavailable(message);
    } finally {
      database.allowCommits();
    }
    expect(await scene.origin.requests(message.key)).toEqual([]);
    expectFirstAnswer(await scene.send(message), 201);
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("replays what it holds while it cannot write", async () => {
    const message = { path: "/retry/held", key: freshKey() };
    const first = await scene.send(message);
    database.lock();
    try {
      expectReplay(await scene.send(message), first);
    } finally {
      database.unlock();
    }
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("does not pass on a result that it could not keep, and never runs the operation again on a route with hold", async () => {
    const message = { path: "/hold/lost", key: freshKey(), behave: { status: 201, body: "a secret" } };
    database.failCommits("completed");
    try {
      await expectNoResult(message);
    } finally {
      database.allowCommits();
    }
    const answered = await until(async () => {
      const response = await scene.send(message);
      return response.body.includes("in-flight") ? null : response;
    }, "the end of the lock");
    expectProblem(answered, { code: "outcome-unknown", status: 409, retryable: false, echo: message.key });
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("runs the operation again only after the lock, on a route with retry, when it could not keep the result", async () => {
    const message = { path: "/retry/lost", key: freshKey() };
    const sentAt = Date.now();
    database.failCommits("completed");
    try {
      await expectNoResult(message);
    } finally {
      database.allowCommits();
    }
    expectProblem(await scene.send(message), { code: "in-flight", status: 409, retryable: true, echo: message.key });
    const second = await until(async () => {
      const response = await scene.send(message);
      return response.status === 409 ? null : response;
    }, "a second attempt");
    expectFirstAnswer(second, 201);
    const requests = await scene.origin.requests(message.key);
    expect(requests.map(({ attempt }) => attempt)).toEqual(["1", "2"]);
    expect(requests[1]?.arrivedAtMs).toBeGreaterThanOrEqual(sentAt + LOCK_MS);
  });
});

it("store-unavailable: sends nothing when the shard cannot even be opened", async () => {
  const gateway = await startGateway(scene.origin.url, { shards: 1 }, [{ path: "/retry/*", unknown: "retry" }]);
  await clientOf(gateway.url).send({ path: "/retry/before", key: freshKey() });
  const file = shardFile(gateway);
  await gateway.stop();
  writeFileSync(file, Buffer.alloc(8192, 7));
  for (const beside of ["-wal", "-shm"]) writeFileSync(file + beside, "");
  const again = await gateway.restart();
  try {
    const key = freshKey();
    const response = await clientOf(again.url).send({ path: "/retry/after", key });
    expectProblem(response, { code: "store-unavailable", status: 503, retryable: true, echo: key });
    expectRetryAfter(response, 10);
    expect(await scene.origin.requests(key)).toEqual([]);
    const unprotected = await clientOf(again.url).send({ method: "GET", path: "/elsewhere", body: null });
    expect(unprotected.status).toBe(200);
  } finally {
    await removeGateway(again);
  }
});

describe("configuration-invalid", () => {
  it("names every problem only in the log, and forwards nothing, protected or not", async () => {
    const gateway = await startGateway(scene.origin.url, { scope: "authorization", retntion: "24h" }, [
      { path: "/payments", lock: "10s" },
      { path: "payments", unknown: "guess", methods: ["GET"] },
      { path: "/orders", origin: { binding: "NOWHERE" } },
    ]);
    try {
      const client = clientOf(gateway.url);
      const key = freshKey();
      const requests: Message[] = [
        { path: "/payments", key },
        { method: "GET", path: `/unprotected/${key}`, body: null },
        { method: "GET", path: "/.well-known/idempotency", body: null },
      ];
      for (const message of requests) {
        const response = await client.send(message);
        const expected = { code: "configuration-invalid", status: 500, retryable: false, echo: null };
        const body = expectProblem(response, expected);
        expect(body["problemCount"]).toBe(7);
        // Where a problem is, and of what, is the operator's business: it names internal addresses and bindings.
        expect(response.body.toString()).not.toMatch(/ROUTES|IDEMPOTENCY|NOWHERE|retntion|timeout/);
      }
      const places = [...gateway.output().matchAll(/configuration: ([^:]+): /g)].map(([, place]) => place ?? "");
      expect(new Set(places)).toEqual(
        new Set([
          "IDEMPOTENCY.retntion",
          "IDEMPOTENCY.scope",
          "ROUTES[0].lock",
          "ROUTES[1].methods[0]",
          "ROUTES[1].path",
          "ROUTES[1].unknown",
          "ROUTES[2].origin.binding",
        ]),
      );
      expect(places).toHaveLength(7);
      expect(gateway.output()).toContain("ROUTES[0].lock: must exceed timeout (30s)");
      const seen = await scene.origin.requests();
      expect(seen.filter((request) => request.key === key || request.path.includes(key))).toEqual([]);
      expect(
        readdirSync(gateway.stateDir, { recursive: true }).filter((name) => /[0-9a-f]{64}/.test(String(name))),
      ).toEqual([]);
    } finally {
      await removeGateway(gateway);
    }
  });
});
