// `encrypt_responses = true` for bodies that come slowly: followed while they arrive, resumed after the last event that a client has seen,
// replayed after a crash. At no moment is any of them readable on disk.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { HeaderPair } from "../../../support/http.ts";
import { freshSecret } from "../../../support/e2e/encrypted-scene.ts";
import { EVENTS, isReplay, startStreamScene, type StreamScene } from "../../../support/e2e/stream-scene.ts";
import { tracesIn } from "../../../support/e2e/traces-in-files.ts";

const PATH = "/events";
const EVENTS_BEFORE = 40;

let scene: StreamScene;
beforeAll(async () => {
  const routes = [{ path: "/*", duplicate: "attach", wait: "20s", encrypt_responses: true }];
  scene = await startStreamScene(routes, { ENCRYPTION_SECRET: freshSecret() });
});
afterAll(() => scene.close());

const lastSeen = (id: number): readonly HeaderPair[] => [["Last-Event-ID", String(id)]];

it("is followed live, resumed while it arrives and afterwards, and never readable on disk", async () => {
  const text = randomBytes(12).toString("hex");
  const event = (id: number): string => `id: ${id}\ndata: ${text}/${id}\n\n`;
  const events = (from: number, to: number): string =>
    Array.from({ length: to - from + 1 }, (_, at) => event(from + at)).join("");
  const { key, first, streaming } = await scene.start(PATH);
  streaming.begin(EVENTS);
  for (let id = 1; id <= EVENTS_BEFORE; id += 1) {
    await streaming.write(event(id));
    await first.untilText(events(1, id));
  }
  expect(scene.storage().chunks()).toBeGreaterThan(1);
  expect(tracesIn(scene.gateway.stateDir, [text, key])).toEqual([]);
  const follower = scene.open({ path: PATH, key });
  const resumed = scene.open({ path: PATH, key, headers: lastSeen(30) });
  await follower.untilText(events(1, EVENTS_BEFORE));
  await resumed.untilText(events(31, EVENTS_BEFORE));
  await streaming.write(event(EVENTS_BEFORE + 1));
  await streaming.end();
  const last = EVENTS_BEFORE + 1;
  expect((await first.end).bytes.toString()).toBe(events(1, last));
  expect((await follower.end).bytes.toString()).toBe(events(1, last));
  expect((await resumed.end).bytes.toString()).toBe(events(31, last));
  const replay = await scene.read({ path: PATH, key });
  expect([isReplay(replay), replay.bytes.toString()]).toEqual([true, events(1, last)]);
  const after = await scene.read({ path: PATH, key, headers: lastSeen(last - 2) });
  expect(after.bytes.toString()).toBe(events(last - 1, last));
  expect(tracesIn(scene.gateway.stateDir, [text, key])).toEqual([]);
  expect(scene.origin.effects(key)).toBe(1);
});
