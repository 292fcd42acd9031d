// How many new keys a caller may begin (`new_keys`), with the platform's own rate limiter under `wrangler dev`; one that fails:
// unit/object/new-keys.test.ts. Effects are counted at the origin.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, makeStateDir, startWranglerDev } from "../../../support/gateway.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Client, clientOf, type Message, removeGateway, until } from "../../../support/e2e/scene.ts";

/** What the binding allows each caller. */
const LIMIT = 5;
const PERIOD_MS = 10_000;

const ROUTES = [{ path: "/limited/*", new_keys: "NEW_KEYS", duplicate: "wait" }, { path: "/free/*" }];

let origin: TestOrigin;
let gateway: Gateway;
let client: Client;
beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startWranglerDev({
    vars: { IDEMPOTENCY: { origin: origin.url }, ROUTES },
    stateDir: await makeStateDir(),
    extraToml: `[[ratelimits]]
name = "NEW_KEYS"
namespace_id = "1001"
simple = { limit = ${LIMIT}, period = ${PERIOD_MS / 1000} }`,
  });
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

interface Caller {
  /** Sends a request with this key; a new one by default. */
  send(key?: string, message?: Partial<Message>): Promise<RawResponse>;
}

function freshCaller(): Caller {
  const headers = [["Authorization", `Bearer ${freshKey()}`] as const];
  return { send: (key = freshKey(), message = {}) => client.send({ path: "/limited/pay", key, headers, ...message }) };
}

/** The local limiter begins to count anew with each period of the clock. A run that such a moment cuts in two is made again. */
async function inOnePeriod<T>(run: (caller: Caller) => Promise<T>): Promise<T> {
  for (;;) {
    const period = Math.floor(Date.now() / PERIOD_MS);
    const result = await run(freshCaller());
    if (Math.floor(Date.now() / PERIOD_MS) === period) return result;
  }
}

const statusesOf = (responses: readonly RawResponse[]): readonly number[] => responses.map(({ status }) => status);

/** New keys, one after the other, as many as given. */
async function beginKeys(caller: Caller, count: number): Promise<readonly RawResponse[]> {
  const responses: RawResponse[] = [];
  while (responses.length < count) responses.push(await caller.send());
  return responses;
}

describe("a caller who has begun as many keys as allowed", () => {
  it("gets 429 for the next one, which the origin does not see, and which is free later", async () => {
    const { key, caller, begun, refused } = await inOnePeriod(async (one) => {
      const sixth = freshKey();
      return { key: sixth, caller: one, begun: await beginKeys(one, LIMIT), refused: await one.send(sixth) };
    });
    expect(statusesOf(begun)).toEqual(Array.from({ length: LIMIT }, () => 201));
    expectProblem(refused, { code: "too-many-keys", status: 429, retryable: true, echo: key });
    expect(headerValue(refused, "retry-after")).toBe("10");
    expect(await origin.requests(key)).toEqual([]);
    const later = await until(async () => {
      const response = await caller.send(key);
      return response.status === 429 ? null : response;
    }, "the next period");
    expect([later.status, headerValue(later, "idempotency-status")]).toEqual([201, "first"]);
    expect(await origin.effects(key)).toBe(1);
  });

  it("still gets replays and mismatches, and takes nothing from others or from other routes", async () => {
    const run = await inOnePeriod(async (caller) => {
      const key = freshKey();
      const first = await caller.send(key);
      await beginKeys(caller, LIMIT - 1);
      const refusedKey = freshKey();
      return {
        key,
        first,
        refused: await caller.send(refusedKey),
        again: await caller.send(refusedKey),
        replays: [await caller.send(key), await caller.send(key), await caller.send(key)],
        mismatch: await caller.send(key, { body: '{"amount":2}' }),
        another: await freshCaller().send(),
        elsewhere: await caller.send(freshKey(), { path: "/free/pay" }),
      };
    });
    expect(statusesOf([run.first, run.refused, run.again])).toEqual([201, 429, 429]);
    for (const replay of run.replays) expectReplay(replay, run.first);
    expectProblem(run.mismatch, { code: "key-reused", status: 422, retryable: false, echo: run.key });
    expect(statusesOf([run.another, run.elsewhere])).toEqual([201, 201]);
    expect(await origin.effects(run.key)).toBe(1);
  });
});

describe("what is not a new key", () => {
  it("is a duplicate, however many arrive at once", async () => {
    const run = await inOnePeriod(async (caller) => {
      const key = freshKey();
      const together = await Promise.all(Array.from({ length: 8 }, () => caller.send(key)));
      return { key, together, others: await beginKeys(caller, LIMIT) };
    });
    expect(new Set(statusesOf(run.together))).toEqual(new Set([201]));
    expect(statusesOf(run.others)).toEqual([201, 201, 201, 201, 429]);
    expect(await origin.effects(run.key)).toBe(1);
  });

  it("is a retry after a refusal", async () => {
    const run = await inOnePeriod(async (caller) => {
      const key = freshKey();
      const message = { behave: { sequence: [{ status: 503, effect: false }, { status: 503, effect: false }, {}] } };
      const refusals = [await caller.send(key, message), await caller.send(key, message)];
      const others = await beginKeys(caller, LIMIT);
      return { key, refusals, others, retry: await caller.send(key, message) };
    });
    expect(statusesOf(run.refusals)).toEqual([503, 503]);
    expect(statusesOf(run.others)).toEqual([201, 201, 201, 201, 429]);
    expect(run.retry.status).toBe(200);
    expect((await origin.requests(run.key)).length).toBe(3);
    expect(await origin.effects(run.key)).toBe(1);
  });
});
