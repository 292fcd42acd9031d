// `on_store_failure`: what happens to a request whose record cannot be written. "closed" refuses it; "open" forwards it
// without protection and says so, but never if it may have been sent already. The storage really fails.

import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair, headerValue, type RawResponse } from "../../../support/http.ts";
import { expectFirstAnswer, expectProblem, expectReplay, expectRetryAfter } from "../../../support/e2e/problem.ts";
import {
  clientOf,
  type Message,
  removeGateway,
  type Scene,
  startGateway,
  startScene,
} from "../../../support/e2e/scene.ts";
import { openShardDatabase, shardFile } from "../../../support/e2e/shard-database.ts";
import { openRefusedStatements, type RefusedStatements } from "../../../support/e2e/refused-statements.ts";

type Sent = Message & { readonly key: string };

const STATUS = "idempotency-status";
const OPEN = { on_store_failure: "open" };

let scene: Scene;
let refused: RefusedStatements;
beforeAll(async () => {
  scene = await startScene({ shards: 1, timeout: "2s", lock: "3s", retention: "1h" }, [
    { path: "/closed/*", on_store_failure: "closed" },
    { path: "/default/*" },
    { path: "/open/step/*", ...OPEN, forward_key: "charge" },
    { path: "/open/flowing/*", ...OPEN, fingerprint: { body: "none" } },
    { path: "/open/locked/*", ...OPEN, lock: "10m" },
    { path: "/open/*", ...OPEN },
  ]);
  await scene.send({ path: "/open/first", key: freshKey() });
  refused = openRefusedStatements(scene.gateway);
});
afterAll(async () => {
  refused.close();
  await scene.close();
});

function expectUnavailable(response: RawResponse, key: string): void {
  expectProblem(response, { code: "store-unavailable", status: 503, retryable: true, echo: key });
  expectRetryAfter(response, 10);
  expect(headerValue(response, STATUS)).not.toBe("unprotected");
}

/** The origin's answer to an unprotected request. */
function expectUnprotected(response: RawResponse, status: number, key: string): void {
  expectFirstAnswer(response, status, "unprotected");
  const own = response.headers
    .filter(([name]) => /^idempot/i.test(name))
    .map(([name, value]) => [name.toLowerCase(), value]);
  expect(Object.fromEntries(own)).toEqual({
    "idempotency-key": key,
    "idempotency-status": "unprotected",
  });
  expect(own).toHaveLength(2);
}

describe.each(["closed", "default"])("a claim that cannot be written, on_store_failure: %s", (kind) => {
  it("is store-unavailable, and the origin is not called", async () => {
    const message = { path: `/${kind}/claim`, key: freshKey() };
    await refused.while("INSERT", async () => expectUnavailable(await scene.send(message), message.key));
    expect(await scene.origin.requests(message.key)).toEqual([]);
    const first = await scene.send(message);
    expectFirstAnswer(first, 201);
    expectReplay(await scene.send(message), first);
  });
});

describe("a claim that cannot be written, on_store_failure: open", () => {
  it("answers 500 for an origin's invalid status", async () => {
    const message = { path: "/open/odd", key: freshKey(), behave: { status: 600, body: "?" } };
    const response = await refused.while("INSERT", () => scene.send(message));
    expectUnprotected(response, 500, message.key);
    expect(response.body.toString()).toBe("?");
  });

  it("is forwarded unchanged, without an attempt number, and its answer is marked", async () => {
    const key = freshKey();
    const headers: readonly HeaderPair[] = [
      ["Content-Type", "text/plain"],
      ["Authorization", "Bearer caller"],
      ["Idempotency-Attempt", "7"],
    ];
    const message = { path: "/open/claim?a=1&a=2", key: `"${key}"`, headers, body: Buffer.from([0, 255, 10]) };
    await scene.origin.behave(
      { key },
      {
        status: 202,
        statusText: "Taken",
        headers: [
          ["Content-Type", "application/octet-stream"],
          ["Content-Encoding", "gzip"],
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["Idempotency-Status", "first"],
          ["Idempotent-Replayed", "true"],
          ["Idempotency-Key", "another"],
        ],
        bodyBase64: Buffer.from([1, 2, 0]).toString("base64"),
      },
    );
    const response = await refused.while("INSERT", () => scene.send(message));
    expectUnprotected(response, 202, message.key);
    expect(response).toMatchObject({ statusText: "Taken", complete: true, body: Buffer.from([1, 2, 0]) });
    expect(headerValue(response, "content-encoding")).toBe("gzip");
    expect(response.headers.filter(([name]) => /^set-cookie$/i.test(name)).map(([, value]) => value)).toEqual([
      "a=1",
      "b=2",
    ]);
    const [request, ...more] = await scene.origin.requests(key);
    expect(more).toEqual([]);
    expect(request).toMatchObject({ method: "POST", url: message.path, attempt: null });
    expect(request?.body?.base64).toBe(message.body.toString("base64"));
    const sent = new Map(request?.headers.map(([name, value]) => [name.toLowerCase(), value]));
    expect(sent.get("authorization")).toBe("Bearer caller");
    expect(sent.get("idempotency-key")).toBe(message.key);
  });

  it("is unprotected, as the mark says, until claims can be written again", async () => {
    const message = { path: "/open/again", key: freshKey() };
    await refused.while("INSERT", async () => {
      for (let again = 0; again < 2; again += 1) expectUnprotected(await scene.send(message), 201, message.key);
    });
    expect(await scene.origin.effects(message.key)).toBe(2);
    const first = await scene.send(message);
    expectFirstAnswer(first, 201);
    expect(headerValue(first, STATUS)).toBe("first");
    expectReplay(await scene.send(message), first);
    expect((await scene.origin.requests(message.key)).map(({ attempt }) => attempt)).toEqual([null, null, "1"]);
  });

  it("is forwarded under the key that the origin knows, and without a body if it has none", async () => {
    const key = freshKey();
    const message = { path: "/open/step/x", key, body: null };
    expectUnprotected(await refused.while("INSERT", () => scene.send(message)), 201, key);
    expect(await scene.origin.requests(`${key}:charge`)).toMatchObject([{ attempt: null, body: { bytes: 0 } }]);
  });

  it("passes a redirect to the client and does not follow it", async () => {
    const message = { path: "/open/redirect", key: freshKey() };
    await scene.origin.behave({ key: message.key }, { status: 307, headers: [["Location", "/open/elsewhere"]] });
    expectUnprotected(await refused.while("INSERT", () => scene.send(message)), 307, message.key);
    expect(await scene.origin.requests(message.key)).toHaveLength(1);
  });

  it("says that it was not protected when its answer is lost", async () => {
    const message = { path: "/open/lost", key: freshKey() };
    await scene.origin.behave({ key: message.key }, { drop: "after-effect" });
    const response = await refused.while("INSERT", () => scene.send(message));
    expectProblem(response, { code: "origin-dropped", status: 502, retryable: false, echo: message.key });
    expect(await scene.origin.effects(message.key)).toBe(1);
  });

  it("is forwarded once when its commit failed: the origin was not called before", async () => {
    const message = { path: "/open/commit", key: freshKey() };
    const database = openShardDatabase(scene.gateway);
    database.failCommits("started");
    try {
      expectUnprotected(await scene.send(message), 201, message.key);
    } finally {
      database.allowCommits();
      database.close();
    }
    expect((await scene.origin.requests(message.key)).map(({ attempt }) => attempt)).toEqual([null]);
  });

  it.each(["/open/large", "/open/flowing/large"])(
    "%s: refuses an upload over 1 MiB, which has been read and cannot be sent again",
    async (path) => {
      const message = { path, key: freshKey(), body: Buffer.alloc((1 << 20) + 1, 1) };
      await refused.while("INSERT", async () => expectUnavailable(await scene.send(message), message.key));
      expect(await scene.origin.requests(message.key)).toEqual([]);
      const whole = { path, key: freshKey(), body: Buffer.alloc(1 << 20, 1) };
      expectUnprotected(await refused.while("INSERT", () => scene.send(whole)), 201, whole.key);
      expect(await scene.origin.requests(whole.key)).toMatchObject([{ body: { bytes: 1 << 20 } }]);
    },
  );

  it("does not prevent the replay of a record", async () => {
    const message = { path: "/open/held", key: freshKey() };
    const first = await scene.send(message);
    await refused.while("INSERT", async () => expectReplay(await scene.send(message), first));
    expect(headerValue(first, STATUS)).toBe("first");
    expect(await scene.origin.effects(message.key)).toBe(1);
  });
});

it("open never sends a request again whose end cannot be written: the origin has been called", async () => {
  const message = { path: "/open/locked/end", key: freshKey() };
  await scene.origin.behave({ key: message.key }, { status: 201, body: "a secret" });
  const response = await refused.while("UPDATE", () => scene.send(message));
  expectUnavailable(response, message.key);
  expect(response.body.toString()).not.toContain("secret");
  await expectLocked(message);
});

it("open never sends a request again whose end is written and not committed", async () => {
  const message = { path: "/open/locked/commit", key: freshKey() };
  const database = openShardDatabase(scene.gateway);
  database.failCommits("completed");
  try {
    // An answer that had begun breaks off, perhaps before its head.
    const response = await scene.send(message).catch(() => null);
    expect(response === null ? null : headerValue(response, STATUS)).not.toBe("unprotected");
    if (response?.complete === true) {
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(headerValue(response, "content-type")).toBe("application/problem+json");
    }
  } finally {
    database.allowCommits();
    database.close();
  }
  await expectLocked(message);
});

/** The one call was the only one, also when the same request comes again. */
async function expectLocked(message: Sent): Promise<void> {
  const response = await scene.send(message);
  expectProblem(response, { code: "in-flight", status: 409, retryable: true, echo: message.key });
  expect((await scene.origin.requests(message.key)).map(({ attempt }) => attempt)).toEqual(["1"]);
}

it.each(["/open/normal", "/closed/normal"])(
  "%s: a protected answer does not say unprotected, even if the origin does",
  async (path) => {
    const message = { path, key: freshKey() };
    await scene.origin.behave({ key: message.key }, { status: 201, headers: [["Idempotency-Status", "unprotected"]] });
    const first = await scene.send(message);
    expectFirstAnswer(first, 201);
    const replay = await scene.send(message);
    expectReplay(replay, first);
    expect([headerValue(first, STATUS), headerValue(replay, STATUS)]).toEqual(["first", "replayed"]);
  },
);

it("forwards only on routes that fail open when the shard cannot even be opened", async () => {
  const routes = [{ path: "/closed/*" }, { path: "/open/*", ...OPEN }];
  let gateway = await startGateway(scene.origin.url, { shards: 1 }, routes);
  await clientOf(gateway.url).send({ path: "/open/before", key: freshKey() });
  const file = shardFile(gateway);
  await gateway.stop();
  writeFileSync(file, Buffer.alloc(8192, 7));
  for (const beside of ["-wal", "-shm"]) writeFileSync(file + beside, "");
  gateway = await gateway.restart();
  try {
    const [closed, open] = [freshKey(), freshKey()];
    expectUnavailable(await clientOf(gateway.url).send({ path: "/closed/after", key: closed }), closed);
    expectUnprotected(await clientOf(gateway.url).send({ path: "/open/after", key: open }), 201, open);
    expect(await scene.origin.requests(closed)).toEqual([]);
    expect(await scene.origin.requests(open)).toMatchObject([{ attempt: null }]);
  } finally {
    await removeGateway(gateway);
  }
});
