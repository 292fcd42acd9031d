// `duplicate = "attach"`: a duplicate that comes while the first answer still arrives gets that answer from its first byte and
// follows it live. A duplicate that names the last event it saw continues from there.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, type HeaderPair, headerValue } from "../../../support/http.ts";
import type { StreamReader } from "../../../support/e2e/stream-client.ts";
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

const ATTACH = { duplicate: "attach", wait: "20s", max_response_body: "40MiB" };
const PATH = "/attach";
const ROUTES = [
  { path: PATH, ...ATTACH },
  { path: "/impatient", ...ATTACH, wait: "300ms" },
  { path: "/small", ...ATTACH, max_response_body: "2MiB" },
  { path: "/reject" },
];

let scene: StreamScene;
beforeAll(async () => {
  scene = await startStreamScene(ROUTES);
});
afterAll(() => scene.close());

/** A stream whose first events the first client has seen. */
async function startEvents(count: number, headers: readonly HeaderPair[] = EVENTS) {
  const started = await scene.start(PATH);
  const { key, first, streaming } = started;
  streaming.begin(headers);
  for (let id = 1; id <= count; id++) {
    await streaming.write(event(key, id));
    await first.untilText(events(key, 1, id));
  }
  return { ...started, attach: (own: readonly HeaderPair[] = []) => scene.open({ path: PATH, key, headers: own }) };
}

function events(key: string, from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => event(key, from + index)).join("");
}

/** A whole exchange on another key: what was sent before it has reached the shard, or is about to. */
async function roundTrip(): Promise<void> {
  const { first, streaming } = await scene.start("/reject");
  streaming.begin([["Content-Length", "0"]]);
  await streaming.end();
  await first.end;
}

describe("A duplicate that attaches", () => {
  it("gets the same response from its first byte and follows it live; afterwards it is an ordinary replay", async () => {
    const { key, first, streaming, attach } = await startEvents(2);
    const attached = attach();
    await attached.untilText(events(key, 1, 2));
    for (let id = 3; id <= 5; id++) {
      await streaming.write(event(key, id));
      await Promise.all([first, attached].map((reader) => reader.untilText(events(key, 1, id))));
      expect(scene.storage().hasStored(`${key}/${id}`)).toBe(true);
    }
    await streaming.end();
    for (const reader of [first, attached]) expect((await reader.end).complete).toBe(true);

    const [head, firstHead] = await Promise.all([attached.head, first.head]);
    expect(head.status).toBe(firstHead.status);
    expect(headerValue(head, "idempotent-replayed")).toBe("true");
    expect(headerValue(head, "idempotency-key")).toBe(key);
    expect(headerValue(head, "set-cookie")).toBeNull();
    expect(headerValue(firstHead, "set-cookie")).toBe("session=1");
    expect(isReplay(firstHead)).toBe(false);
    expect(headerValue(head, "x-model")).toBe("a, b");
    expect(headerValue(head, "content-type")).toBe("text/event-stream");

    const replay = await scene.read({ path: PATH, key });
    expect({ text: replay.bytes.toString(), replay: isReplay(replay) }).toEqual({
      text: events(key, 1, 5),
      replay: true,
    });
    expect(headerValue(replay, "idempotency-expires")).not.toBeNull();
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("makes a dropped connection harmless: the client returns with its key and continues", async () => {
    const { key, first, streaming, attach } = await startEvents(2);
    first.reset();
    await first.end;
    const returned = attach();
    await returned.untilText(events(key, 1, 2));
    await streaming.write(event(key, 3));
    await returned.untilText(events(key, 1, 3));
    returned.reset();
    await returned.end;
    await streaming.write(event(key, 4));
    await untilTrue(() => scene.storage().hasStored(`${key}/4`), "event 4 is stored");
    const again = attach();
    await again.untilText(events(key, 1, 4));
    await streaming.end();
    expect((await again.end).complete).toBe(true);
    expect(streaming.wasCut()).toBe(false);
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("gets the same bytes as the first client and nine others, each at its own speed", async () => {
    const load = makeLoad(20);
    const { key, first, streaming } = await scene.start(PATH, { digestOnly: true });
    streaming.begin([["Content-Type", "application/octet-stream"]]);
    const write = async (from: number, to: number): Promise<void> => {
      for (const piece of load.pieces.slice(from, to)) await streaming.write(piece);
    };
    await write(0, 2);
    await first.untilSize(2 * MIB);
    const attach = (paused = false): StreamReader => scene.open({ path: PATH, key, paused, digestOnly: true });
    const fast = Array.from({ length: 4 }, () => attach());
    const stopped = Array.from({ length: 3 }, () => attach(true));
    const halting = Array.from({ length: 3 }, () => attach());
    const leaving = attach();
    await Promise.all([...fast, ...stopped, ...halting].map((reader) => reader.head));
    await write(2, 6);
    await Promise.all(halting.map((reader) => reader.untilSize(3 * MIB)));
    for (const reader of halting) reader.pause();
    await leaving.untilSize(MIB);
    leaving.reset();
    await write(6, 20);
    await streaming.end();
    // Fast readers are done before others have begun.
    for (const reader of [first, ...fast]) {
      expect(await reader.end).toMatchObject({ sha256: load.sha256, complete: true });
    }
    for (const reader of stopped) expect(reader.size()).toBeLessThan(MIB);
    for (const reader of halting) {
      reader.resume();
      await reader.untilSize(12 * MIB);
      reader.pause();
    }
    for (const reader of [...halting, ...stopped]) reader.resume();
    for (const reader of [...halting, ...stopped]) {
      expect(await reader.end).toMatchObject({ sha256: load.sha256, complete: true });
    }
    expect(await scene.read({ path: PATH, key, digestOnly: true })).toMatchObject({ sha256: load.sha256 });
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("is not delayed by a first client that reads nothing", async () => {
    const load = makeLoad(16);
    const { key, first, streaming } = await scene.start(PATH, { paused: true, digestOnly: true });
    streaming.begin([]);
    await streaming.write(load.pieces[0] ?? "");
    await first.head;
    const attached = scene.open({ path: PATH, key, digestOnly: true });
    await attached.untilSize(MIB);
    for (const piece of load.pieces.slice(1)) await streaming.write(piece);
    await streaming.end();
    expect(await attached.end).toMatchObject({ sha256: load.sha256, complete: true });
    expect(first.size()).toBeLessThan(MIB);
    first.resume();
    expect(await first.end).toMatchObject({ sha256: load.sha256, complete: true });
  });

  it("waits for the first byte", async () => {
    const { key, first, streaming } = await scene.start(PATH);
    const early = scene.open({ path: PATH, key });
    await roundTrip();
    streaming.begin(EVENTS);
    const later = scene.open({ path: PATH, key });
    await roundTrip();
    await streaming.write(event(key, 1));
    for (const reader of [first, early, later]) await reader.untilText(event(key, 1));
    await streaming.end();
    for (const reader of [first, early, later]) expect((await reader.end).complete).toBe(true);
    for (const reader of [early, later]) expect(isReplay(await reader.head)).toBe(true);
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("waits no longer than the route allows", async () => {
    const { key, first, streaming } = await scene.start("/impatient");
    const before = performance.now();
    const refused = await scene.read({ path: "/impatient", key });
    expect(problemCode(refused)).toBe("in-flight");
    expect(refused.status).toBe(409);
    expect(performance.now() - before).toBeGreaterThanOrEqual(295);
    streaming.begin([]);
    await streaming.write("a");
    await first.untilText("a");
    const attached = scene.open({ path: "/impatient", key });
    await attached.untilText("a");
    await streaming.end();
    expect((await attached.end).complete).toBe(true);
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("gets a small, quick answer as an ordinary replay", async () => {
    const { key, first, streaming } = await scene.start(PATH);
    const waiting = scene.open({ path: PATH, key });
    await roundTrip();
    streaming.begin([["Content-Length", "5"]], 201);
    await streaming.write("quick");
    await streaming.end();
    expect((await first.end).bytes.toString()).toBe("quick");
    for (const reader of [waiting, scene.open({ path: PATH, key })]) {
      const { status, headers } = await reader.head;
      expect({ status, text: (await reader.end).bytes.toString() }).toEqual({ status: 201, text: "quick" });
      expect(headerValue({ headers }, "idempotent-replayed")).toBe("true");
      expect(headerValue({ headers }, "idempotency-expires")).not.toBeNull();
      expect(headerValue({ headers }, "content-length")).toBe("5");
    }
    expect(scene.origin.effects(key)).toBe(1);
  });

  it.each([
    { name: "of known length", headers: [["Content-Length", "10"] as const] },
    { name: "of unknown length", headers: [] },
  ])("shares a refusal $name with all who wait: the origin is not asked again for each", async ({ headers }) => {
    const { key, first, streaming } = await scene.start(PATH);
    const waiting = Array.from({ length: 6 }, () => scene.open({ path: PATH, key }));
    await roundTrip();
    await roundTrip();
    streaming.begin([...headers, ["Retry-After", "7"]], 503);
    await streaming.write("not so now");
    await streaming.end();
    for (const reader of [first, ...waiting]) {
      const head = await reader.head;
      const { bytes, complete } = await reader.end;
      expect({ status: head.status, text: bytes.toString(), complete }).toEqual({
        status: 503,
        text: "not so now",
        complete: true,
      });
      expect(headerValue(head, "retry-after")).toBe("7");
      expect(isReplay(head)).toBe(false);
    }
    expect(scene.origin.effects(key)).toBe(1);
    // It is shared with the waiting duplicates, and not kept.
    const again = scene.open({ path: PATH, key });
    const second = await scene.origin.take(key);
    second.begin([["Content-Length", "4"]]);
    await second.write("done");
    await second.end();
    expect((await again.end).bytes.toString()).toBe("done");
    expect(scene.origin.effects(key)).toBe(2);
  });

  it("gets an answer without a body as an ordinary replay", async () => {
    const { key, first, streaming } = await scene.start(PATH);
    const waiting = scene.open({ path: PATH, key });
    await roundTrip();
    streaming.begin([], 204);
    await streaming.end();
    expect((await first.head).status).toBe(204);
    const head = await waiting.head;
    expect({ status: head.status, replay: isReplay(head) }).toEqual({ status: 204, replay: true });
  });
});

describe("An attached reader never gets", () => {
  it("a clean end of an answer that the origin cuts, whatever its speed", async () => {
    const load = makeLoad(12);
    const { key, first, streaming } = await scene.start(PATH, { digestOnly: true });
    streaming.begin([]);
    for (const piece of load.pieces) await streaming.write(piece);
    await first.untilSize(load.size);
    const fast = Array.from({ length: 3 }, () => scene.open({ path: PATH, key, digestOnly: true }));
    const stopped = scene.open({ path: PATH, key, paused: true, digestOnly: true });
    await Promise.all([...fast.map((reader) => reader.untilSize(load.size)), stopped.head]);
    streaming.cut();
    for (const reader of [first, ...fast])
      expect(await reader.end).toMatchObject({ sha256: load.sha256, complete: false });
    stopped.resume();
    const { complete, size } = await stopped.end;
    expect(complete).toBe(false);
    expect(size).toBeLessThanOrEqual(load.size);
    const later = await scene.read({ path: PATH, key });
    expect(problemCode(later)).toBe("outcome-unknown");
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("another request's answer: a mismatch is refused while the stream runs", async () => {
    const { key, first, streaming } = await startEvents(1);
    const mismatch = await scene.read({ path: PATH, key, body: '{"other":1}' });
    expect({ status: mismatch.status, code: problemCode(mismatch) }).toEqual({ status: 422, code: "key-reused" });
    expect(mismatch.bytes.toString()).not.toContain(event(key, 1));
    await streaming.end();
    expect((await first.end).complete).toBe(true);
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("another scope's answer: it has an effect and a stream of its own", async () => {
    const key = freshKey();
    const open = (who: string): StreamReader => scene.open({ path: PATH, key, headers: [["Authorization", who]] });
    const ann = open("Ann");
    const annStream = await scene.origin.take(key);
    annStream.begin(EVENTS);
    await annStream.write("data: for Ann\n\n");
    await ann.untilText("data: for Ann\n\n");
    const bob = open("Bob");
    const bobStream = await scene.origin.take(key);
    bobStream.begin(EVENTS);
    await bobStream.write("data: for Bob\n\n");
    await bob.untilText("data: for Bob\n\n");
    expect(isReplay(await bob.head)).toBe(false);
    const bobAgain = open("Bob");
    const annAgain = open("Ann");
    await bobAgain.untilText("data: for Bob\n\n");
    await annAgain.untilText("data: for Ann\n\n");
    await Promise.all([annStream.end(), bobStream.end()]);
    expect((await annAgain.end).bytes.toString()).toBe("data: for Ann\n\n");
    expect((await bobAgain.end).bytes.toString()).toBe("data: for Bob\n\n");
    expect(scene.origin.effects(key)).toBe(2);
  });

  it("an answer that is too large to keep, unless it attached before that was known", async () => {
    const load = makeLoad(20);
    const { key, first, streaming } = await scene.start("/small", { digestOnly: true });
    const attach = (paused: boolean): StreamReader => scene.open({ path: "/small", key, paused, digestOnly: true });
    streaming.begin([], 201);
    await streaming.write(load.pieces[0] ?? "");
    await first.untilSize(MIB);
    const before = [attach(false), attach(true)];
    await Promise.all(before.map((reader) => reader.head));
    for (const piece of load.pieces.slice(1, 4)) await streaming.write(piece);
    await first.untilSize(4 * MIB);
    const after = async (): Promise<void> => {
      const refused = await scene.read({ path: "/small", key });
      expect(problemCode(refused)).toBe("response-not-kept");
      expect(refused.bytes.toString()).toContain('"originalStatus":201');
    };
    await after();
    for (const reader of before) reader.resume();
    for (const piece of load.pieces.slice(4)) await streaming.write(piece);
    await streaming.end();
    for (const reader of [first, ...before]) {
      expect(await reader.end).toMatchObject({ sha256: load.sha256, complete: true });
    }
    await after();
    expect(scene.origin.effects(key)).toBe(1);
  });
});

describe("Last-Event-ID", () => {
  const last = (id: string): readonly HeaderPair[] => [["Last-Event-ID", id]];

  it("continues after that event, live and in the replay", async () => {
    const { key, first, streaming, attach } = await startEvents(3);
    const returned = attach(last("2"));
    await returned.untilText(event(key, 3));
    const upToDate = attach(last("3"));
    await roundTrip();
    await streaming.write(event(key, 4));
    await returned.untilText(events(key, 3, 4));
    await upToDate.untilText(event(key, 4));
    await streaming.end();
    for (const reader of [first, returned, upToDate]) expect((await reader.end).complete).toBe(true);
    expect(isReplay(await returned.head)).toBe(true);

    for (const [id, rest] of [
      ["1", events(key, 2, 4)],
      ["3", event(key, 4)],
      ["4", ""],
    ] as const) {
      const replay = await scene.read({ path: PATH, key, headers: last(id) });
      expect({ text: replay.bytes.toString(), complete: replay.complete }).toEqual({ text: rest, complete: true });
      expect(headerValue(replay, "content-length")).toBe(String(rest.length));
      expect(isReplay(replay)).toBe(true);
    }
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("begins at the first byte if no event has that id yet", async () => {
    const { key, streaming, attach } = await startEvents(2);
    const readers = ["7", "3", "", " "].map((id) => attach(last(id)));
    for (const reader of readers) await reader.untilText(events(key, 1, 2));
    await streaming.write(event(key, 3));
    for (const reader of readers) await reader.untilText(events(key, 1, 3));
    await streaming.end();
    for (const reader of readers) expect((await reader.end).complete).toBe(true);
    const replay = await scene.read({ path: PATH, key, headers: last("7") });
    expect(replay.bytes.toString()).toBe(events(key, 1, 3));
  });

  it("continues after an event beyond the first mebibyte, and across rows", async () => {
    const long = `data: ${"x".repeat(MIB - 40)}\n\n`;
    const { key, first, streaming } = await scene.start(PATH, { digestOnly: true });
    const stream = Array.from({ length: 4 }, (_, id) => `id: ${id}\n${long}`);
    streaming.begin(EVENTS);
    for (const piece of stream) await streaming.write(piece);
    await first.untilSize(stream.slice(0, 3).join("").length);
    const returned = scene.open({ path: PATH, key, headers: last("1") });
    await streaming.end();
    expect((await returned.end).bytes.toString() === stream.slice(2).join("")).toBe(true);
    for (const id of [0, 1, 2, 3]) {
      const replay = await scene.read({ path: PATH, key, headers: last(String(id)) });
      expect(replay.bytes.toString() === stream.slice(id + 1).join("")).toBe(true);
      expect(replay.complete).toBe(true);
    }
  });

  it("continues after that event in a short answer that is kept in its record", async () => {
    const { key, first, streaming } = await scene.start(PATH);
    const text = "id: grün\ndata: a\n\nid: 2\ndata: b\n\n";
    const chunks = scene.storage().chunks();
    streaming.begin([
      ["content-type", "Text/Event-Stream; charset=utf-8"],
      ["Content-Length", String(Buffer.byteLength(text))],
    ]);
    await streaming.write(text);
    await streaming.end();
    await first.end;
    expect(scene.storage().chunks()).toBe(chunks);
    const read = async (id: string) => (await scene.read({ path: PATH, key, headers: last(id) })).bytes.toString();
    // Browsers send the id as UTF-8; each byte is one character here.
    expect(await read(Buffer.from("grün").toString("latin1"))).toBe("id: 2\ndata: b\n\n");
    expect(await read("2")).toBe("");
    expect(await read("3")).toBe(text);
  });

  it.each([
    { name: "text of another type", headers: [["Content-Type", "text/plain"]] },
    { name: "no type", headers: [] },
    { name: "a type that only begins alike", headers: [["Content-Type", "text/event-stream-x"]] },
    {
      name: "events under a content coding",
      headers: [
        ["Content-Type", "text/event-stream"],
        ["Content-Encoding", "x-none"],
      ],
    },
  ] satisfies { name: string; headers: HeaderPair[] }[])("has no effect on $name", async ({ headers }) => {
    const { key, streaming, attach } = await startEvents(3, headers);
    const returned = attach(last("2"));
    await returned.untilText(events(key, 1, 3));
    await streaming.end();
    expect((await returned.end).complete).toBe(true);
    const replay = await scene.read({ path: PATH, key, headers: last("2") });
    expect(replay.bytes.toString()).toBe(events(key, 1, 3));
  });

  it("has no effect on the first answer", async () => {
    const { key, first, streaming } = await scene.start(PATH, { headers: last("1") });
    streaming.begin(EVENTS);
    await streaming.write(events(key, 1, 2));
    await first.untilText(events(key, 1, 2));
    await streaming.end();
    expect((await first.end).complete).toBe(true);
  });
});
