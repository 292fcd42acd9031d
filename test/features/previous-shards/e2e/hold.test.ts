// `unknown = "hold"` across changes of the number of shards: an attempt that was lost in the oldest layout is never made again by itself,
// whoever asks and however much time passes. When an operator releases it, exactly one more is made.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeLayout, type LayoutScene, startLayoutScene } from "../rounds/scene.ts";
import { rigEntry } from "../rounds/sources.ts";
import { freshKey, type RawResponse } from "../../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../../support/origin.ts";
import { ADMIN_TOKEN, askGateway, BASE } from "../../../support/e2e/operator-scene.ts";
import { clientOf, until } from "../../../support/e2e/scene.ts";

const LAYOUTS = {
  first: { shards: 4 },
  second: { shards: 8, previous_shards: [4] },
  third: { shards: 16, previous_shards: [4, 8] },
};
type Name = keyof typeof LAYOUTS;
const NAMES: readonly Name[] = ["first", "second", "third"];

const KEYS = 12;
const LOCK_MS = 2_500;
const DAY_MS = 86_400_000;
const DAYS = [0, 1, 2, 7, 14, 28];

let origin: TestOrigin;
let scene: LayoutScene<Name>;
const keys = Array.from({ length: KEYS }, freshKey);

beforeAll(async () => {
  origin = await startOrigin();
  const times = { timeout: "2s", lock: `${LOCK_MS}ms`, retention: "60d" };
  const vars = {
    IDEMPOTENCY: { origin: origin.url, unknown: "hold", ...times },
    ROUTES: [{ path: "/pay" }],
    ADMIN_TOKEN,
  };
  const main = await rigEntry();
  const fleet = { workersMain: main, objectsMain: main };
  scene = await startLayoutScene({ vars, workers: { first: LAYOUTS.first }, ...fleet });
  for (const key of keys) {
    await origin.behave({ key }, { sequence: [{ hold: true }, { status: 201 }] });
    clientOf(scene.url("first")).open({ path: "/pay", key });
    await origin.arrived(key);
  }
  await scene.restart({ workers: LAYOUTS, ...fleet });
  await origin.release();
});
afterAll(async () => {
  await scene.close();
  await origin.close();
});

function ask(name: Name, key: string): Promise<RawResponse> {
  return clientOf(scene.url(name)).send({ path: "/pay", key });
}

function code({ body }: RawResponse): string | undefined {
  return /"code":"([a-z-]+)"/.exec(body.toString())?.[1];
}

async function arrivals(key: string): Promise<number> {
  return (await origin.requests(key)).length;
}

// One story: each step goes on where the one before it ended.
describe("An attempt that was lost in the oldest layout", { timeout: 240_000, shuffle: false }, () => {
  it("is not made again: not by any Worker, not after weeks, not after restarts", async () => {
    for (const key of keys) {
      await until(async () => (code(await ask("third", key)) === "outcome-unknown" ? true : null), "the lock ends");
    }
    for (const [at, days] of DAYS.entries()) {
      await scene.setClock(days * DAY_MS);
      if (at === 1) await closeLayout(scene.url("third"), "4", ADMIN_TOKEN);
      if (at === 3) await closeLayout(scene.url("third"), "8", ADMIN_TOKEN);
      for (const key of keys) {
        const answers = await Promise.all([...NAMES, ...NAMES].map((name) => ask(name, key)));
        expect(answers.map(code)).toEqual(answers.map(() => "outcome-unknown"));
      }
      const main = await rigEntry();
      if (at % 2 === 1) await scene.restart({ workers: LAYOUTS, workersMain: main, objectsMain: main });
    }
    for (const key of keys) expect(await arrivals(key)).toBe(1);
  });

  it("is made exactly once more when an operator releases it, whichever Worker is asked", async () => {
    for (const [at, key] of keys.entries()) {
      const name = NAMES[at % NAMES.length] ?? "first";
      const api = scene.url(name) + BASE;
      const found = await askGateway(`${api}/records?key=${key}`, "GET", {});
      expect(found.json).toMatchObject({ records: [{ state: "unknown" }] });
      const id = /"id":\s*"([0-9a-f]+)"/.exec(found.text)?.[1] ?? "";
      const released = await askGateway(`${api}/records/${id}/release`, "POST", { body: { reason: "checked" } });
      expect(released.status).toBe(200);
      const answers = await Promise.all([...NAMES, ...NAMES, ...NAMES].map((one) => ask(one, key)));
      expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(1);
      expect(await arrivals(key)).toBe(2);
    }
    for (const key of keys) {
      for (const name of NAMES) expect((await ask(name, key)).status).toBe(201);
      expect(await arrivals(key)).toBe(2);
    }
  });
});
