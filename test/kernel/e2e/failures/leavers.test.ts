// Clients that leave before their answer begins, and clients that are slower than the record lives: no body is kept for a
// client that has left, and none is withdrawn from a client that still reads.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HeaderPair } from "../../../support/http.ts";
import { type BodiesDatabase, openBodies } from "../../../support/e2e/bytes-database.ts";
import {
  isReplay,
  makeLoad,
  MIB,
  problemCode,
  startStreamScene,
  type StreamScene,
  untilTrue,
} from "../../../support/e2e/stream-scene.ts";

const BRIEF = { timeout: "2s", lock: "2500ms", idle_timeout: "60s", retention: "4s" };

let scene: StreamScene;
let bodies: BodiesDatabase;
beforeAll(async () => {
  scene = await startStreamScene([
    { path: "/brief", max_response_body: "40MiB", ...BRIEF },
    { path: "/small", max_response_body: "1MiB", ...BRIEF },
    { path: "/upload", max_request_body: "40MiB", ...BRIEF },
  ]);
  const { first, streaming } = await scene.start("/brief");
  streaming.begin([["Content-Length", "0"]]);
  await streaming.end();
  await first.end;
  bodies = openBodies(scene.gateway);
});
afterAll(async () => {
  bodies.close();
  await scene.close();
});

const untilErased = (): Promise<void> =>
  untilTrue(() => bodies.chunks() === 0 && bodies.discarded() === 0, "every chunk is erased");

describe("A client that is gone before the head", () => {
  it.each<{ name: string; headers: readonly HeaderPair[] }>([
    { name: "of unknown length", headers: [] },
    { name: "of known length", headers: [["Content-Length", String(3 * MIB)]] },
  ])("leaves a body $name that is kept, replayed, and erased with its record", async ({ headers }) => {
    const load = makeLoad(3);
    const { key, first, streaming } = await scene.start("/brief");
    first.reset();
    await first.end;
    streaming.begin(headers);
    for (const piece of load.pieces) await streaming.write(piece);
    await streaming.end();
    await untilTrue(() => bodies.lastRecord() === "completed", "the answer is kept");
    expect(bodies.chunks()).toBeGreaterThan(0);
    const replay = await scene.read({ path: "/brief", key });
    expect({ replay: isReplay(replay), sha256: replay.sha256 }).toEqual({ replay: true, sha256: load.sha256 });
    await untilErased();
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("leaves nothing behind of a short body either", async () => {
    const { key, first, streaming } = await scene.start("/brief");
    first.reset();
    await first.end;
    streaming.begin([]);
    await streaming.write("late");
    await streaming.end();
    await untilTrue(() => bodies.lastRecord() === "completed", "the answer is kept");
    await untilErased();
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("does not delay a body that is too large to keep, however long it is", async () => {
    // Far more than the buffer for a slow reader, in less than `idle_timeout`.
    const load = makeLoad(16);
    const { key, first, streaming } = await scene.start("/small");
    first.reset();
    await first.end;
    streaming.begin([]);
    for (let round = 0; round < 20; round++) for (const piece of load.pieces) await streaming.write(piece);
    await streaming.end();
    expect(problemCode(await scene.read({ path: "/small", key }))).toBe("response-not-kept");
    await untilErased();
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("leaves nothing behind of its own large request", async () => {
    const { key, first, streaming } = await scene.start("/upload", { body: "x".repeat(3 * MIB) });
    expect(bodies.chunks()).toBeGreaterThan(0);
    first.reset();
    await first.end;
    streaming.begin([]);
    await streaming.write("taken");
    await streaming.end();
    await untilTrue(() => bodies.lastRecord() === "completed", "the answer is kept");
    await untilErased();
    expect(scene.origin.effects(key)).toBe(1);
  });
});

describe("A replay that has begun", () => {
  it("outlives its record: a slow reader gets the whole body, and then it is erased", async () => {
    // More than the network buffers.
    const load = makeLoad(24);
    const { key, first, streaming } = await scene.start("/brief", { digestOnly: true });
    streaming.begin([["Content-Length", String(load.size)]]);
    for (const piece of load.pieces) await streaming.write(piece);
    await streaming.end();
    expect(await first.end).toMatchObject({ sha256: load.sha256, complete: true });
    const slow = scene.open({ path: "/brief", key, paused: true, digestOnly: true });
    expect(isReplay(await slow.head)).toBe(true);
    // The record is gone when the alarm has left its body to be erased.
    await untilTrue(() => bodies.discarded() > 0, "the record has expired");
    const again = await scene.start("/brief");
    again.streaming.begin([["Content-Length", "0"]]);
    await again.streaming.end();
    await again.first.end;
    expect(bodies.chunks()).toBeGreaterThan(0);
    slow.resume();
    expect(await slow.end).toMatchObject({ sha256: load.sha256, complete: true });
    await untilErased();
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("does not prevent the erasure of its body when its reader leaves", async () => {
    const load = makeLoad(24);
    const key = await scene.store("/brief", load);
    const slow = scene.open({ path: "/brief", key, paused: true, digestOnly: true });
    await slow.head;
    await untilTrue(() => bodies.discarded() > 0, "the record has expired");
    expect(bodies.chunks()).toBeGreaterThan(0);
    slow.reset();
    await untilErased();
  });
});
