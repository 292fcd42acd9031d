// Answers that come in pieces, through the whole gateway: what the first client sees and when, what is durable by then, and
// that no client influences the origin's answer.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headerValue } from "../../../support/http.ts";
import { openShardDatabase } from "../../../support/e2e/shard-database.ts";
import {
  event,
  EVENTS,
  isReplay,
  makeLoad,
  MIB,
  problemCode,
  startStreamScene,
  type StreamScene,
  untilTrue,
} from "../../../support/e2e/stream-scene.ts";

const LARGE = { max_response_body: "40MiB" };
const ROUTES = [
  { path: "/reject", ...LARGE },
  { path: "/wait", duplicate: "wait", wait: "20s", ...LARGE },
  { path: "/small", max_response_body: "1MiB" },
];

let scene: StreamScene;
beforeAll(async () => {
  scene = await startStreamScene(ROUTES);
});
afterAll(() => scene.close());

describe("A response that comes in pieces", () => {
  it.each([
    { name: "server-sent events", headers: EVENTS },
    { name: "chunks of no type", headers: [] },
    { name: "a long body of known length", headers: [["Content-Length", String(2 * MIB)] as const] },
  ])("reaches the first client piece by piece, each durable before it is seen: $name", async ({ headers }) => {
    const { key, first, streaming } = await scene.start("/wait");
    const pieces = Array.from({ length: 6 }, (_, id) => event(key, id));
    streaming.begin(headers);
    for (const [index, piece] of pieces.entries()) {
      await streaming.write(piece);
      await first.untilText(pieces.slice(0, index + 1).join(""));
      expect(scene.storage().hasStored(`${key}/${index}`)).toBe(true);
    }
    const length = Number(headers.find(([name]) => name === "Content-Length")?.[1] ?? 0);
    const rest = Buffer.alloc(Math.max(0, length - pieces.join("").length), "x");
    if (rest.length > 0) await streaming.write(rest);
    await streaming.end();
    const whole = pieces.join("") + rest.toString();
    const { bytes, complete } = await first.end;
    expect({ text: bytes.toString() === whole, complete }).toEqual({ text: true, complete: true });
    expect(isReplay(await first.head)).toBe(false);

    const replay = await scene.read({ path: "/wait", key });
    expect(isReplay(replay)).toBe(true);
    expect({ same: replay.bytes.equals(bytes), complete: replay.complete }).toEqual({ same: true, complete: true });
    expect(headerValue(replay, "content-length")).toBe(String(bytes.length));
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("reaches the first client piece by piece although its Content-Length is small", async () => {
    const { key, first, streaming } = await scene.start("/wait");
    const pieces = Array.from({ length: 3 }, (_, id) => event(key, id));
    streaming.begin([["Content-Length", String(pieces.join("").length)]]);
    for (const [index, piece] of pieces.entries()) {
      await streaming.write(piece);
      await first.untilText(pieces.slice(0, index + 1).join(""));
    }
    await streaming.end();
    expect((await first.end).complete).toBe(true);
    const replay = await scene.read({ path: "/wait", key });
    expect({ text: replay.bytes.toString(), replay: isReplay(replay) }).toEqual({
      text: pieces.join(""),
      replay: true,
    });
  });

  it("keeps all headers for the first client and omits the route's from the replay", async () => {
    const { key, first, streaming } = await scene.start("/wait");
    streaming.begin(EVENTS, 203);
    await streaming.write(event(key, 1));
    const head = await first.head;
    expect(head.status).toBe(203);
    expect(headerValue(head, "set-cookie")).toBe("session=1");
    expect(headerValue(head, "x-model")).toBe("a, b");
    expect(headerValue(head, "idempotency-key")).toBe(key);
    await streaming.end();
    await first.end;
    const replay = await scene.read({ path: "/wait", key });
    expect(replay.status).toBe(203);
    expect(headerValue(replay, "set-cookie")).toBeNull();
    expect(headerValue(replay, "x-model")).toBe("a, b");
    expect(headerValue(replay, "idempotency-expires")).not.toBeNull();
  });

  it("ends for the client only once the record that replays it is durable", async () => {
    const { key, first, streaming } = await scene.start("/reject");
    streaming.begin([]);
    await streaming.write(`${key} one`);
    await first.untilText(`${key} one`);
    const refused = await scene.read({ path: "/reject", key });
    expect(problemCode(refused)).toBe("in-flight");
    await streaming.end();
    expect((await first.end).complete).toBe(true);
    expect(isReplay(await scene.read({ path: "/reject", key }))).toBe(true);
    expect(scene.origin.effects(key)).toBe(1);
  });
});

describe("A store that fails in the middle of a stream", () => {
  /** Streams one piece, then lets the store fail: the client gets that piece and a broken end, and no second effect follows. */
  async function expectNoCleanEnd(
    fail: (
      stream: Awaited<ReturnType<StreamScene["start"]>>,
      own: StreamScene,
    ) => Promise<{ readonly heal: () => void }>,
  ): Promise<void> {
    const own = await startStreamScene(ROUTES);
    try {
      const stream = await own.start("/reject");
      const { key, first, streaming } = stream;
      streaming.begin([]);
      await streaming.write(`${key} one;`);
      await first.untilText(`${key} one;`);
      const { heal } = await fail(stream, own);
      expect(await first.end).toMatchObject({ bytes: Buffer.from(`${key} one;`), complete: false });
      heal();
      const retry = await own.read({ path: "/reject", key });
      expect(problemCode(retry)).toBe("in-flight");
      expect(own.origin.effects(key)).toBe(1);
    } finally {
      await own.close();
    }
  }

  it("shows no byte whose commit fails, and no clean end", async () => {
    await expectNoCleanEnd(async ({ key, streaming }, own) => {
      const storage = own.storage();
      storage.failChunkCommits();
      await streaming.write(`${key} two;`);
      return { heal: () => storage.allowChunks() };
    });
  });

  it("shows no clean end when the record's last commit fails", async () => {
    await expectNoCleanEnd(async ({ streaming }, own) => {
      const database = openShardDatabase(own.gateway);
      database.failCommits("completed");
      await streaming.end();
      return {
        heal: () => {
          database.allowCommits();
          database.close();
        },
      };
    });
  });
});

describe("A client that leaves in the middle of a stream", () => {
  it("changes nothing: the stream is read to its end and kept, and the client gets all of it when it returns", async () => {
    const { key, first, streaming } = await scene.start("/wait");
    streaming.begin(EVENTS);
    await streaming.write(event(key, 0));
    await first.untilText(event(key, 0));
    first.reset();
    expect((await first.end).complete).toBe(false);
    for (let id = 1; id < 5; id++) {
      await streaming.write(event(key, id));
      await untilTrue(() => scene.storage().hasStored(`${key}/${id}`), `event ${id} is stored`);
    }
    const returned = scene.open({ path: "/wait", key });
    await streaming.end();
    expect(isReplay(await returned.head)).toBe(true);
    expect(await returned.end).toMatchObject({
      bytes: Buffer.from([0, 1, 2, 3, 4].map((id) => event(key, id)).join("")),
      complete: true,
    });
    expect(streaming.wasCut()).toBe(false);
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("changes nothing when it leaves in the middle of a long body", async () => {
    const load = makeLoad(8);
    const { key, first, streaming } = await scene.start("/wait", { digestOnly: true });
    streaming.begin([["Content-Length", String(load.size)]]);
    for (const [index, piece] of load.pieces.entries()) {
      await streaming.write(piece);
      if (index !== 2) continue;
      await first.untilSize(2 * MIB);
      first.reset();
    }
    await streaming.end();
    const replay = await scene.read({ path: "/wait", key, digestOnly: true });
    expect(replay).toMatchObject({ sha256: load.sha256, complete: true });
    expect(scene.origin.effects(key)).toBe(1);
  });
});

describe("A slow reader", () => {
  it("never slows the origin down, and gets all bytes at its own speed", async () => {
    const load = makeLoad(20);
    const { key, first, streaming } = await scene.start("/reject", { paused: true, digestOnly: true });
    streaming.begin([["Content-Length", String(load.size)]]);
    for (const piece of load.pieces) await streaming.write(piece);
    await streaming.end();
    // The record is complete, so the origin's end has been read.
    const replay = await untilReplay(key);
    expect(replay).toMatchObject({ sha256: load.sha256, complete: true });
    expect(first.size()).toBeLessThan(MIB);
    first.resume();
    expect(await first.end).toMatchObject({ sha256: load.sha256, complete: true });
    expect(scene.origin.effects(key)).toBe(1);
  });

  async function untilReplay(key: string): ReturnType<StreamScene["read"]> {
    for (;;) {
      const answer = await scene.read({ path: "/reject", key });
      if (problemCode(answer) !== "in-flight") return answer;
    }
  }

  it("also does not slow the origin down when the body is too large to keep, and gets all of it", async () => {
    const load = makeLoad(25);
    const { key, first, streaming } = await scene.start("/small", { paused: true, digestOnly: true });
    streaming.begin([]);
    // The client reads nothing, and the origin sends far more than the network buffers.
    for (const piece of load.pieces) await streaming.write(piece);
    await streaming.end();
    await first.head;
    expect(problemCode(await scene.read({ path: "/small", key }))).toBe("response-not-kept");
    expect(first.size()).toBeLessThan(MIB);
    first.resume();
    expect(await first.end).toMatchObject({ size: load.size, sha256: load.sha256, complete: true });
    expect(streaming.wasCut()).toBe(false);
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("gets a replay at its own speed", async () => {
    const load = makeLoad(12);
    const key = await scene.store("/wait", load);
    const slow = scene.open({ path: "/wait", key, paused: true, digestOnly: true });
    await slow.head;
    const quick = await scene.read({ path: "/wait", key, digestOnly: true });
    expect(quick.sha256).toBe(load.sha256);
    slow.resume();
    expect(await slow.end).toMatchObject({ sha256: load.sha256, complete: true });
  });
});
