// Requests that wait for another request's answer, at a real gateway with one shard: what they share if there is no result,
// how many there may be, and what is left of them when their clients have gone.

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type HeaderPair, headerValue } from "../../../support/http.ts";
import { type BodiesDatabase, openBodies } from "../../../support/e2e/bytes-database.ts";
import { until } from "../../../support/e2e/scene.ts";
import type { StreamReader } from "../../../support/e2e/stream-client.ts";
import {
  makeLoad,
  MIB,
  problemCode,
  startStreamScene,
  type StreamScene,
  untilTrue,
} from "../../../support/e2e/stream-scene.ts";

/** How many may wait for one key (src/kernel/config/README.md). */
const MAX_PER_RECORD = 100;

const WAIT = { duplicate: "wait", wait: "20s", unknown: "retry" };
const BRIEF = { timeout: "2s", lock: "4s", idle_timeout: "20s", wait: "2s" };

let scene: StreamScene;
let bodies: BodiesDatabase;
beforeAll(async () => {
  scene = await startStreamScene([
    { path: "/wait", ...WAIT },
    { path: "/brief", ...WAIT, ...BRIEF },
    { path: "/hold", ...WAIT, ...BRIEF, unknown: "hold" },
    { path: "/reject" },
  ]);
  await roundTrip();
  bodies = openBodies(scene.gateway);
});
afterAll(async () => {
  bodies.close();
  await scene.close();
});

/** A whole exchange on another key: what was sent before it has reached the shard, or is about to. */
async function roundTrip(): Promise<void> {
  const { first, streaming } = await scene.start("/reject");
  streaming.begin([["Content-Length", "0"]]);
  await streaming.end();
  await first.end;
}

/** Duplicates that wait by the time that this resolves. */
async function openWaiters(key: string, count: number): Promise<readonly StreamReader[]> {
  const readers = Array.from({ length: count }, () => scene.open({ path: "/wait", key }));
  for (let trips = 0; trips < 3; trips += 1) await roundTrip();
  return readers;
}

async function statusOf(reader: StreamReader): Promise<number> {
  return (await reader.head).status;
}

const nothingStored = (): Promise<void> =>
  untilTrue(() => bodies.orphans() === 0 && bodies.discarded() === 0, "what was passed on is erased");

describe("waiting duplicates share a refusal", () => {
  it.each<{ name: string; headers: readonly HeaderPair[] }>([
    { name: "known", headers: [["Content-Length", String(3 * MIB)]] },
    { name: "unknown", headers: [] },
  ])("of 3 MiB and $name length: one call, and each gets all of it", async ({ headers }) => {
    const load = makeLoad(3);
    const { key, first, streaming } = await scene.start("/wait");
    const waiting = await openWaiters(key, 60);
    streaming.begin([...headers, ["Retry-After", "7"]], 429);
    for (const piece of load.pieces) await streaming.write(piece);
    await streaming.end();
    for (const reader of [first, ...waiting]) {
      const head = await reader.head;
      const { sha256, complete } = await reader.end;
      expect({ status: head.status, sha256, complete }).toEqual({ status: 429, sha256: load.sha256, complete: true });
      expect(headerValue(head, "retry-after")).toBe("7");
      expect(headerValue(head, "idempotent-replayed")).toBeNull();
    }
    expect(scene.origin.effects(key)).toBe(1);
    await nothingStored();
  });

  it("as soon as its head arrives: a trickling body holds up neither them nor the key", async () => {
    const { key, first, streaming } = await scene.start("/wait");
    const waiting = await openWaiters(key, 5);
    streaming.begin([], 503);
    for (const reader of [first, ...waiting]) expect(await statusOf(reader)).toBe(503);
    // The first answer is not at its end, and the next attempt runs.
    const next = scene.open({ path: "/wait", key });
    const second = await scene.origin.take(key);
    second.begin([["Content-Length", "4"]], 201);
    await second.write("done");
    await second.end();
    expect(await statusOf(next)).toBe(201);
    expect((await next.end).bytes.toString()).toBe("done");
    await streaming.write("not ");
    for (const reader of [first, ...waiting]) await reader.untilText("not ");
    await streaming.write("now");
    await streaming.end();
    for (const reader of [first, ...waiting]) {
      expect(await reader.end).toMatchObject({ bytes: Buffer.from("not now"), complete: true });
    }
    const replay = await scene.read({ path: "/wait", key });
    expect({ status: replay.status, text: replay.bytes.toString() }).toEqual({ status: 201, text: "done" });
    expect(scene.origin.effects(key)).toBe(2);
    await nothingStored();
  });

  it("also when it breaks off: it breaks off for each of them, and the key stays free", async () => {
    const { key, first, streaming } = await scene.start("/wait");
    const waiting = await openWaiters(key, 3);
    streaming.begin([], 503);
    await streaming.write("half");
    for (const reader of [first, ...waiting]) await reader.untilText("half");
    streaming.cut();
    for (const reader of [first, ...waiting]) {
      expect(await reader.end).toMatchObject({ bytes: Buffer.from("half"), complete: false });
    }
    const next = scene.open({ path: "/wait", key });
    const second = await scene.origin.take(key);
    second.begin([["Content-Length", "0"]], 201);
    await second.end();
    expect(await statusOf(next)).toBe(201);
    expect(scene.origin.effects(key)).toBe(2);
    await nothingStored();
  });

  it("and the gateway stops reading it when all of them have left", async () => {
    const load = makeLoad(1);
    const { key, first, streaming } = await scene.start("/wait");
    streaming.begin([], 503);
    await streaming.write("x");
    await first.untilText("x");
    first.reset();
    // Each piece that arrives makes the gateway check for remaining readers.
    const giveUpAt = Date.now() + 15_000;
    while (!streaming.wasCut() && Date.now() < giveUpAt) {
      await streaming.write(load.pieces[0] ?? "").catch(() => undefined);
      await roundTrip();
    }
    expect(streaming.wasCut()).toBe(true);
    expect(scene.origin.effects(key)).toBe(1);
    await nothingStored();
  });
});

describe.concurrent("an ambiguous answer whose body is still arriving", () => {
  it.each([
    { path: "/brief", size: "400 KiB", bytes: 400 * 1024 },
    { path: "/hold", size: "400 KiB", bytes: 400 * 1024 },
  ])("is sent ($path, $size), and cut off before its lock ends: no attempt runs beside it", async ({ path, bytes }) => {
    const { key, first, streaming } = await scene.start(path);
    const begunAt = Date.now();
    streaming.begin([], 504);
    if (bytes > 0) await streaming.write("x".repeat(bytes));
    expect(await statusOf(first)).toBe(504);
    await first.untilSize(bytes);
    // Settled by its head: a duplicate gets the outcome and does not wait for the body.
    const duplicate = await scene.read({ path, key });
    expect(problemCode(duplicate)).toBe(path === "/hold" ? "outcome-unknown" : "in-flight");
    // The lock is not renewed for what is passed on, however long that takes.
    expect((await first.end).complete).toBe(false);
    await untilTrue(() => streaming.wasCut(), "the first call is ended");
    expect(Date.now() - begunAt).toBeLessThan(10_000);
    if (path === "/hold") {
      expect(problemCode(await scene.read({ path, key }))).toBe("outcome-unknown");
      expect(scene.origin.effects(key)).toBe(1);
    } else {
      const last = until(async () => {
        const answer = await scene.read({ path, key });
        return problemCode(answer) === "in-flight" ? null : answer;
      }, "the lock ends");
      const second = await scene.origin.take(key);
      expect(streaming.wasCut()).toBe(true);
      second.begin([["Content-Length", "0"]], 201);
      await second.end();
      expect((await last).status).toBe(201);
      expect(scene.origin.effects(key)).toBe(2);
    }
    await nothingStored();
  });
});

describe("waiting duplicates", () => {
  it("wait no longer than their clients: those that have left free their places", async () => {
    const { key, first, streaming } = await scene.start("/wait");
    const leaving = await openWaiters(key, MAX_PER_RECORD);
    expect(problemCode(await scene.read({ path: "/wait", key }))).toBe("in-flight");
    for (const reader of leaving) reader.reset();
    const returned = await until(async () => {
      const reader = scene.open({ path: "/wait", key });
      const answered = reader.head.then(() => null);
      await roundTrip();
      return Promise.race([answered, roundTrip().then(() => reader)]);
    }, "there is a place again");
    streaming.begin([["Content-Length", "4"]], 201);
    await streaming.write("done");
    await streaming.end();
    for (const reader of [first, returned]) expect((await reader.end).bytes.toString()).toBe("done");
    expect(scene.origin.effects(key)).toBe(1);
  });
});
