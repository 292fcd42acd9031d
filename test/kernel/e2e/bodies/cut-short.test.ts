// An origin that breaks off inside a body: a client in the middle of it sees a broken transfer, a client without any byte gets
// `origin-dropped`, and no client ever gets a partial body as complete. The stored part is erased.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import type { Behaviour } from "../../../support/origin.ts";
import { digestOfGenerated, openTransfer, type Received, transfer } from "../../../support/e2e/bytes-client.ts";
import { type BodiesDatabase, openBodies } from "../../../support/e2e/bytes-database.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
/** Pieces of a generated body. */
const PIECE = 64 * KIB;

let scene: Scene;
let bodies: BodiesDatabase;
beforeAll(async () => {
  // A retry waits for the lock after an ambiguous end.
  scene = await startScene({ shards: 1, timeout: "2s", lock: "2500ms", max_response_body: "50MB" }, [
    { path: "/retry", unknown: "retry" },
    { path: "/hold", unknown: "hold" },
    { path: "/small/retry", unknown: "retry", max_response_body: MIB },
    { path: "/small/hold", unknown: "hold", max_response_body: MIB },
  ]);
  await transfer(scene.gateway.url, { path: "/retry", key: freshKey() });
  bodies = openBodies(scene.gateway);
});
afterAll(async () => {
  bodies.close();
  await scene.close();
});

function code({ text }: Received): string | null {
  return /"code":"([^"]+)"/.exec(text)?.[1] ?? null;
}

function nullIfReset(error: NodeJS.ErrnoException): null {
  if (error.code === "ECONNRESET") return null;
  throw error;
}

/** Nothing is stored but what completed records keep and attempts still write. */
const untilErased = (): Promise<true> =>
  until(async () => (bodies.orphans() === 0 && bodies.discarded() === 0 ? true : null), "the lost body is erased");

/** The key after a cut: a second attempt gets the whole body, or the outcome stays unknown. A partial body is never replayed. */
async function expectAftermath(
  route: "/retry" | "/hold",
  key: string,
  whole: { bytes: number; seed: string },
): Promise<void> {
  const answers: Received[] = [];
  const last = await until(async () => {
    const answer = await transfer(scene.gateway.url, { path: route, key });
    answers.push(answer);
    return code(answer) === "in-flight" ? null : answer;
  }, "the lock ends");
  if (route === "/hold") {
    expect(code(last)).toBe("outcome-unknown");
    expect(code(await transfer(scene.gateway.url, { path: route, key }))).toBe("outcome-unknown");
    expect(await scene.origin.effects(key)).toBe(1);
    await untilErased();
    return;
  }
  const complete = { status: 200, bytes: whole.bytes, sha256: digestOfGenerated(whole), complete: true };
  expect(last).toMatchObject(complete);
  expect(headerValue(last, "idempotent-replayed")).toBeNull();
  const replay = await transfer(scene.gateway.url, { path: route, key });
  expect(replay).toMatchObject(complete);
  expect(headerValue(replay, "idempotent-replayed")).toBe("true");
  expect((await scene.origin.requests(key)).map(({ attempt }) => attempt)).toEqual(["1", "2"]);
  await untilErased();
}

/** The length that the origin declares, and after how many bytes it breaks off. */
const CUTS = [
  { bytes: KIB, sentBytes: 0 },
  { bytes: KIB, sentBytes: KIB - 1 },
  { bytes: MIB, sentBytes: MIB - 1 },
  { bytes: 3 * MIB, sentBytes: 0 },
  { bytes: 3 * MIB, sentBytes: PIECE },
  { bytes: 3 * MIB, sentBytes: MIB },
  { bytes: 20 * MIB, sentBytes: 20 * MIB - 1 },
];

interface Variant {
  readonly chunked: boolean;
  readonly route: "/retry" | "/hold";
}

/** Each cut on both routes, once with a length and once in chunks, and the other way round for the next one. */
function inBothVariants<T extends object>(cuts: readonly T[]): readonly (T & Variant)[] {
  return cuts.flatMap((cut, index) =>
    (["/retry", "/hold"] as const).map((route, at) => Object.assign({ chunked: (index + at) % 2 === 1, route }, cut)),
  );
}

describe("an origin that breaks off inside its body", () => {
  it.concurrent.each(inBothVariants(CUTS))(
    "$sentBytes of $bytes bytes, chunked: $chunked, $route",
    async ({ bytes, sentBytes, chunked, route }) => {
      const key = freshKey();
      const cut: Behaviour = { chunked, drop: "mid-body", generated: { seed: "cut", bytes, sentBytes } };
      const whole: Behaviour = { chunked, generated: { seed: "whole", bytes } };
      await scene.origin.behave({ key }, { sequence: [cut, whole] });
      const first = await transfer(scene.gateway.url, { path: route, key }).catch(nullIfReset);
      // The connection may break before the head of an answer whose body breaks off has left.
      if (first === null) await scene.origin.arrived(key);
      else if (first.status === 200) expect(first.complete).toBe(false);
      else {
        expect(first).toMatchObject({ status: 502, complete: true });
        expect(code(first)).toBe("origin-dropped");
      }
      await expectAftermath(route, key, { seed: "whole", bytes });
    },
  );
});

describe("an origin that breaks off after its client has begun to read", () => {
  const cuts = [
    { bytes: 3 * MIB, seen: PIECE, sentBytes: 2 * PIECE },
    { bytes: 3 * MIB, seen: 2 * MIB, sentBytes: 2 * MIB + PIECE },
    { bytes: 8 * MIB, seen: 5 * MIB, sentBytes: 8 * MIB - 1 },
  ];

  it.concurrent.each(inBothVariants(cuts))(
    "$seen seen, $sentBytes of $bytes sent, chunked: $chunked, $route",
    async ({ bytes, seen, sentBytes, chunked, route }) => {
      const key = freshKey();
      const cut: Behaviour = {
        chunked,
        drop: "mid-body",
        holdBody: seen / PIECE,
        generated: { seed: "cut", bytes, sentBytes },
      };
      await scene.origin.behave({ key }, { sequence: [cut, { chunked, generated: { seed: "whole", bytes } }] });
      const first = openTransfer(scene.gateway.url, { path: route, key });
      await first.received(seen);
      expect((await first.head).status).toBe(200);
      await scene.origin.release(key);
      const received = await first.response;
      expect(received.complete).toBe(false);
      expect(received.bytes).toBeGreaterThanOrEqual(seen);
      expect(received.bytes).toBeLessThanOrEqual(sentBytes);
      await expectAftermath(route, key, { seed: "whole", bytes });
    },
  );

  it.each(["/retry", "/hold"] as const)(
    "leaves %s without a clean end also when the body is an event stream until the end of the connection",
    async (route) => {
      const key = freshKey();
      const cut: Behaviour = {
        headers: [["Content-Type", "text/event-stream"]],
        chunks: ["id: 1\ndata: one\n\n", "id: 2\ndata: two\n\n"],
        holdBody: 1,
        drop: "mid-body",
      };
      await scene.origin.behave({ key }, { sequence: [cut, { generated: { seed: "whole", bytes: KIB } }] });
      const first = openTransfer(scene.gateway.url, { path: route, key });
      await first.received(1);
      await scene.origin.release(key);
      expect(await first.response).toMatchObject({ status: 200, complete: false });
      await expectAftermath(route, key, { seed: "whole", bytes: KIB });
    },
  );

  // A body too large to keep was settled earlier: there was an effect, and the cut does not reopen the outcome.
  it.each(["/small/retry", "/small/hold"])("on %s beyond max_response_body stays completed", async (path) => {
    const key = freshKey();
    const cut: Behaviour = {
      chunked: true,
      drop: "mid-body",
      holdBody: 48,
      generated: { seed: "cut", bytes: 8 * MIB, sentBytes: 5 * MIB },
    };
    await scene.origin.behave({ key }, cut);
    const first = openTransfer(scene.gateway.url, { path, key });
    await first.received(2 * MIB);
    await scene.origin.release(key);
    expect(await first.response).toMatchObject({ status: 200, complete: false });
    const again = await transfer(scene.gateway.url, { path, key });
    expect({ status: again.status, code: code(again) }).toEqual({ status: 409, code: "response-not-kept" });
    expect(await scene.origin.effects(key)).toBe(1);
    expect(bodies.orphans()).toBe(0);
  });
});
