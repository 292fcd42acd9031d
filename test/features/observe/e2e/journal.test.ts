// An observed route before an API that knows no keys, under traffic with duplicates, slow answers and broken connections: the report counts as doubled what
// the API's own answers say, no more and no less.

import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type OperatorScene, startOperatorScene } from "../../../support/e2e/operator-scene.ts";
import { until } from "../../../support/e2e/scene.ts";
import { isLong } from "../../../support/long.ts";
import { createRandom } from "../../../chaos/random.ts";

const KEYS = isLong ? 400 : 60;

let scene: OperatorScene;
beforeAll(async () => {
  scene = await startOperatorScene({ shards: 4, scope: ["none"] }, [
    { path: "/pay", mode: "observe", observe: { effect: "/payment/id", keyless: "none" } },
  ]);
});
afterAll(() => scene.close());

const reported = v.object({
  routes: v.tuple([v.object({ seen: v.number(), counts: v.record(v.string(), v.number()) })]),
});

it("counts the effects that doubled, as the API's answers have them", async () => {
  const random = createRandom("7", "observed");
  let made = 0;
  let sent = 0;
  const answered = new Map<string, string[]>();
  const tryOnce = async (key: string): Promise<void> => {
    sent += 1;
    made += 1;
    // Some repeats are answered with an effect from before, as by an API that knows the key.
    const before = answered.get(key) ?? [];
    const id = before.length > 0 && random.chance(0.3) ? random.pick(before) : `p${made}`;
    const isLost = random.chance(0.15);
    const response = await scene
      .send({
        path: "/pay",
        key,
        body: '{"amount":1}',
        behave: {
          status: random.chance(0.1) ? 503 : 201,
          headers: [["content-type", "application/json"]],
          body: JSON.stringify({ payment: { id } }),
          ...(random.chance(0.3) ? { delayMs: random.int(0, 300) } : {}),
          ...(isLost ? { drop: random.pick(["after-effect", "mid-body"] as const) } : {}),
        },
      })
      .catch(() => null);
    if (response?.status === 201 && response.complete) answered.set(key, [...(answered.get(key) ?? []), id]);
  };
  for (let at = 0; at < KEYS; at += 1) {
    const key = `order-${at}`;
    const tries = Array.from({ length: random.int(1, 4) }, () => () => tryOnce(key));
    if (random.chance(0.3)) await Promise.all(tries.map((one) => one()));
    else for (const one of tries) await one();
  }
  const all = [...answered.values()];
  const doubled = all.reduce((sum, ids) => sum + new Set(ids).size - 1, 0);
  const deduplicated = all.reduce((sum, ids) => sum + ids.length - new Set(ids).size, 0);
  expect(doubled).toBeGreaterThan(KEYS / 4);
  const { counts } = await until(
    async () => {
      const { json } = await scene.ask("GET", "/report");
      const [route] = v.parse(reported, json).routes;
      return route.seen === sent ? route : null;
    },
    "every request was looked at",
    20_000,
  );
  expect(counts["effect:doubled"] ?? 0).toBe(doubled);
  expect(counts["effect:deduplicated"] ?? 0).toBe(deduplicated);
  expect(counts["lost"] ?? 0).toBe(0);
  expect(counts["first"]).toBe(KEYS);
});
