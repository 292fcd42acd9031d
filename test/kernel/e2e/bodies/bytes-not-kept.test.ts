// Answers above `max_response_body`: the first client gets every byte, duplicates get response-not-kept during and after it,
// there is one effect, and nothing of the body is left. Kept bodies are stored in rows of at most a mebibyte.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import type { Behaviour } from "../../../support/origin.ts";
import { digestOfGenerated, openTransfer, type Received, transfer } from "../../../support/e2e/bytes-client.ts";
import { type BodiesDatabase, openBodies } from "../../../support/e2e/bytes-database.ts";
import { expectProblem } from "../../../support/e2e/problem.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const PIECE = 64 * KIB;

let scene: Scene;
let bodies: BodiesDatabase;
beforeAll(async () => {
  scene = await startScene({ shards: 1, timeout: "2s", lock: "3s", wait: "2s" }, [
    { path: "/kib", max_response_body: KIB },
    { path: "/mib", max_response_body: 1.5 * MIB },
    { path: "/waits", max_response_body: 1.5 * MIB, duplicate: "wait" },
    { path: "/attaches", max_response_body: 1.5 * MIB, duplicate: "attach" },
    { path: "/kept", max_response_body: 30 * MIB },
  ]);
  // The database does not exist before the first record.
  await transfer(scene.gateway.url, { path: "/kept", key: freshKey() });
  bodies = openBodies(scene.gateway);
});
afterAll(async () => {
  bodies.close();
  await scene.close();
});

/** Nothing is stored but what completed records keep. */
const untilErased = (): Promise<true> =>
  until(async () => (bodies.orphans() === 0 && bodies.discarded() === 0 ? true : null), "what is not kept is erased");

async function expectNotKept(path: string, key: string, originalStatus: number): Promise<void> {
  const answer = await scene.send({ path, key });
  const problem = expectProblem(answer, { code: "response-not-kept", status: 409, retryable: false, echo: key });
  expect(problem["originalStatus"]).toBe(originalStatus);
}

const SIZES = [
  { path: "/kib", bytes: KIB + 1 },
  { path: "/kib", bytes: MIB },
  { path: "/kib", bytes: 3 * MIB },
  { path: "/mib", bytes: 1.5 * MIB + 1 },
  { path: "/mib", bytes: 2 * MIB },
  { path: "/mib", bytes: 25 * MIB },
];

describe("a body beyond max_response_body", () => {
  const rows = SIZES.flatMap(({ path, bytes }) => [false, true].map((chunked) => ({ path, bytes, chunked })));
  it.each(rows)(
    "$path, $bytes bytes, chunked: $chunked, reaches the first client whole",
    async ({ path, bytes, chunked }) => {
      const key = freshKey();
      const generated = { seed: "large", bytes };
      await scene.origin.behave({ key }, { status: 202, chunked, generated });
      const first = await transfer(scene.gateway.url, { path, key });
      expect(first).toMatchObject({ status: 202, bytes, sha256: digestOfGenerated(generated), complete: true });
      expect(headerValue(first, "idempotency-expires")).toBeNull();
      for (let ask = 0; ask < 2; ask += 1) await expectNotKept(path, key, 202);
      expect(await scene.origin.effects(key)).toBe(1);
      await untilErased();
    },
  );

  it.each([
    { path: "/kib", bytes: KIB },
    { path: "/mib", bytes: 1.5 * MIB },
  ])("begins there: $path keeps $bytes bytes", async ({ path, bytes }) => {
    for (const chunked of [false, true]) {
      const key = freshKey();
      const generated = { seed: "just", bytes };
      await scene.origin.behave({ key }, { chunked, generated });
      await transfer(scene.gateway.url, { path, key });
      const replay = await transfer(scene.gateway.url, { path, key });
      expect(replay).toMatchObject({ status: 200, bytes, sha256: digestOfGenerated(generated), complete: true });
      expect(headerValue(replay, "idempotent-replayed")).toBe("true");
    }
  });

  it.each(["/mib", "/waits", "/attaches"])(
    "%s refuses duplicates while the body still arrives, and makes no second call",
    async (path) => {
      const key = freshKey();
      const generated = { seed: "flows", bytes: 12 * MIB };
      await scene.origin.behave({ key }, { chunked: true, holdBody: (6 * MIB) / PIECE, generated });
      const first = openTransfer(scene.gateway.url, { path, key });
      await first.received(6 * MIB);
      await Promise.all(Array.from({ length: 4 }, () => expectNotKept(path, key, 200)));
      // Rows that the client has read are erased at once: of 6 MiB, at most the last row is left.
      await until(async () => (bodies.notKept() <= 1 ? true : null), "what has been read is gone");
      await scene.origin.release(key);
      const whole = { status: 200, bytes: 12 * MIB, sha256: digestOfGenerated(generated), complete: true };
      expect(await first.response).toMatchObject(whole);
      await expectNotKept(path, key, 200);
      expect(await scene.origin.effects(key)).toBe(1);
      await untilErased();
    },
  );

  it("is read to its end even when its client leaves, and leaves nothing behind", async () => {
    const key = freshKey();
    const behaviour: Behaviour = {
      chunked: true,
      holdBody: (4 * MIB) / PIECE,
      generated: { seed: "left", bytes: 30 * MIB },
    };
    await scene.origin.behave({ key }, behaviour);
    const first = openTransfer(scene.gateway.url, { path: "/mib", key });
    await first.received(4 * MIB);
    first.reset();
    await scene.origin.release(key);
    await until(
      async () => ((await scene.origin.requests(key)).some(({ answeredAtMs }) => answeredAtMs !== null) ? true : null),
      "the origin has told all",
    );
    await expectNotKept("/mib", key, 200);
    expect(await scene.origin.effects(key)).toBe(1);
    await untilErased();
  });
});

describe("rows", () => {
  it("hold at most a mebibyte each, also for uploads and for bodies of exactly that size", async () => {
    const answers: Received[] = [];
    for (const bytes of [MIB - 1, MIB, MIB + 1, 5 * MIB]) {
      for (const chunked of [false, true]) {
        const key = freshKey();
        await scene.origin.behave({ key }, { chunked, generated: { seed: "rows", bytes } });
        const upload = { seed: "rows up", bytes, chunked };
        answers.push(await transfer(scene.gateway.url, { path: "/kept", key, upload }));
        expect(bodies.largestRow()).toBeLessThanOrEqual(MIB);
      }
    }
    expect(answers.every(({ complete }) => complete)).toBe(true);
    await untilErased();
  });
});
