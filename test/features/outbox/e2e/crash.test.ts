// Events while the gateway is killed with SIGKILL at each step of their way (guarantee G11): in the end the records of all events are
// exactly the completed ones, and the history of clients, origin, receiver and database breaks no guarantee.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import { isLong } from "../../../support/long.ts";
import { checkHistory } from "../../../guarantees/check-history.ts";
import { until } from "../../../support/e2e/guarantees-client.ts";
import { type OutboxScene, startOutboxScene } from "../../../support/e2e/outbox-scene.ts";

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
  scene = await startOutboxScene([{ name: "taken", url: (hook) => `${hook}/taken`, secret: ["NEW", "OLD"] }]);
});
afterAll(() => scene.close());

it(
  "has an event for each completed record, and for no other, wherever the gateway is killed",
  async () => {
    let sent = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (const [process, step] of STEPS) {
        const stopped = (process === "origin" ? scene.origin : scene.hook).strike(step, 1 + (kill % REQUESTS));
        const completed = Array.from({ length: REQUESTS }, () => scene.complete(freshKey()));
        sent += REQUESTS;
        await scene.crash(await stopped);
        await Promise.all(completed);
      }
    }
    await until(
      () => Promise.resolve(scene.waiting("taken")),
      (events) => events === 0,
      RELAYED_MS,
    );
    const lines = await scene.hook.readJournal();
    expect(checkHistory(await scene.history())).toEqual([]);
    const subjects = new Set(lines.map(({ subject }) => subject));
    expect(subjects).toEqual(scene.completed());
    expect(subjects.size).toBe(sent);
    // A kill after an event was taken, and before its row was deleted, has sent it again.
    expect(lines.length).toBeGreaterThan(sent);
    expect(lines.every(({ id, webhookId, verified }) => id === webhookId && verified.every(Boolean))).toBe(true);
  },
  KILLS * 240_000,
);
