// `createOnceway` in a Worker with other work: its own paths, and its own answers to what no route protects.

import { afterAll, beforeAll, expect, it } from "vitest";
import { makeStateDir, startWorkerd } from "../../support/gateway.ts";
import type { Gateway } from "../../support/gateway.ts";
import { freshKey, headerValue } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { projectDir } from "../../support/wrangler.ts";
import { type Client, clientOf, removeGateway } from "../support/scene.ts";

let origin: TestOrigin;
let gateway: Gateway;
let client: Client;
beforeAll(async () => {
  origin = await startOrigin();
  const vars = { IDEMPOTENCY: { origin: origin.url }, ROUTES: [{ path: "/pay" }, { path: "/maybe", key: "optional" }] };
  const main = `${projectDir}test/workers/other-work.ts`;
  gateway = await startWorkerd({ vars, stateDir: await makeStateDir(), main });
  client = clientOf(gateway.url);
});
afterAll(async () => {
  await removeGateway(gateway);
  await origin.close();
});

it("protects its routes in front of the origin", async () => {
  const key = freshKey();
  const first = await client.send({ path: "/pay", key });
  const again = await client.send({ path: "/pay", key });
  expect([first.status, again.body.toString()]).toEqual([201, first.body.toString()]);
  expect(headerValue(again, "idempotent-replayed")).toBe("true");
  expect((await origin.requests()).filter(({ path }) => path === "/pay")).toHaveLength(1);
});

it("answers by itself what is its own, and what no route protects", async () => {
  const before = (await origin.requests()).length;
  expect((await client.send({ path: "/mine" })).body.toString()).toBe("mine");
  const page = await client.send({ path: "/page", headers: [["Idempotency-Attempt", "3"]] });
  expect(JSON.parse(page.body.toString())).toEqual({ page: "/page", attempt: null });
  const keyed = await client.send({ path: "/page", key: freshKey() });
  expect(headerValue(keyed, "idempotency-status")).toBe("ignored");
  expect((await origin.requests()).length).toBe(before);
});
