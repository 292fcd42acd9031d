// Which objects are asked of a layout that nobody places, with real processes. How many objects there are is counted by their files: an object that is
// asked has one.

import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, it } from "vitest";
import { isTable } from "../../../../src/kernel/config/table.ts";
import { callOnceway } from "../../../support/command-line-here.ts";
import { shardFiles } from "../../../support/e2e/shard-database.ts";
import { clientOf } from "../../../support/e2e/scene.ts";
import { ADMIN_TOKEN, askGateway, BASE, READ_TOKEN } from "../../../support/e2e/operator-scene.ts";
import { type Gateway, makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import { freshKey } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";

const SHARDS = 32;

let running: { gateway: Gateway; readonly origin: TestOrigin } | null = null;
afterEach(async () => {
  await running?.gateway.stop();
  await running?.origin.close();
  running = null;
});

async function start(settings: Readonly<Record<string, unknown>> = {}): Promise<NonNullable<typeof running>> {
  const origin = await startOrigin();
  const vars = {
    IDEMPOTENCY: { origin: origin.url, shards: SHARDS, location_hint: "first-use", ...settings },
    ROUTES: [{ path: "/*" }],
    ADMIN_TOKEN,
    READ_TOKEN,
  };
  running = { origin, gateway: await startWorkerd({ stateDir: await makeStateDir(), vars }) };
  return running;
}

const ask = async (gateway: Gateway, path: string) =>
  askGateway(gateway.url + BASE + path, "GET", { token: READ_TOKEN });

async function layoutOf(gateway: Gateway, query = ""): Promise<object> {
  const { json } = await ask(gateway, `/layouts${query}`);
  const [layout] = isTable(json) && Array.isArray(json["layouts"]) ? json["layouts"] : [];
  return layout;
}

async function listed(gateway: Gateway): Promise<number> {
  const { json } = await ask(gateway, "/records");
  return isTable(json) && Array.isArray(json["records"]) ? json["records"].length : -1;
}

/** All that only reads, and asks objects. */
const READS = [
  "/layouts",
  "/metrics",
  "/metrics?shards=1",
  "/records",
  "/records?state=unknown",
  `/records?key=${"k".repeat(20)}`,
  `/records/${"0".repeat(64)}`,
  "/drain",
  "/recent",
  "/health",
];

/** Those of the gateway itself: of the operators, and of the totals. */
const OWN_OBJECTS = 2;

it("reads of an unused layout call no object of it, and with --all each", async () => {
  const { gateway } = await start();
  for (const path of READS) {
    const { status } = await ask(gateway, path);
    expect([path, status]).toEqual([path, path.startsWith("/records/") ? 404 : 200]);
  }
  expect(shardFiles(gateway).length).toBeLessThanOrEqual(OWN_OBJECTS);
  expect(await layoutOf(gateway)).toMatchObject({
    objects: SHARDS,
    unused: SHARDS,
    open: 0,
    unreachable: [],
    reason: `In force. Of its ${SHARDS} objects no client has used ${SHARDS}, which were not asked.`,
  });
  const list = await callOnceway(["layouts", "list", "--all", "--url", gateway.url], { ONCEWAY_TOKEN: READ_TOKEN });
  expect(list.stdout).toMatch(/^32 +32 +32 +0 +0 /m);
  expect(shardFiles(gateway).length).toBeGreaterThanOrEqual(SHARDS);
  // Asked, they still have nothing, and are not asked again.
  expect(await layoutOf(gateway)).toMatchObject({ unused: SHARDS, open: 0 });
});

it("an object is asked from its first key on, and shown with all that it has", async () => {
  const { gateway } = await start();
  const send = async (key: string) => (await clientOf(gateway.url).send({ path: "/a", key })).status;
  const key = freshKey();
  expect(await send(key)).toBe(201);
  await expect.poll(() => layoutOf(gateway)).toMatchObject({ unused: SHARDS - 1, open: 1 });
  expect(await listed(gateway)).toBe(1);
  const { json } = await ask(gateway, `/records?key=${key}`);
  expect(json).toMatchObject({ records: [{ key }] });
  // A replay enrols nothing more, and a key in another object does.
  expect(await send(key)).toBe(201);
  for (let time = 0; time < 20; time += 1) expect(await send(freshKey())).toBe(201);
  await expect.poll(() => listed(gateway)).toBe(21);
  for (const path of READS) await ask(gateway, path);
  const objects = shardFiles(gateway).length - OWN_OBJECTS;
  expect(await layoutOf(gateway)).toMatchObject({ unused: SHARDS - objects, open: objects });
  expect(objects).toBeLessThanOrEqual(21);
});

it("objects with keys from before, by a deployment with a hint, are asked: all, and then those that have something", async () => {
  const { gateway, origin } = await start({ location_hint: "weur" });
  const send = async (to: Gateway) => (await clientOf(to.url).send({ path: "/a", key: freshKey() })).status;
  for (let time = 0; time < 40; time += 1) expect(await send(gateway)).toBe(201);
  await gateway.stop();
  const vars = {
    IDEMPOTENCY: { origin: origin.url, shards: SHARDS, location_hint: "first-use" },
    ROUTES: [{ path: "/*" }],
    ADMIN_TOKEN,
    READ_TOKEN,
  };
  const later = await gateway.restart({ vars });
  running = { origin, gateway: later };
  // One of them gets another key, and says that there may be others.
  for (let time = 0; time < 10; time += 1) expect(await send(later)).toBe(201);
  await expect.poll(() => listed(later)).toBe(50);
  expect(await layoutOf(later)).toMatchObject({ unused: 0 });
  // Once all are asked on purpose, the others enrol.
  await layoutOf(later, "?all=1");
  expect(await listed(later)).toBe(50);
  const { unused } = Object.assign({ unused: -1 }, await layoutOf(later));
  expect(unused).toBeGreaterThan(0);
  expect(unused).toBeLessThan(SHARDS);
});

/** The register's rows in the file of the operators' object. */
function inRegister(gateway: Gateway, sql: string): number {
  const files = shardFiles(gateway).filter((file) => {
    const database = new DatabaseSync(file, { readOnly: true });
    const found = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'enrolled'").all();
    database.close();
    return found.length > 0;
  });
  for (const file of files) {
    const database = new DatabaseSync(file, { timeout: 5000 });
    database.exec(sql);
    database.close();
  }
  return files.length;
}

it("while the register does not answer all are asked", async () => {
  const { gateway } = await start();
  expect((await clientOf(gateway.url).send({ path: "/a", key: freshKey() })).status).toBe(201);
  await expect.poll(() => layoutOf(gateway)).toMatchObject({ open: 1 });
  // Another generation of the table: its rows cannot be read.
  expect(inRegister(gateway, "ALTER TABLE enrolled RENAME COLUMN number TO other")).toBe(1);
  expect(await layoutOf(gateway)).toMatchObject({ open: SHARDS, unused: 0 });
  expect(await listed(gateway)).toBe(1);
  expect(gateway.output()).toContain("the register of used objects does not answer");
});
