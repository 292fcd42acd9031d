// @module-tag needs/chromium
// Pages of other origins in Chromium: what their scripts can read through `cors`, with `fetch` alone and with `onceway/client` as
// npm installs it. Effects are counted at the origin.

import { join } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launchChromium } from "../../../support/chromium.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { type Behaviour, startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { type InstalledClient, installClient } from "../../../support/e2e/installed-client.ts";
import { type LossyProxy, startLossyProxy } from "../../../support/e2e/lossy-proxy.ts";
import {
  type Ask,
  type Asked,
  type End,
  openPage,
  type PageServer,
  servePage,
} from "../../../support/e2e/page-server.ts";
import { removeGateway, startGateway, until } from "../../../support/e2e/scene.ts";

let browser: Browser;
let installed: InstalledClient;
let pages: readonly PageServer[];
let origin: TestOrigin;
let gateway: Gateway;
let proxy: LossyProxy;
beforeAll(async () => {
  [browser, installed, origin] = await Promise.all([launchChromium(), installClient(), startOrigin()]);
  const clientDir = join(installed.dir, "node_modules/onceway/dist/client");
  pages = await Promise.all([servePage(clientDir), servePage(clientDir), servePage(clientDir)]);
  const origins = pages.slice(0, 2).map((page) => page.origin);
  gateway = await startGateway(origin.url, {}, [
    { path: "/shop/*", cors: { origins, expose_headers: ["Location"], allow_headers: ["X-Behave"] } },
    { path: "/cart/*", scope: ["cookie:session"], cors: { origins, credentials: true } },
  ]);
  proxy = await startLossyProxy(gateway.port);
});
afterAll(async () => {
  await proxy.close();
  await removeGateway(gateway);
  await origin.close();
  await Promise.all(pages.map((page) => page.close()));
  await installed.remove();
  await browser.close();
});

function pageOf(at: number): PageServer {
  const page = pages[at];
  if (page === undefined) throw new Error("a page is missing");
  return page;
}

let context: BrowserContext;
/** The pages of two listed origins, and of one that is not. */
let shop: Ask;
let other: Ask;
let stranger: Ask;
beforeEach(async () => {
  context = await browser.newContext();
  [shop, other, stranger] = await Promise.all([
    openPage(context, pageOf(0)),
    openPage(context, pageOf(1)),
    openPage(context, pageOf(2)),
  ]);
});
afterEach(() => context.close());

const PAID: Behaviour = {
  status: 201,
  headers: [
    ["Content-Type", "application/json"],
    ["Location", "/shop/orders/1"],
    ["X-Secret", "not for pages"],
  ],
  body: '{"order":1}',
};

interface Order {
  readonly key?: string;
  readonly path?: string;
  readonly body?: string;
  readonly behave?: object;
}

/** A request with a key, as a page sends it. */
function orderOf({ key, path = "/shop/orders", body = '{"amount":1}', behave = PAID }: Order): Asked {
  const headers = {
    Authorization: "Bearer visitor",
    "Content-Type": "application/json",
    "X-Behave": JSON.stringify(behave),
    ...(key === undefined ? null : { "Idempotency-Key": key }),
  };
  return { url: `${gateway.url}${path}`, init: { method: "POST", headers, body }, client: null };
}

function headersOf(end: End): Readonly<Record<string, string>> {
  return end.end === "answer" ? end.headers : {};
}

describe("a page of a listed origin", () => {
  it("reads the first answer and its replay, with the headers that tell them apart and no others", async () => {
    const key = freshKey();
    const first = await shop(orderOf({ key }));
    const replay = await shop(orderOf({ key }));
    for (const end of [first, replay]) expect(end).toMatchObject({ end: "answer", status: 201, body: '{"order":1}' });
    const expires = expect.stringMatching(/GMT$/);
    const both = { "idempotency-key": key, "idempotency-expires": expires, location: "/shop/orders/1" };
    expect(headersOf(first)).toMatchObject({ ...both, "idempotency-status": "first" });
    expect(headersOf(replay)).toMatchObject({
      ...both,
      "idempotency-status": "replayed",
      "idempotent-replayed": "true",
    });
    expect(headersOf(replay)["x-secret"]).toBeUndefined();
    expect(await origin.effects(key)).toBe(1);
  });

  it("reads a replay whose first answer was another page's, and the other way round", async () => {
    const key = freshKey();
    const ends = [await shop(orderOf({ key })), await other(orderOf({ key })), await shop(orderOf({ key }))];
    for (const end of ends) expect(end).toMatchObject({ status: 201, body: '{"order":1}' });
    expect(ends.map((end) => headersOf(end)["idempotency-status"])).toEqual(["first", "replayed", "replayed"]);
    expect(await origin.effects(key)).toBe(1);
  });

  it("reads 400, 409 and 422 with what to do next", async () => {
    const key = freshKey();
    const held = { key, behave: { ...PAID, hold: true } };
    const first = shop(orderOf(held));
    await origin.arrived(key);
    const problems = [
      await shop(orderOf(held)),
      await shop(orderOf({ ...held, body: '{"amount":2}' })),
      await shop(orderOf({})),
    ];
    await origin.release(key);
    expect(await first).toMatchObject({ status: 201 });
    const reported = problems.map((end) => {
      if (end.end !== "answer") return end;
      const { "retry-after": after, "x-should-retry": again, link, "idempotency-status": became } = end.headers;
      const { code, retryable, detail }: Record<string, unknown> = JSON.parse(end.body);
      return { status: end.status, code, retryable, detail, after, again, link, became };
    });
    const link = '</.well-known/idempotency>; rel="describedby"';
    const detail = expect.stringMatching(/\w/);
    expect(reported).toEqual([
      { status: 409, code: "in-flight", retryable: true, detail, after: "1", again: "true", link, became: "in-flight" },
      { status: 422, code: "key-reused", retryable: false, detail, again: "false", link, became: "key-reused" },
      { status: 400, code: "key-missing", retryable: false, detail, again: "false", link },
    ]);
    const policy = await shop({ url: `${gateway.url}/.well-known/idempotency`, init: {}, client: null });
    expect(policy).toMatchObject({ status: 200, body: expect.stringContaining("/shop/*") });
    expect(await origin.effects(key)).toBe(1);
  });

  it("is its own caller by its cookie, where credentials are allowed", async () => {
    const key = freshKey();
    const ask = (credentials: "include" | "omit"): Promise<End> => {
      const { url, init } = orderOf({ key, path: "/cart/orders" });
      const headers = { "Idempotency-Key": key };
      return shop({ url, init: { ...init, headers, credentials }, client: null });
    };
    const become = (value: string) => context.addCookies([{ name: "session", value, url: gateway.url }]);
    await become("ann");
    const ann = await ask("include");
    await become("bob");
    const ends = [ann, await ask("include"), await ask("omit")];
    await become("ann");
    ends.push(await ask("include"));
    expect(ends.map((end) => headersOf(end)["idempotency-status"])).toEqual(["first", "first", "first", "replayed"]);
    expect(await origin.effects(key)).toBe(3);
  });
});

describe("a page that is not listed", () => {
  it("reads nothing, and its request with a key is not even sent", async () => {
    const key = freshKey();
    await shop(orderOf({ key }));
    expect(await stranger(orderOf({ key }))).toEqual({ end: "failed", reason: "TypeError: Failed to fetch" });
    expect((await origin.requests(key)).length).toBe(1);
  });

  it("reads nothing of what it can send without asking first", async () => {
    const url = `${gateway.url}/shop/orders`;
    const init = { method: "POST", body: "text" };
    expect(await stranger({ url, init, client: null })).toEqual({
      end: "failed",
      reason: "TypeError: Failed to fetch",
    });
    expect(await shop({ url, init, client: null })).toMatchObject({ status: 400 });
  });
});

describe("onceway/client in a page", () => {
  const PATIENT = { firstPauseMs: 10, maxPauseMs: 50 };
  const throughProxy = (asked: Asked, client: object = PATIENT): Asked => ({
    ...asked,
    url: asked.url.replace(gateway.url, proxy.url),
    client,
  });
  const triesOf = (key: string | null) => proxy.passages().filter((passage) => passage.key === key);

  it.each(["whole", "half"] as const)("gets the first answer after its connection was lost (%s)", async (how) => {
    const path = `/shop/lost-${how}`;
    // The browser remembers the preflight, so that the next answer is not one.
    expect(await shop(throughProxy(orderOf({ path })))).toMatchObject({ status: 201 });
    const key = freshKey();
    proxy.loseAnswer(how);
    const end = await shop(throughProxy(orderOf({ key, path })));
    expect(end).toMatchObject({ status: 201, body: '{"order":1}' });
    expect(headersOf(end)).toMatchObject({ "idempotent-replayed": "true", "idempotency-key": key });
    expect(triesOf(key).length).toBeGreaterThan(1);
    expect(await origin.effects(key)).toBe(1);
  });

  it("sends a form again with the same bytes, and makes the key, also in a page without TLS", async () => {
    const path = "/shop/form";
    // What such a page lacks; those of this test are served from the loopback address, which browsers trust as they trust TLS.
    await context.addInitScript("delete Crypto.prototype.randomUUID");
    shop = await openPage(context, pageOf(0));
    const asked = (): Asked => {
      const { url, init } = orderOf({ path });
      const headers = { "X-Behave": JSON.stringify(PAID) };
      return throughProxy({
        url,
        init: { method: init.method ?? "POST", headers, form: { amount: "1" } },
        client: null,
      });
    };
    expect(await shop(asked())).toMatchObject({ status: 201 });
    proxy.loseAnswer("half");
    const end = await shop(asked());
    expect(headersOf(end)).toMatchObject({ "idempotent-replayed": "true" });
    expect(await origin.effects(headersOf(end)["idempotency-key"])).toBe(1);
  });

  it("waits as long as 409 asks, and then gets the answer", async () => {
    const key = freshKey();
    const held = { key, behave: { ...PAID, hold: true } };
    const first = shop(orderOf(held));
    await origin.arrived(key);
    const second = other(throughProxy(orderOf(held)));
    await until(async () => triesOf(key).find(({ status }) => status === 409) ?? null, "it is told to come again");
    await origin.release(key);
    expect(await first).toMatchObject({ status: 201 });
    const end = await second;
    expect([end.end, headersOf(end)["idempotency-status"]]).toEqual(["answer", "replayed"]);
    expect(await origin.effects(key)).toBe(1);
  });

  it("reports a reused key with the gateway's problem, at once", async () => {
    const key = freshKey();
    await shop(orderOf({ key }));
    const end = await shop({ ...orderOf({ key, body: "{}" }), client: PATIENT });
    expect(end).toMatchObject({
      end: "gave up",
      reason: "final",
      outcome: "unknown",
      tries: 1,
      key,
      problem: { code: "key-reused", retryable: false },
      answer: { status: 422 },
    });
    expect(await origin.effects(key)).toBe(1);
  });

  it("of a page that is not listed knows nothing, and says so", async () => {
    const key = freshKey();
    const end = await stranger({ ...orderOf({ key }), client: { ...PATIENT, tries: 2 } });
    expect(end).toMatchObject({ end: "gave up", outcome: "unknown", reason: "tries", problem: null, answer: null });
    expect(await origin.requests(key)).toEqual([]);
  });
});
