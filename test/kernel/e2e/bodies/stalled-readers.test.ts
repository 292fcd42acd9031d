// Clients that stop reading: after `idle_timeout` they are disconnected, so that their bodies can be erased, and no other
// client is affected.

import { afterAll, beforeAll, expect, it } from "vitest";
import { freshKey } from "../../../support/http.ts";
import type { StreamReader } from "../../../support/e2e/stream-client.ts";
import {
  isReplay,
  makeLoad,
  MIB,
  startStreamScene,
  type StreamScene,
  untilTrue,
} from "../../../support/e2e/stream-scene.ts";

const LARGE = { max_response_body: "40MiB", timeout: "2s", lock: "3s", idle_timeout: "2s" };

let scene: StreamScene;
beforeAll(async () => {
  scene = await startStreamScene([
    { path: "/kept", ...LARGE },
    // Time enough for replays to begin on a busy machine.
    { path: "/brief", ...LARGE, retention: "10s" },
  ]);
  // The shard is there from now on, so that its chunks can be counted.
  await scene.store("/kept", makeLoad(1));
});
afterAll(() => scene.close());

/** More than the network buffers. */
const LOAD = makeLoad(24);

/** Reads what is already on its way. Returns whether that was the whole body. */
async function isWhole(reader: StreamReader): Promise<boolean> {
  reader.resume();
  return (await reader.end).complete;
}

async function untilReplay(path: string, key: string): ReturnType<StreamScene["read"]> {
  for (;;) {
    const answer = await scene.read({ path, key, digestOnly: true });
    if (isReplay(answer)) return answer;
  }
}

it("an expired body is erased although clients have stopped reading in the middle of it", async () => {
  const before = scene.storage().chunks();
  const key = await scene.store("/brief", LOAD);
  const still = Array.from({ length: 5 }, () => scene.open({ path: "/brief", key, paused: true, digestOnly: true }));
  for (const reader of still) expect(isReplay(await reader.head)).toBe(true);
  await untilTrue(() => scene.storage().chunks() === before, "the expired body leaves the disk");
  for (const reader of still) expect(await isWhole(reader)).toBe(false);
});

it("a client that stops reading is disconnected; one that keeps reading gets the whole body, as does one that returns", async () => {
  const key = await scene.store("/kept", LOAD);
  const still = scene.open({ path: "/kept", key, paused: true, digestOnly: true });
  await still.head;
  const slow = scene.open({ path: "/kept", key, digestOnly: true });
  // Never pauses for long, but takes three times as long in all as a pause may last: on a busy machine, the other one's begins late.
  for (let half = 1; half < 40; half += 1) {
    await slow.untilSize((half * MIB) / 2);
    slow.pause();
    await new Promise((resolve) => setTimeout(resolve, 150));
    slow.resume();
  }
  expect(await slow.end).toMatchObject({ sha256: LOAD.sha256, complete: true });
  expect(await isWhole(still)).toBe(false);
  const returned = await scene.read({ path: "/kept", key, digestOnly: true });
  expect(returned).toMatchObject({ sha256: LOAD.sha256, complete: true });
  expect(scene.origin.effects(key)).toBe(1);
});

it("a first client that stops reading is disconnected, and its record is kept", async () => {
  const key = freshKey();
  const before = scene.storage().chunks();
  const first = scene.open({ path: "/brief", key, paused: true, digestOnly: true });
  const streaming = await scene.origin.take(key);
  streaming.begin([["Content-Length", String(LOAD.size)]]);
  for (const piece of LOAD.pieces) await streaming.write(piece);
  await streaming.end();
  await first.head;
  const replay = await untilReplay("/brief", key);
  expect(replay).toMatchObject({ sha256: LOAD.sha256, complete: true });
  const second = scene.open({ path: "/brief", key, paused: true, digestOnly: true });
  await second.head;
  // It is erased only when nobody reads it any more.
  await untilTrue(() => scene.storage().chunks() === before, "the body leaves the disk");
  expect(await isWhole(first)).toBe(false);
  expect(await isWhole(second)).toBe(false);
  expect(scene.origin.effects(key)).toBe(1);
});
