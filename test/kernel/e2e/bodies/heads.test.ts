// The head of a stream is sent before its body: a client has status and headers before any byte of the body exists. Whatever
// then comes of the body (all, nothing or a part) is sent and kept exactly.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HeaderPair, headerValue } from "../../../support/http.ts";
import { until } from "../../../support/e2e/scene.ts";
import type { StreamEnd, StreamHead } from "../../../support/e2e/stream-client.ts";
import {
  event,
  EVENTS,
  isReplay,
  problemCode,
  startStreamScene,
  type Started,
  type StreamScene,
} from "../../../support/e2e/stream-scene.ts";

const TIMES = { timeout: "2s", idle_timeout: "20s", lock: "3s" };

let scene: StreamScene;
beforeAll(async () => {
  scene = await startStreamScene([
    { path: "/retry", unknown: "retry", ...TIMES },
    { path: "/hold", unknown: "hold", ...TIMES },
    { path: "/attach", duplicate: "attach", wait: "2s", ...TIMES },
  ]);
});
afterAll(() => scene.close());

const CUT = ["cut", "reset"] as const;

const KINDS: readonly { readonly name: string; readonly headers: readonly HeaderPair[] }[] = [
  { name: "an event stream", headers: EVENTS },
  { name: "chunks of no type", headers: [["X-Model", "a, b"]] },
  { name: "a body of known length", headers: [["Content-Length", "14"]] },
];

/** An origin that has sent its head, and a client that has seen it. No byte of the body exists before the test writes it. */
async function startHead(path: string, headers: readonly HeaderPair[], status = 201): Promise<Started> {
  const started = await scene.start(path);
  started.streaming.begin(headers, status);
  let reported: StreamHead | null = null;
  void started.first.head.then((head) => (reported = head));
  const head = await until<StreamHead>(() => Promise.resolve(reported), "the head");
  expect({ status: head.status, replay: isReplay(head) }).toEqual({ status, replay: false });
  expect(headerValue(head, "idempotency-key")).toBe(started.key);
  for (const name of ["content-type", "x-model", "content-length"]) {
    expect(headerValue(head, name)).toBe(headerValue({ headers }, name));
  }
  expect(started.first.size()).toBe(0);
  return started;
}

async function expectReplay(path: string, key: string, first: StreamHead & StreamEnd): Promise<void> {
  const replay = await scene.read({ path, key });
  expect(isReplay(replay)).toBe(true);
  expect([replay.status, replay.complete, replay.bytes.toString()]).toEqual([
    first.status,
    true,
    first.bytes.toString(),
  ]);
  expect(headerValue(replay, "content-length")).toBe(String(first.size));
  expect(headerValue(replay, "x-model")).toBe(headerValue(first, "x-model"));
  expect(headerValue(replay, "content-type")).toBe(headerValue(first, "content-type"));
}

describe("The head of a stream", () => {
  it.each(KINDS)(
    "reaches the client before the first byte, then the body, then a replay: $name",
    async ({ headers }) => {
      const { key, first, streaming } = await startHead("/retry", headers);
      await streaming.write("first, ");
      await first.untilText("first, ");
      await streaming.write("second!");
      await streaming.end();
      expect(await first.end).toMatchObject({ bytes: Buffer.from("first, second!"), complete: true });
      await expectReplay("/retry", key, { ...(await first.head), ...(await first.end) });
      expect(scene.origin.effects(key)).toBe(1);
    },
  );

  it("reaches a client that attaches before the first byte, followed by the events", async () => {
    const { key, first, streaming } = await startHead("/attach", EVENTS);
    const attached = scene.open({ path: "/attach", key });
    const head = await attached.head;
    expect([head.status, isReplay(head), attached.size()]).toEqual([201, true, 0]);
    await streaming.write(event(key, 1));
    for (const reader of [first, attached]) await reader.untilText(event(key, 1));
    await streaming.end();
    for (const reader of [first, attached]) expect((await reader.end).complete).toBe(true);
    expect(scene.origin.effects(key)).toBe(1);
  });

  const breaks = KINDS.flatMap(({ name, headers }) => CUT.map((how) => ({ name, headers, how })));

  it.concurrent.each(breaks)(
    "is not the end of $name when the origin's connection is $how before a byte; retry: runs again",
    async (row) => {
      const { key, first, streaming } = await startHead("/retry", row.headers);
      streaming[row.how]();
      expect(await first.end).toMatchObject({ size: 0, complete: false });
      expect(problemCode(await scene.read({ path: "/retry", key }))).toBe("in-flight");
      const retry = untilUnlocked("/retry", key);
      const second = await scene.origin.take(key);
      second.begin([["Content-Length", "6"]]);
      await second.write("second");
      await second.end();
      expect((await retry).bytes.toString()).toBe("second");
      expect((await scene.read({ path: "/retry", key })).bytes.toString()).toBe("second");
      expect(scene.origin.effects(key)).toBe(2);
    },
  );

  it.each(breaks)(
    "is not the end of $name when the origin's connection is $how before a byte; hold: unknown",
    async (row) => {
      const { key, first, streaming } = await startHead("/hold", row.headers);
      streaming[row.how]();
      expect(await first.end).toMatchObject({ size: 0, complete: false });
      expect(problemCode(await scene.read({ path: "/hold", key }))).toBe("outcome-unknown");
      expect(scene.origin.effects(key)).toBe(1);
    },
  );

  it("is followed by a clean end if the body is empty, also in the replay", async () => {
    const { key, first, streaming } = await startHead("/retry", EVENTS);
    await streaming.end();
    expect(await first.end).toMatchObject({ size: 0, complete: true });
    await expectReplay("/retry", key, { ...(await first.head), ...(await first.end) });
    expect(scene.origin.effects(key)).toBe(1);
  });

  it.each<{ name: string; status: number; headers: readonly HeaderPair[] }>([
    { name: "of length 0", status: 202, headers: [["Content-Length", "0"]] },
    { name: "that ends at once", status: 202, headers: [] },
    { name: "of a status without one", status: 204, headers: [] },
  ])("is all there is of a body $name: stored and replayed as empty", async ({ status, headers }) => {
    const { key, first, streaming } = await scene.start("/hold");
    streaming.begin([...headers, ["X-Model", "none"]], status);
    await streaming.end();
    const answer = { ...(await first.head), ...(await first.end) };
    expect([answer.status, answer.size, answer.complete]).toEqual([status, 0, true]);
    expect(headerValue(answer, "x-model")).toBe("none");
    const replay = await scene.read({ path: "/hold", key });
    expect([replay.status, replay.size, replay.complete, isReplay(replay)]).toEqual([status, 0, true, true]);
    expect(headerValue(replay, "content-length")).toBe(status === 204 ? null : "0");
    expect(headerValue(replay, "x-model")).toBe("none");
    expect(scene.origin.effects(key)).toBe(1);
  });
});

function untilUnlocked(path: string, key: string): Promise<StreamHead & StreamEnd> {
  return until(async () => {
    const answer = await scene.read({ path, key });
    return problemCode(answer) === "in-flight" ? null : answer;
  }, "the lock ends");
}
