// A change of the layout ends by itself: when the records of the older layout have expired, nobody asks its objects any more,
// and the number can be taken out of `previous_shards`. Every key that lives then is still replayed.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LayoutScene, startLayoutScene } from "../../layouts/scene.ts";
import { parseExposition } from "../../support/exposition.ts";
import { freshKey, headerValue, type RawResponse } from "../../support/http.ts";
import { isLong } from "../../support/long.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { ADMIN_TOKEN, askGateway, BASE } from "../support/operator-scene.ts";
import { clientOf, until } from "../support/scene.ts";

const LAYOUTS = { old: { shards: 4 }, new: { shards: 8, previous_shards: [4] }, after: { shards: 8 } };
type Name = keyof typeof LAYOUTS;
const RETENTION_MS = isLong ? 10_000 : 3_000;
const KEYS = 40;

let origin: TestOrigin;
let scene: LayoutScene<Name>;

beforeAll(async () => {
  origin = await startOrigin();
  const ROUTES = [
    { path: "/pay", retention: `${RETENTION_MS}ms` },
    { path: "/keep", retention: "1h" },
  ];
  const times = { timeout: "1s", idle_timeout: "1s", lock: "2s" };
  const vars = { IDEMPOTENCY: { origin: origin.url, ...times }, ROUTES, ADMIN_TOKEN };
  scene = await startLayoutScene({ vars, workers: { old: LAYOUTS.old, new: LAYOUTS.new } });
});
afterAll(async () => {
  await scene.close();
  await origin.close();
});

async function makeKeys(name: Name, path: string, count = KEYS): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  for (const key of keys) expect((await ask(name, path, key)).status).toBe(201);
  return keys;
}

function ask(name: Name, path: string, key: string): Promise<RawResponse> {
  return clientOf(scene.url(name)).send({ path, key, behave: { status: 201, body: `made ${key}` } });
}

/** How many questions older objects have been asked so far. */
async function asks(): Promise<number> {
  const { text } = await askGateway(`${scene.url("new")}${BASE}/metrics`, "GET", {});
  const questions = parseExposition(text).filter(({ name }) => name === "onceway_asks_total");
  return questions.reduce((sum, { value }) => sum + value, 0);
}

describe("A change of the layout", { timeout: 180_000 }, () => {
  it("ends by itself, and the older number may go", async () => {
    await makeKeys("old", "/pay", 200);
    const before = await asks();
    const kept = await makeKeys("new", "/keep");
    expect(await asks()).toBeGreaterThan(before);

    // The older objects' records expire; each newer object learns it with one more question at most.
    await until(
      async () => {
        const from = await asks();
        await makeKeys("new", "/keep");
        return (await asks()) === from ? true : null;
      },
      "nobody asks any more",
      4 * RETENTION_MS + 30_000,
    );

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
