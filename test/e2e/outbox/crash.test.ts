// Events while the gateway is killed with SIGKILL at each step of their way (guarantee G11): in the end the records of all events are
// exactly the completed ones, and each has one id, however often it was sent. Both are read from outside: the receiver's journal and
// the database.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey } from "../../support/http.ts";
import { isLong } from "../../support/long.ts";
import { until } from "../support/guarantees-client.ts";
import { type OutboxScene, startOutboxScene } from "../support/outbox-scene.ts";

/** How often the gateway is killed at each step. */
const KILLS = isLong ? 3 : 1;
/** Sent together at each kill. */
const REQUESTS = 5;
/** A lost relay is repeated by the alarm after 30 seconds, and a failed one after 5. */
const RELAYED_MS = 90_000;

const STEPS = [
  ["origin", "origin-arrived"],
  ["origin", "origin-acted"],
  ["origin", "origin-answered"],
  ["hook", "event-arrived"],
  ["hook", "event-taken"],
  ["hook", "event-answered"],
] as const;

let scene: OutboxScene;
beforeAll(async () => {
  scene = await startOutboxScene([{ name: "living", url: (hook) => `${hook}/taken` }]);
});
afterAll(() => scene.close());

it(
  "has an event for each completed record, and for no other, wherever the gateway is killed",
  async () => {
    let sent = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (const [process, step] of STEPS) {
        const stopped = (process === "origin" ? scene.origin : scene.hook()).strike(step, 1 + (kill % REQUESTS));
        const completed = Array.from({ length: REQUESTS }, () => scene.complete(freshKey()));
        sent += REQUESTS;
        await scene.crash(await stopped);
        await Promise.all(completed);
      }
    }
    await until(
      () => Promise.resolve(scene.waiting("living")),
      (events) => events.length === 0,
      RELAYED_MS,
    );
    const lines = await scene.hook().readJournal();
    const idsOf = Map.groupBy(lines, ({ subject }) => subject);
    expect(new Set(idsOf.keys())).toEqual(scene.completed());
    expect(idsOf.size).toBe(sent);
    for (const events of idsOf.values()) expect(new Set(events.map(({ id }) => id)).size).toBe(1);
    // A kill after an event was taken, and before its row was deleted, has sent it again.
    expect(lines.length).toBeGreaterThan(sent);
  },
  KILLS * 240_000,
);
