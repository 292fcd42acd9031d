// A batch with messages that can never be processed: one whose key was used for another content, one that the origin always
// rejects, one that it always refuses, among healthy ones. Effects are counted at the origin.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startQueueScene, type QueueScene } from "../../queues/scene.ts";

let folder: string;
let scene: QueueScene;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-poison-"));
  scene = await startQueueScene({
    folder,
    consumer: "hold",
    broker: { batch: 100, concurrency: 2, seed: 3, visibilityMs: 30_000 },
    giveUp: "3s",
    timeoutMs: 20_000,
  });
});
afterAll(async () => {
  await scene.close();
  await rm(folder, { recursive: true, force: true });
});

it("lets no poisonous message hold up or repeat a healthy one", async () => {
  const healthy = Array.from({ length: 97 }, (_, order) => ({ order }));
  const poison = [{ origin: "422" }, { origin: "503" }, { origin: "404" }];
  await scene.broker.send([...healthy.slice(0, 50), ...poison, ...healthy.slice(50)]);
  const lines = await scene.broker.readJournal();
  const letters = lines.flatMap((line) => (line.kind === "letter" ? [line.reason] : []));
  expect(letters.toSorted()).toEqual(["exhausted", "rejected", "rejected"]);
  const effects = await scene.origin.readJournal();
  // The two that were rejected have been acted upon, as far as the origin says.
  expect(effects).toHaveLength(99);
  expect(new Set(effects.map(({ id }) => id)).size).toBe(99);
  const poisonous = new Set(lines.flatMap((line) => (line.kind === "letter" ? [line.id] : [])));
  const deliveries = lines.flatMap((line) =>
    line.kind === "delivered" && !poisonous.has(line.id) ? [line.attempts] : [],
  );
  expect(Math.max(...deliveries)).toBe(1);
}, 60_000);
