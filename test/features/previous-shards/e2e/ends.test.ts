// A change of the number of shards: nothing happens until the older layout is closed; then each new key costs one call more, until its objects are
// empty, and the number can be taken out of `previous_shards`. Every key that lives then is still replayed.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeLayout, type LayoutScene, startLayoutScene } from "../rounds/scene.ts";
import { parseExposition } from "../../../support/exposition.ts";
import { rigEntry } from "../rounds/sources.ts";
import { freshKey, headerValue, type RawResponse } from "../../../support/http.ts";
import { isLong } from "../../../support/long.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { layoutsSchema } from "../../../../src/operator/gateway-schema.ts";
import { ADMIN_TOKEN, askGateway, BASE } from "../../../support/e2e/operator-scene.ts";
import { clientOf, until } from "../../../support/e2e/scene.ts";

const LAYOUTS = { old: { shards: 1 }, new: { shards: 2, previous_shards: [1] }, after: { shards: 2 } };
type Name = keyof typeof LAYOUTS;
const RETENTION_MS = isLong ? 10_000 : 3_000;
const OLDER_KEYS = 400;
const KEYS = 40;
const AT_ONCE = 10;

const listSchema = v.object({ records: v.array(v.object({ id: v.string() })) });

let origin: TestOrigin;
let scene: LayoutScene<Name>;

beforeAll(async () => {
  origin = await startOrigin();
  const ROUTES = [
    { path: "/pay", retention: `${RETENTION_MS}ms` },
    { path: "/keep", retention: "1h" },
  ];
  const times = { timeout: "2s", idle_timeout: "2s", lock: "2500ms" };
  const vars = { IDEMPOTENCY: { origin: origin.url, ...times }, ROUTES, ADMIN_TOKEN };
  const main = await rigEntry();
  const workers = { old: LAYOUTS.old, new: LAYOUTS.new };
  scene = await startLayoutScene({ vars, workers, workersMain: main, objectsMain: main });
});
afterAll(async () => {
  await scene.close();
  await origin.close();
});

async function makeKeys(name: Name, path: string, count = KEYS): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  for (let at = 0; at < count; at += AT_ONCE) {
    const answers = await Promise.all(keys.slice(at, at + AT_ONCE).map((key) => ask(name, path, key)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  }
  return keys;
}

function ask(name: Name, path: string, key: string): Promise<RawResponse> {
  return clientOf(scene.url(name)).send({ path, key, behave: { status: 201, body: `made ${key}` } });
}

/** What operators are told of the previous layout. */
async function mayGo(): Promise<boolean | undefined> {
  const { json } = await askGateway(`${scene.url("new")}${BASE}/layouts`, "GET", {});
  return v.parse(layoutsSchema, json).layouts.find(({ shards }) => shards === LAYOUTS.old.shards)?.mayGo;
}

/** Erases the record of a key, whichever layout has it. */
async function forget(key: string): Promise<void> {
  const records = `${scene.url("new")}${BASE}/records`;
  const { json } = await askGateway(`${records}?key=${key}`, "GET", {});
  const id = v.parse(listSchema, json).records[0]?.id;
  expect(await askGateway(`${records}/${id}/forget`, "POST", { body: { reason: "Enough." } })).toMatchObject({
    status: 200,
  });
}

/** How many requests of a path have been told that their keys begin elsewhere. */
async function sentElsewhere(route: string): Promise<number> {
  const { text } = await askGateway(`${scene.url("new")}${BASE}/metrics`, "GET", {});
  const found = parseExposition(text).filter(
    ({ name, labels }) => name === "onceway_elsewhere_total" && labels["route"] === route,
  );
  return found.reduce((sum, { value }) => sum + value, 0);
}

describe("A change of the number of shards", { timeout: 180_000 }, () => {
  it("costs nothing before the close, and ends when the closed objects are empty: the older number may go", async () => {
    await makeKeys("old", "/pay", OLDER_KEYS);
    const kept = [...(await makeKeys("new", "/pay"))];
    expect(await sentElsewhere("/pay")).toBe(0);
    kept.length = 0;
    // Until it is forgotten the closed object is not empty, however long the keys below take.
    const [last = ""] = await makeKeys("old", "/keep", 1);
    await closeLayout(scene.url("new"), "1", ADMIN_TOKEN);
    kept.push(...(await makeKeys("new", "/keep")), ...(await makeKeys("old", "/keep")));
    expect(await sentElsewhere("/keep")).toBe(kept.length);
    await forget(last);
    await until(
      async () => ((await mayGo()) === true ? true : null),
      "operators are told that the number may go",
      4 * RETENTION_MS + 30_000,
    );
    // Each isolate asks once more, and then knows that the object is empty.
    kept.push(...(await makeKeys("new", "/keep", 1)));
    const asked = await sentElsewhere("/keep");
    kept.push(...(await makeKeys("new", "/keep")));
    expect(await sentElsewhere("/keep")).toBe(asked);

    await scene.restart({ workers: { after: LAYOUTS.after } });
    const effects = await origin.effects();
    for (const key of kept) {
      const replay = await ask("after", "/keep", key);
      expect([replay.status, replay.body.toString()]).toEqual([201, `made ${key}`]);
      expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    }
    expect(await origin.effects()).toBe(effects);
    await makeKeys("after", "/pay");
  });
});
