// Operators are told, at a real receiver in another process, of messages that became dead letters: the first of a queue at once and once,
// also when the gateway is killed when it has sent the letter, and of messages that had been parked.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import * as v from "valibot";
import { QUEUE, type QueueScene, startQueueScene } from "../rounds/scene.ts";
import { ADMIN_TOKEN, askGateway, BASE } from "../../../support/e2e/operator-scene.ts";
import { SECRETS } from "../../../support/e2e/outbox-scene.ts";
import { expectAlert, type Receiver, startReceiver, untilEventsLeft } from "../../../support/e2e/receiver.ts";

const listed = v.object({ records: v.array(v.object({ id: v.string(), shard: v.string() })) });

let folder: string;
let receiver: Receiver;
let scene: QueueScene;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-dead-"));
  receiver = await startReceiver(folder);
  scene = await startQueueScene({
    folder,
    consumer: "hold",
    broker: { batch: 1, concurrency: 1, seed: 3 },
    giveUpMs: 30_000,
    timeoutMs: 2_000,
    bindings: { ...SECRETS, ADMIN_TOKEN, DESTINATIONS: [receiver.destination(["dead-letter"])] },
  });
});
afterEach(async () => {
  await Promise.all([scene.close(), receiver.kill()]);
  await rm(folder, { recursive: true, force: true });
});

/** Everything that is to be told has been told: how much that was. */
async function alertsInAll(): Promise<number> {
  await untilEventsLeft(scene.stateDir, 0);
  return (await receiver.taken(0)).length;
}

/** The ids of the messages, in the order in which they were sent. */
async function sentIds(): Promise<readonly string[]> {
  return (await scene.broker.readJournal()).flatMap((line) => (line.kind === "sent" ? [line.id] : []));
}

async function records(): Promise<v.InferOutput<typeof listed>["records"]> {
  return v.parse(listed, (await askGateway(`${scene.url()}${BASE}/records`, "GET", {})).json).records;
}

/** What is told of the only message that was sent. */
async function expectLetterAlert(shard?: string): Promise<void> {
  const [line] = await receiver.taken(1);
  const [messageId] = await sentIds();
  const [record] = await records();
  const recordId = record?.id ?? "";
  expect(line?.id).toBe(`alert-dead-letter-orders/${messageId}`);
  expectAlert(line, "dead-letter", {
    subject: recordId,
    shard: shard ?? "shard-0-of-3",
    page: `/console/records/${recordId}`,
    data: {
      summary: "A message of orders became a dead letter: rejected.",
      queue: "orders",
      messageId,
      reason: "rejected",
      recordId,
      more: 0,
    },
  });
}

it("tells of the first one at once, with its record, and of another one in the same quarter of an hour later", async () => {
  await scene.broker.send(QUEUE, [{ origin: "422" }]);
  await expectLetterAlert();
  await scene.broker.send(QUEUE, [{ origin: "404" }]);
  expect(await alertsInAll()).toBe(1);
});

it.each(["letter-arrived", "letter-answered", "decided"])(
  "tells once of a letter where the gateway is killed: %s",
  async (point) => {
    await receiver.kill();
    const struck = scene.broker.strike(point, 1);
    const over = scene.broker.send(QUEUE, [{ origin: "422" }]);
    const go = await struck;
    await scene.crash(go);
    await over;
    await receiver.startAgain();
    await scene.crash(() => undefined);
    await expectLetterAlert();
    expect(await alertsInAll()).toBe(1);
  },
);

it("tells once of a message that was parked, by the shard of its record, when an operator has decided", async () => {
  await scene.broker.send(QUEUE, [{ origin: "504" }]);
  const [record] = await records();
  expect(await alertsInAll()).toBe(0);
  await receiver.kill();
  const resolved = await askGateway(`${scene.url()}${BASE}/records/${record?.id}/resolve`, "POST", {
    body: { reason: "seen at the bank", response: { status: 422, headers: [] }, confirm: true },
  });
  expect(resolved.status).toBe(200);
  await scene.crash(() => undefined);
  await receiver.startAgain();
  await expectLetterAlert(record?.shard);
  expect(await alertsInAll()).toBe(1);
});
