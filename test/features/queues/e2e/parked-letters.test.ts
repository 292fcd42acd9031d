// Parked messages that end with a result that does not settle them, and the gateway killed with SIGKILL at once afterwards: each has one
// dead letter. The queue, its letters and the origin are other processes.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, expect, it } from "vitest";
import { QUEUE, type QueueScene, startQueueScene } from "../rounds/scene.ts";
import { eventually } from "../../../support/eventually.ts";

const ADMIN_TOKEN = randomBytes(24).toString("hex");
const MESSAGES = 6;
const listed = v.object({ records: v.array(v.object({ id: v.string() })) });

let folder: string;
let scene: QueueScene;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceway-letters-"));
  scene = await startQueueScene({
    folder,
    consumer: "hold",
    broker: { batch: 5, concurrency: 2, seed: 3 },
    giveUpMs: 30_000,
    timeoutMs: 1000,
    bindings: { ADMIN_TOKEN },
  });
});
afterAll(async () => {
  await scene.close();
  await rm(folder, { recursive: true, force: true });
});

async function ask(method: string, path: string, body: object | null = null): Promise<unknown> {
  const response = await fetch(`${scene.url()}/_onceway${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    body: body === null ? null : JSON.stringify(body),
  });
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return response.json();
}

async function letters(): Promise<readonly string[]> {
  const lines = await scene.broker.readJournal();
  return lines.flatMap((line) => (line.kind === "letter" ? [`${line.letter} ${line.reason}`] : []));
}

it("have a dead letter each, and only then", async () => {
  await scene.broker.send(
    QUEUE,
    Array.from({ length: MESSAGES }, () => ({ origin: "504" })),
  );
  // Its queue has deleted them all: only their records know of them now.
  await scene.crash(() => undefined);
  const { records } = v.parse(listed, await ask("GET", "/records?state=unknown"));
  expect(records).toHaveLength(MESSAGES);
  expect(await letters()).toEqual([]);
  for (const [at, { id }] of records.entries()) {
    const response = { status: at === 0 ? 200 : 422, headers: [] };
    await ask("POST", `/records/${id}/resolve`, { reason: "seen at the bank", response, confirm: true });
  }
  await scene.crash(() => undefined);
  // One that was sent and not yet deleted is sent again, with the same id.
  const distinct = async (): Promise<readonly string[]> => [...new Set(await letters())];
  await eventually(async () => expect(await distinct()).toHaveLength(MESSAGES - 1));
  const lines = await scene.broker.readJournal();
  const sent = lines.flatMap((line) => (line.kind === "sent" ? [`orders/${line.id} rejected`] : []));
  for (const letter of await distinct()) expect(sent).toContain(letter);
  expect(await scene.origin.effects()).toHaveLength(MESSAGES);
});
