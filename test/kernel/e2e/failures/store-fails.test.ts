// A store that refuses single statements, like a full disk: an unwritten result is never sent as if it were durable, a partial
// body is never kept as whole, and no refused statement causes a second effect. problems-of-the-gateway.test.ts covers
// failing commits and locked files.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import { openStoreFaults, type StoreFaults } from "../../../support/e2e/store-faults.ts";
import { until } from "../../../support/e2e/scene.ts";
import type { StreamEnd, StreamHead } from "../../../support/e2e/stream-client.ts";
import {
  isReplay,
  problemCode,
  startStreamScene,
  type StreamScene,
  untilTrue,
} from "../../../support/e2e/stream-scene.ts";

const TIMES = { timeout: "2s", idle_timeout: "20s", lock: "3s" };

let scene: StreamScene;
let store: StoreFaults;
beforeAll(async () => {
  scene = await startStreamScene([
    { path: "/retry", unknown: "retry", ...TIMES },
    { path: "/hold", unknown: "hold", ...TIMES },
  ]);
  // The database does not exist before the first record.
  await succeed("/retry", freshKey());
  store = openStoreFaults(scene.gateway);
});
afterAll(async () => {
  store.close();
  await scene.close();
});

type Answer = StreamHead & StreamEnd;

/** One whole exchange, in which the origin answers at once. */
async function succeed(path: string, key: string, text = "done"): Promise<Answer> {
  const reader = scene.open({ path, key });
  const streaming = await scene.origin.take(key);
  streaming.begin([["Content-Length", String(text.length)]], 201);
  await streaming.write(text);
  await streaming.end();
  return { ...(await reader.head), ...(await reader.end) };
}

/** What a retry gets when the lock of a lost attempt has ended; the origin must not be asked. */
function untilUnlocked(path: string, key: string): Promise<Answer> {
  return until(async () => {
    const answer = await scene.read({ path, key });
    return problemCode(answer) === "in-flight" ? null : answer;
  }, "the lock ends");
}

async function expectNotKept(path: string, key: string, status: number): Promise<void> {
  const answer = await scene.read({ path, key });
  expect({ code: problemCode(answer), status: answer.status }).toEqual({ code: "response-not-kept", status: 409 });
  expect(answer.bytes.toString()).toContain(`"originalStatus":${status}`);
  expect(scene.origin.effects(key)).toBe(1);
}

describe("A claim that cannot be written", () => {
  it.each(["/retry", "/hold"])("sends nothing, and the key stays free: %s", async (path) => {
    const key = freshKey();
    store.refuse("claims");
    try {
      const answer = await scene.read({ path, key });
      expect({ code: problemCode(answer), status: answer.status }).toEqual({ code: "store-unavailable", status: 503 });
      expect(headerValue(answer, "retry-after")).toMatch(/^[1-9]/);
      expect(headerValue(answer, "idempotency-key")).toBe(key);
      expect(store.refused()).toBeGreaterThan(0);
    } finally {
      store.heal();
    }
    expect(scene.origin.effects(key)).toBe(0);
    expect(await succeed(path, key)).toMatchObject({ status: 201, complete: true });
    expect(isReplay(await scene.read({ path, key }))).toBe(true);
    expect(scene.origin.effects(key)).toBe(1);
  });
});

describe("An end that cannot be written", () => {
  /** The origin answers, whole and at once, while no record can be changed. */
  async function lose(path: string, key: string): Promise<void> {
    const reader = scene.open({ path, key });
    const streaming = await scene.origin.take(key);
    store.refuse("changes");
    try {
      streaming.begin([["Content-Length", "6"]], 201);
      await streaming.write("secret");
      await streaming.end();
      const { status, headers } = await reader.head;
      const end = await reader.end;
      expect({ code: problemCode({ status, headers, ...end }), status }).toEqual({
        code: "store-unavailable",
        status: 503,
      });
      expect(end.bytes.toString()).not.toContain("secret");
      expect(store.refused()).toBeGreaterThan(0);
    } finally {
      store.heal();
    }
  }

  it("is an error for the client; after the lock a retry runs the operation again", async () => {
    const key = freshKey();
    await lose("/retry", key);
    expect(problemCode(await scene.read({ path: "/retry", key }))).toBe("in-flight");
    const retry = until(async () => {
      const answer = await scene.read({ path: "/retry", key });
      return problemCode(answer) === "in-flight" ? null : answer;
    }, "the lock ends");
    const second = await scene.origin.take(key);
    second.begin([["Content-Length", "5"]]);
    await second.write("again");
    await second.end();
    const answer = await retry;
    expect({ text: answer.bytes.toString(), replay: isReplay(answer) }).toEqual({ text: "again", replay: false });
    const replay = await scene.read({ path: "/retry", key });
    expect({ text: replay.bytes.toString(), replay: isReplay(replay) }).toEqual({ text: "again", replay: true });
    expect(scene.origin.effects(key)).toBe(2);
  });

  it("is an error for the client; after the lock the outcome is unknown on a route with hold", async () => {
    const key = freshKey();
    await lose("/hold", key);
    expect(problemCode(await scene.read({ path: "/hold", key }))).toBe("in-flight");
    expect(problemCode(await untilUnlocked("/hold", key))).toBe("outcome-unknown");
    expect(scene.origin.effects(key)).toBe(1);
  });

  it("breaks off a stream that has begun, and nothing of it is ever replayed", async () => {
    const { key, first, streaming } = await scene.start("/hold");
    streaming.begin([]);
    await streaming.write("told");
    await first.untilText("told");
    store.refuse("changes");
    try {
      await streaming.end();
      expect(await first.end).toMatchObject({ bytes: Buffer.from("told"), complete: false });
    } finally {
      store.heal();
    }
    expect(problemCode(await untilUnlocked("/hold", key))).toBe("outcome-unknown");
    expect(scene.origin.effects(key)).toBe(1);
  });
});

describe("A response that cannot be stored although its record can", () => {
  it("reaches the first client whole, and all others get response-not-kept", async () => {
    const key = freshKey();
    store.refuse("responses");
    try {
      const first = await succeed("/retry", key);
      expect(first).toMatchObject({ status: 201, complete: true, bytes: Buffer.from("done") });
      expect(headerValue(first, "idempotency-expires")).toBeNull();
    } finally {
      store.heal();
    }
    await expectNotKept("/retry", key, 201);
  });

  it("breaks off a stream, and retries get response-not-kept", async () => {
    const { key, first, streaming } = await scene.start("/retry");
    streaming.begin([], 202);
    await streaming.write("told");
    await first.untilText("told");
    store.refuse("responses");
    try {
      await streaming.end();
      expect(await first.end).toMatchObject({ bytes: Buffer.from("told"), complete: false });
    } finally {
      store.heal();
    }
    await expectNotKept("/retry", key, 202);
  });
});

describe("A piece of a body that cannot be stored", () => {
  it.each([
    { name: "is all there was", rest: "", headers: [] },
    { name: "is one half", rest: " + SECOND", headers: [] },
    { name: "is one half of a known length", rest: " + SECOND", headers: [["Content-Length", "14"] as const] },
  ])("is never left out of what is kept, where it $name", async ({ rest, headers }) => {
    const { key, first, streaming } = await scene.start("/retry");
    store.refuse("chunks");
    try {
      streaming.begin(headers, 203);
      await streaming.write("FIRST");
      // The bytes have left the buffer and are stored nowhere.
      await untilTrue(() => store.refused() > 0, "a chunk is refused");
    } finally {
      store.heal();
    }
    // The gateway may have broken off the call.
    if (rest !== "") await streaming.write(rest).catch(() => undefined);
    await streaming.end().catch(() => undefined);
    const answer = { ...(await first.head), ...(await first.end) };
    // The client can see that this is not what the origin has sent.
    expect(answer.complete ? problemCode(answer) : "broken").toMatch(/^(broken|response-not-kept)$/);
    await expectNotKept("/retry", key, 203);
  });

  it("in the middle of a stream breaks it off, and the bytes sent so far never count as the whole", async () => {
    const { key, first, streaming } = await scene.start("/retry");
    streaming.begin([], 203);
    await streaming.write("one;");
    await first.untilText("one;");
    store.refuse("chunks");
    try {
      await streaming.write("two;");
      await untilTrue(() => store.refused() > 0, "a chunk is refused");
    } finally {
      store.heal();
    }
    await streaming.write("three;").catch(() => undefined);
    await streaming.end().catch(() => undefined);
    expect(await first.end).toMatchObject({ bytes: Buffer.from("one;"), complete: false });
    await expectNotKept("/retry", key, 203);
  });
});
