// Batches with messages that can never be processed, among healthy ones: one that cannot be read, one whose key was used for another
// content, one that the origin always refuses; and results that reject a message. Effects are counted at the origin.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { QUEUE, type QueueScene, startQueueScene } from "../rounds/scene.ts";
import type { JournalLine } from "../../../support/broker.ts";
import type { Effect } from "../../../guarantees/history.ts";

let folder: string;
let scene: QueueScene;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-poison-"));
  scene = await startQueueScene({
    folder,
    consumer: "hold",
    key: ["json:/order"],
    broker: { batch: 100, concurrency: 2, seed: 3, visibilityMs: 30_000 },
    giveUpMs: 3_000,
    timeoutMs: 20_000,
  });
});
afterAll(async () => {
  await scene.close();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly lines: readonly JournalLine[];
  /** The reasons of the letters, sorted. */
  readonly reasons: readonly string[];
  readonly effects: readonly Effect[];
}

/** Sends messages together, and reads from the journals what became of them. */
async function sendAll(bodies: readonly object[]): Promise<Ended> {
  const before = { lines: await scene.broker.readJournal(), effects: await scene.origin.effects() };
  await scene.broker.send(QUEUE, bodies);
  const lines = (await scene.broker.readJournal()).slice(before.lines.length);
  const reasons = lines.flatMap((line) => (line.kind === "letter" ? [line.reason] : [])).toSorted();
  return { lines, reasons, effects: (await scene.origin.effects()).slice(before.effects.length) };
}

it("lets no poisonous message hold up or repeat a healthy one", async () => {
  const healthy = Array.from({ length: 97 }, (_, order) => ({ order }));
  const poison = [{ order: { number: 1 } }, { order: 5, amount: 7 }, { order: "refused", origin: "503" }];
  const { lines, reasons, effects } = await sendAll([...healthy.slice(0, 50), ...poison, ...healthy.slice(50)]);
  expect(reasons).toEqual(["exhausted", "key-reused", "message-invalid"]);
  expect(effects).toHaveLength(97);
  const poisonous = new Set(lines.flatMap((line) => (line.kind === "letter" ? [line.id] : [])));
  expect(poisonous.size).toBe(3);
  // Each healthy message took effect, and no other did. One of the two with the key 5 is healthy, whichever came first.
  const sent = lines.flatMap((line) => (line.kind === "sent" && !poisonous.has(line.id) ? [line.id] : []));
  expect(effects.map(({ request }) => request.split("/")[0] ?? "").toSorted()).toEqual(sent.toSorted());
  const deliveries = lines.flatMap((line) =>
    line.kind === "delivered" && !poisonous.has(line.id) ? [line.attempts] : [],
  );
  expect(Math.max(...deliveries)).toBe(1);
});

it("is a dead letter after a result that does not settle it, and is not sent again", async () => {
  const { reasons, effects } = await sendAll([
    { order: "a", origin: "422" },
    { order: "b", origin: "404" },
    { order: "c" },
  ]);
  expect(reasons).toEqual(["rejected", "rejected"]);
  expect(effects).toHaveLength(3);
});
