// Duplicates that come after the retention: where keys are remembered, the operation does not take effect a second time.

import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, type GatewayVars, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { rowsOf } from "../../../support/e2e/shard-database.ts";
import { expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { clientOf, type Message, until } from "../../../support/e2e/scene.ts";

const SETTINGS = { shards: 1, timeout: "2s", lock: "2500ms", retention: "3s" };

let origin: TestOrigin;
let gateway: Gateway;

function remembering(): GatewayVars {
  const IDEMPOTENCY = { origin: origin.url, ...SETTINGS };
  const ROUTES = [
    { path: "/pay", remember: "30d" },
    { path: "/retry", remember: "30d", unknown: "retry" },
    { path: "/brief", remember: "5s" },
    { path: "/forgets" },
  ];
  return { IDEMPOTENCY, ROUTES };
}

beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startWorkerd({ stateDir: await makeStateDir(), vars: remembering() });
});
afterAll(async () => {
  await gateway.stop();
  await rm(gateway.stateDir, { recursive: true, force: true });
  await origin.close();
});

const send = (message: Message): Promise<RawResponse> => clientOf(gateway.url).send(message);

function expectExpired(response: RawResponse, key: string, originalStatus?: number): void {
  const problem = expectProblem(response, { code: "key-expired", status: 409, retryable: false, echo: key });
  expect(problem["originalStatus"]).toBe(originalStatus);
  expect(headerValue(response, "idempotency-status")).toBe("key-expired");
}

/** Sends the request again until its record has expired; until then it is replayed. */
function untilExpired(message: Message): Promise<RawResponse> {
  return until(async () => {
    const answer = await send(message);
    return answer.status === 409 ? answer : null;
  }, `the record of ${message.key} expires`);
}

/** Sends the request again until it counts as a first one. */
function untilFirstAgain(message: Message): Promise<RawResponse> {
  return until(async () => {
    const answer = await send(message);
    return headerValue(answer, "idempotency-status") === "first" ? answer : null;
  }, `the key ${message.key} is forgotten`);
}

/** Waits until the alarm has erased the response. */
function untilErased(key: string): Promise<true> {
  return until(
    () => Promise.resolve(rowsOf(gateway, key).every(({ kept }) => kept === null) ? true : null),
    `the response of ${key} is erased`,
  );
}

describe("a duplicate after the retention", () => {
  it("gets key-expired and no second effect: before the alarm, after it, and after a crash", async () => {
    const message = { path: "/pay", key: freshKey(), behave: { status: 201, body: "paid" } };
    const first = await send(message);
    expectReplay(await send(message), first);
    expectExpired(await untilExpired(message), message.key, 201);
    await untilErased(message.key);
    expectExpired(await send(message), message.key, 201);
    expect(rowsOf(gateway, message.key)).toMatchObject([
      { state: "remembered", body: null, headers: null, history: null },
    ]);
    await gateway.kill9();
    gateway = await gateway.restart();
    expectExpired(await send(message), message.key, 201);
    expect(await origin.effects(message.key)).toBe(1);
  });

  it.concurrent("of another request is still told so", async () => {
    const message = { path: "/pay", key: freshKey() };
    await send(message);
    await untilExpired(message);
    await untilErased(message.key);
    const other = await send({ ...message, body: '{"amount":2}' });
    expectProblem(other, { code: "key-reused", status: 422, retryable: false, echo: message.key });
    expect(await origin.effects(message.key)).toBe(1);
  });

  it.concurrent.each([
    ["are not remembered", "/forgets"],
    ["are no longer remembered", "/brief"],
  ])("runs where keys %s", async (_what, path) => {
    const message = { path, key: freshKey() };
    await send(message);
    await untilFirstAgain(message);
    expect(await origin.effects(message.key)).toBe(2);
  });

  it.concurrent("that nobody answered gets key-expired on a route that retries: the attempt may have acted", async () => {
    const message = { path: "/retry", key: freshKey() };
    const { status } = await send({ ...message, behave: { status: 201, drop: "after-effect" } });
    expect(status).toBe(502);
    await untilMoved(message.key);
    expectExpired(await send(message), message.key);
    expect(await origin.effects(message.key)).toBe(1);
  });

  it.concurrent("runs if the origin had refused the first request: nothing has happened", async () => {
    const message = { path: "/retry", key: freshKey() };
    const { status } = await send({ ...message, behave: { status: 503 } });
    expect(status).toBe(503);
    await until(() => Promise.resolve(rowsOf(gateway, message.key).length === 0 ? true : null), "the record is erased");
    expect((await send(message)).status).toBe(201);
  });
});

/** Waits until what is left of a record without a result has moved. */
function untilMoved(key: string): Promise<true> {
  return until(
    () => Promise.resolve(rowsOf(gateway, key).some(({ state }) => state === "remembered") ? true : null),
    `the record of ${key} expires`,
  );
}
