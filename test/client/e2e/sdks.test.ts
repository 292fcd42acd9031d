// Vendors' SDKs, unchanged except for their base URL, through the gateway: they make their own keys and retries, and the
// operation takes effect once. How each handles the gateway's problems depends on its version.

import { ModernTreasury } from "modern-treasury";
import { Stripe } from "stripe";
import { ApiException, Svix } from "svix";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { freshKey } from "../../support/http.ts";
import { type LossyProxy, startLossyProxy } from "../../support/e2e/lossy-proxy.ts";
import { type Scene, startScene, until } from "../../support/e2e/scene.ts";

interface Sdk {
  readonly name: string;
  readonly path: string;
  /** The form of the keys that the SDK makes. */
  readonly keyForm: RegExp;
  /** An SDK that treats 409 as final needs a route on which duplicates wait. */
  readonly duplicate: "reject" | "wait";
  /** The code with which a held call ends. An SDK that reads `X-Should-Retry` stops at the first. */
  readonly heldAs: "origin-dropped" | "outcome-unknown";
  /** How often it sends a request whose 409 no retry can fix. */
  readonly sendsInVain: number;
  /** Creates something with its own method for it; resolves with its id. */
  readonly create: (amount: number, idempotencyKey?: string) => Promise<string>;
  /** The text of its error. */
  readonly reported: (error: unknown) => { readonly status: unknown; readonly code: unknown };
}

let scene: Scene;
let proxy: LossyProxy;

const SDKS: readonly Sdk[] = [
  {
    name: "stripe",
    path: "/v1/payment_intents",
    keyForm: /^stripe-node-retry-[0-9a-f-]{36}$/,
    duplicate: "reject",
    // It reads only a header with its own name, and treats every 409 as a lock.
    heldAs: "outcome-unknown",
    sendsInVain: 3,
    async create(amount, idempotencyKey) {
      const stripe = new Stripe("sk_test_onceway", { host: "127.0.0.1", port: proxy.port, protocol: "http" });
      const options = idempotencyKey === undefined ? {} : { idempotencyKey };
      return (await stripe.paymentIntents.create({ amount, currency: "eur" }, options)).id;
    },
    reported: (error) =>
      error instanceof Stripe.errors.StripeError ? { status: error.statusCode, code: error.code } : never(error),
  },
  {
    name: "modern-treasury",
    path: "/api/counterparties",
    keyForm: /^stainless-node-retry-[0-9a-f-]{36}$/,
    duplicate: "reject",
    heldAs: "origin-dropped",
    sendsInVain: 1,
    async create(amount, idempotencyKey) {
      const client = new ModernTreasury({ baseURL: proxy.url, apiKey: "key", organizationID: "org" });
      const options = idempotencyKey === undefined ? {} : { idempotencyKey };
      return (await client.counterparties.create({ name: `amount ${amount}` }, options)).id;
    },
    reported: (error) =>
      error instanceof ModernTreasury.APIError
        ? { status: error.status, code: member(error.error, "code") }
        : never(error),
  },
  {
    name: "svix",
    path: "/api/v1/app",
    keyForm: /^auto_[0-9a-f-]{36}$/,
    duplicate: "wait",
    // It retries every status from 500 on, and treats every 409 as final.
    heldAs: "outcome-unknown",
    sendsInVain: 1,
    create: async (amount, idempotencyKey) => {
      const svix = new Svix("token", { serverUrl: proxy.url });
      const options = idempotencyKey === undefined ? {} : { idempotencyKey };
      return (await svix.application.create({ name: `amount ${amount}` }, options)).id;
    },
    reported: (error) =>
      error instanceof ApiException ? { status: error.code, code: member(error.body, "code") } : never(error),
  },
];

beforeAll(async () => {
  scene = await startScene(
    {},
    SDKS.map(({ path, duplicate }) => ({ path, unknown: "hold", duplicate })),
  );
  proxy = await startLossyProxy(scene.gateway.port);
});
afterAll(async () => {
  await proxy.close();
  await scene.close();
});

// An SDK has one path for one operation, so the tests cannot each take their own.
beforeEach(async () => {
  await scene.origin.reset();
  proxy.forget();
});

describe.each(SDKS)("$name", ({ path, keyForm, duplicate, heldAs, sendsInVain, create, reported }) => {
  const created = (id: string): object => ({
    status: 200,
    headers: [["Content-Type", "application/json"]],
    body: JSON.stringify({ id, object: "thing" }),
  });
  /** A second run of the operation would be seen by its id. */
  const answers = { sequence: [created("first"), created("second")] };
  const keys = (): (string | null)[] => proxy.passages().map(({ key }) => key);
  const statuses = (): (number | null)[] => proxy.passages().map(({ status }) => status);
  const failure = async (promise: Promise<string>): Promise<ReturnType<Sdk["reported"]>> =>
    reported(
      await promise.then(
        (id) => ({ id }),
        (error: unknown) => error,
      ),
    );

  it("makes a key, and a new one for the next operation", async () => {
    await scene.origin.behave({ path }, created("first"));
    await create(1);
    await create(1);
    const [one, other] = keys();
    expect([one, other]).toEqual([expect.stringMatching(keyForm), expect.stringMatching(keyForm)]);
    expect(one).not.toBe(other);
    expect(await scene.origin.effects()).toBe(2);
  });

  it("gets the first answer after it was lost, with one effect", async () => {
    await scene.origin.behave({ path }, answers);
    proxy.loseAnswer("whole");
    expect(await create(1)).toBe("first");
    const [key, retried, ...more] = keys();
    expect([retried, more]).toEqual([key, []]);
    expect(await scene.origin.effects(key ?? "")).toBe(1);
    expect(await scene.origin.requests()).toHaveLength(1);
  });

  it("treats a partial answer as an error, and gets the whole one when called again with the key", async () => {
    await scene.origin.behave({ path }, answers);
    const key = freshKey();
    proxy.loseAnswer("half");
    await expect(create(1, key)).rejects.toThrow(/connection|terminated/);
    expect(await create(1, key)).toBe("first");
    expect(await scene.origin.effects(key)).toBe(1);
  });

  it("retries while the first request still runs, and gets the first answer", async () => {
    await scene.origin.behave({ path }, { ...created("first"), hold: true });
    const promise = create(1);
    await until(async () => ((await scene.origin.requests()).length === 1 ? true : null), "the origin has the request");
    proxy.resetWaiting();
    const isBack = (): boolean => (duplicate === "reject" ? statuses().includes(409) : keys().length === 2);
    await until(async () => (isBack() ? true : null), "the retry is refused, or waits");
    await scene.origin.release();
    expect(await promise).toBe("first");
    expect(new Set(keys()).size).toBe(1);
    expect(await scene.origin.effects()).toBe(1);
  });

  it("treats a reused key as an error at once", async () => {
    await scene.origin.behave({ path }, answers);
    const key = freshKey();
    expect(await create(1, key)).toBe("first");
    expect(await failure(create(2, key))).toEqual({ status: 422, code: "key-reused" });
    expect(statuses()).toEqual([200, 422]);
    expect(await scene.origin.effects()).toBe(1);
  });

  it("treats an unknown outcome as an error, with one effect", async () => {
    await scene.origin.behave({ path }, { drop: "after-effect" });
    const key = freshKey();
    expect(await failure(create(1, key))).toMatchObject({
      code: heldAs,
    });
    proxy.forget();
    expect(await failure(create(1, key))).toEqual({ status: 409, code: "outcome-unknown" });
    expect(proxy.passages()).toHaveLength(sendsInVain);
    expect(await scene.origin.effects()).toBe(1);
  });
});

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

function never(error: unknown): never {
  throw new Error(`not an error of the SDK's own: ${JSON.stringify(error)} ${String(error)}`);
}
