// Events of a real gateway, at a real receiver in another process: with a destination that is down, gone or silent, and while secrets
// change. What arrived is read from the receiver's journal.

import { afterEach, expect, it } from "vitest";
import type { HookLine } from "../../../support/hook.ts";
import { freshKey } from "../../../support/http.ts";
import { freePort } from "../../../support/ports.ts";
import { until } from "../../../support/e2e/guarantees-client.ts";
import { type OutboxScene, type SceneDestination, startOutboxScene } from "../../../support/e2e/outbox-scene.ts";

const ARRIVED_MS = 30_000;
const HOUR_MS = 3_600_000;

const LIVING: SceneDestination = { name: "living", url: (hook) => `${hook}/taken` };
const GONE: SceneDestination = { name: "gone", url: (hook) => `${hook}/gone` };
const SILENT: SceneDestination = { name: "silent", url: (hook) => `${hook}/hangs` };

let scene: OutboxScene;
afterEach(() => scene.close());

function received(path: string, count: number): Promise<readonly HookLine[]> {
  return until(
    async () => (await scene.hook().readJournal()).filter((line) => line.path === path),
    (lines) => lines.length >= count,
    ARRIVED_MS,
  );
}

function untilTaken(destination: string): Promise<unknown> {
  return until(
    () => Promise.resolve(scene.waiting(destination)),
    (events) => events.length === 0,
    ARRIVED_MS,
  );
}

it("keeps the events of a receiver that is down, and sends each once it is back", async () => {
  scene = await startOutboxScene([LIVING]);
  await scene.hook().close();
  for (let events = 0; events < 5; events += 1) await scene.complete(freshKey());
  await until(
    () => Promise.resolve(scene.waiting("living")),
    (events) => events.length === 5 && events.some(({ tries }) => tries > 0),
    ARRIVED_MS,
  );
  const ids = scene.waiting("living").map(({ id }) => id);
  await scene.restartHook();
  await untilTaken("living");
  const lines = await received("/taken", 5);
  expect(lines.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(new Set(lines.map(({ subject }) => subject))).toEqual(scene.completed());
});

it.each([
  ["refuses connections", async (): Promise<SceneDestination> => deadAt(await freePort())],
  ["does not answer", (): Promise<SceneDestination> => Promise.resolve(SILENT)],
])("is not a second late for one destination while another %s", async (_what, otherDestination) => {
  const other = await otherDestination();
  scene = await startOutboxScene([other, LIVING], 1);
  const answered: number[] = [];
  for (let events = 0; events < 10; events += 1) answered.push(await scene.complete(freshKey()));
  const lines = await received("/taken", 10);
  const delays = lines.map(({ at }, event) => at - (answered[event] ?? 0)).toSorted((one, two) => one - two);
  // Not the longest: the machine may have stood still for one of them.
  expect(delays[5]).toBeLessThan(1000);
  expect(scene.waiting(other.name)).toHaveLength(10);
});

function deadAt(port: number): SceneDestination {
  return { name: "dead", url: () => `http://127.0.0.1:${port}/` };
}

it("calls a destination that says 410 once, and lets it rest for a day", async () => {
  scene = await startOutboxScene([GONE, LIVING], 1);
  await scene.complete(freshKey());
  await received("/gone", 1);
  await until(
    () => Promise.resolve(scene.restsUntil("gone")),
    (at) => at !== null && at > Date.now() + 23 * HOUR_MS,
    ARRIVED_MS,
  );
  await scene.complete(freshKey());
  await received("/taken", 2);
  expect(await received("/gone", 1)).toHaveLength(1);
  expect(scene.waiting("gone")).toHaveLength(2);
});

it("signs with the old and the new secret while they change, so that no receiver refuses an event", async () => {
  // Each event is taken and deleted before the gateway stops, or it would be sent again.
  scene = await startOutboxScene([{ ...LIVING, secret: ["OLD"] }], 1);
  await scene.complete(freshKey());
  await untilTaken("living");
  await scene.reconfigure([{ ...LIVING, secret: ["NEW", "OLD"] }]);
  await scene.complete(freshKey());
  await untilTaken("living");
  await scene.reconfigure([{ ...LIVING, secret: ["NEW"] }]);
  await scene.complete(freshKey());
  const lines = await received("/taken", 3);
  expect(lines.map(({ verified: [byNew, byOld] }) => ({ byNew, byOld }))).toEqual([
    { byNew: false, byOld: true },
    { byNew: true, byOld: true },
    { byNew: true, byOld: false },
  ]);
  expect(lines.every(({ id, webhookId }) => id === webhookId)).toBe(true);
});
