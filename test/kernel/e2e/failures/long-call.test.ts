// A call of minutes, longer than an idle object stays in memory: local workerd drops one that got no request for 70 to
// 140 seconds, and with it every call that it makes. Only a wait of that length can show that an attempt outlives it, so
// this runs with `npm run test:long` alone.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import { readLedgers } from "../../../support/e2e/guarantees-ledger.ts";
import { expectProblem, expectReplay } from "../../../support/e2e/problem.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const MINUTE_MS = 60_000;
const CALL_MS = 3.5 * MINUTE_MS;
/** Long after an object that nobody calls would have gone, so that this duplicate is not what keeps it. */
const DUPLICATE_MS = 3 * MINUTE_MS;

describe("a call of minutes", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ shards: 1, timeout: "4m", lock: "5m", retention: "1h" }, [
      { path: "/*", unknown: "hold" },
    ]);
  });
  afterAll(() => scene.close());

  it(
    "is completed and kept although its client left in the first second and no request came for minutes",
    async () => {
      const { origin, gateway } = scene;
      const message = { path: "/long", key: freshKey() };
      await origin.behave({ key: message.key }, { status: 201, body: "after minutes", delayMs: CALL_MS });
      const client = scene.open(message);
      await origin.arrived(message.key);
      client.reset();
      const [call] = await origin.requests(message.key);
      const startedAt = call?.arrivedAtMs ?? 0;

      await pause(startedAt + DUPLICATE_MS - Date.now());
      // Read from the disk: to ask the gateway would wake the object.
      const [record] = await readLedgers(gateway.stateDir);
      expect(record).toMatchObject({ state: "started", attempt: 1 });
      // Renewed on the way: the lock is longer than the call, but an attempt in flight does not wait for its end.
      expect(record?.locked_until).toBeGreaterThan(startedAt + 6 * MINUTE_MS);
      const duplicate = await scene.send(message);
      expectProblem(duplicate, { code: "in-flight", status: 409, retryable: true, echo: message.key });

      const ended = await until(
        async () => (await origin.requests(message.key)).find((one) => one.answeredAtMs !== null || one.cutOff) ?? null,
        "the origin's answer",
        startedAt + CALL_MS - Date.now() + MINUTE_MS,
      );
      expect(ended.cutOff).toBe(false);
      const replay = await until(async () => {
        const response = await scene.send(message);
        return response.status === 201 ? response : null;
      }, "the answer, from the record");
      expect(replay.body.toString()).toBe("after minutes");
      expectReplay(await scene.send(message), replay);
      expect(await origin.requests(message.key)).toMatchObject([{ attempt: "1" }]);
      expect(await origin.effects(message.key)).toBe(1);
    },
    CALL_MS + 2 * MINUTE_MS,
  );
});
