// `createOnceway` as the handlers of a Worker: alone, with its own answers to what no route protects, and beside other paths. The
// platform calls it, with a request, env and ctx; two of the Workers are plain JavaScript, where no type says what is meant.

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { workerBeside } from "../../support/beside.ts";
import {
  type Gateway,
  type GatewayVars,
  makeStateDir,
  startWorkerd,
  type WorkerdOptions,
} from "../../support/gateway.ts";
import { freshKey, headerValue, type RawResponse } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { freePort } from "../../support/ports.ts";
import { projectDir } from "../../support/wrangler.ts";
import { type Client, clientOf, removeGateway } from "../../support/e2e/scene.ts";

let origin: TestOrigin;
beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());

const gateways: Gateway[] = [];
afterEach(async () => void (await Promise.all(gateways.splice(0).map(removeGateway))));

/** Starts the Worker of this name in test/workers. */
async function start(
  worker: string,
  { vars, ...options }: Partial<Omit<WorkerdOptions, "vars"> & { readonly vars: Partial<GatewayVars> }> = {},
): Promise<Client> {
  const gateway = await startWorkerd({
    vars: {
      IDEMPOTENCY: { origin: origin.url, scope: ["none"] },
      ROUTES: [{ path: "/pay" }, { path: "/maybe", key: "optional" }],
      ...vars,
    },
    stateDir: await makeStateDir(),
    main: `${projectDir}test/workers/${worker}`,
    ...options,
  });
  gateways.push(gateway);
  return clientOf(gateway.url);
}

const json = ({ body }: RawResponse): unknown => JSON.parse(body.toString());

async function callsOf(path: string): Promise<number> {
  return (await origin.requests()).filter((request) => request.path === path).length;
}

async function expectReplay(client: Client): Promise<void> {
  const before = await callsOf("/pay");
  const key = freshKey();
  const first = await client.send({ path: "/pay", key });
  const again = await client.send({ path: "/pay", key });
  expect([first.status, again.body.toString()]).toEqual([201, first.body.toString()]);
  expect(headerValue(again, "idempotent-replayed")).toBe("true");
  expect(await callsOf("/pay")).toBe(before + 1);
}

it("protects its routes, sends all else to the origin and consumes queues, as a default export with nothing else", async () => {
  const [port, letters] = [await freePort(), await freePort()];
  const { extraServices, ...beside } = await workerBeside("deliverer", port);
  const lettersService = `(name = "letters", external = (address = "127.0.0.1:${letters}", http = ()))`;
  const client = await start("bare.js", {
    vars: { QUEUES: [{ queue: "orders", to: "/orders", dead_letter: { binding: "LETTERS" } }] },
    extraBindings: ['(name = "LETTERS", queue = "letters")'],
    extraServices: [lettersService, ...extraServices],
    ...beside,
  });
  await expectReplay(client);
  const page = await client.send({ path: "/page" });
  expect([page.status, await callsOf("/page")]).toEqual([201, 1]);
  expect((await client.send({ path: "/maybe" })).status).toBe(201);
  const messages = [{ id: freshKey(), timestamp: Date.now(), attempts: 1, body: { order: 1 } }];
  const deliver = async (queue: string): Promise<unknown> => {
    const body = JSON.stringify({ queue, messages });
    return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body })).json();
  };
  const acknowledged = { outcome: "ok", explicitAcks: messages.map(({ id }) => id), retryBatch: { retry: false } };
  expect(await deliver("orders")).toMatchObject(acknowledged);
  expect(await deliver("orders")).toMatchObject(acknowledged);
  expect(await callsOf("/orders")).toBe(1);
  expect(await deliver("others")).toMatchObject({ outcome: "ok", retryBatch: { retry: true } });
});

it("runs at cron triggers, as a default export with nothing else", async () => {
  const port = await freePort();
  await start("bare.js", await workerBeside("ticker", port));
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("ok");
});

it("has what no route protects answered by `unprotected`, with the request, env and ctx of the platform, or 502 where that fails", async () => {
  const client = await start("pages.js", { bindings: { WORD: "well" } });
  await expectReplay(client);
  const before = (await origin.requests()).length;
  const page = await client.send({ method: "PUT", path: "/page", headers: [["Idempotency-Attempt", "3"]] });
  expect(json(page)).toEqual({ method: "PUT", pathname: "/page", attempt: null, word: "well", after: [] });
  await expect
    .poll(async () => json(await client.send({ path: "/maybe" })))
    .toMatchObject({ pathname: "/maybe", after: expect.arrayContaining(["/page"]) });
  const keyed = await client.send({ path: "/page", key: freshKey() });
  expect(headerValue(keyed, "idempotency-status")).toBe("ignored");
  for (const [path, reason] of [
    ["/throws", "Error: no page"],
    ["/nothing", "TypeError: what answers unprotected requests has returned no Response"],
  ] as const) {
    const failed = await client.send({ path });
    expect([failed.status, json(failed)]).toMatchObject([502, { code: "origin-dropped" }]);
    await expect.poll(() => gateways[0]?.output()).toContain(reason);
  }
  expect(await origin.requests()).toHaveLength(before);
});

it("leaves a Worker its own paths", async () => {
  const client = await start("other-work.ts");
  await expectReplay(client);
  expect((await client.send({ path: "/mine" })).body.toString()).toBe("mine");
  expect(json(await client.send({ path: "/page" }))).toEqual({ page: "/page", protects: 2 });
});
