// An unknown outcome does not expire with the retention: while nobody knows the outcome of an operation, the passing of time starts no other.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshKey, headerValue } from "../../../support/http.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";
import { expectHeld, loseAnswerForGood } from "../../../support/e2e/verify-scene.ts";

const RETENTION = "3s";

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ shards: 1, timeout: "2s", lock: "2500ms", retention: RETENTION }, [
    { path: "/default" },
    { path: "/bounded", unknown_retention: RETENTION },
  ]);
});
afterAll(() => scene.close());

/** Waits until the key is used as if it were new, and returns how often the operation has taken effect. */
async function untilForgotten(path: string, key: string): Promise<number> {
  await until(async () => {
    const { status, headers } = await scene.send({ path, key });
    return status === 201 && headerValue({ headers }, "idempotent-replayed") === null ? true : null;
  }, `${key} is forgotten`);
  return scene.origin.effects(key);
}

describe("an operation whose answer was lost, on a route that says nothing of `unknown`", () => {
  it("is not repeated, even after the retention", async () => {
    const lost = { path: "/default", key: freshKey() };
    await loseAnswerForGood(scene, lost);
    // A key that is used later and has its answer: when it is forgotten, the retention of the other has passed too.
    const done = freshKey();
    await scene.send({ path: lost.path, key: done });
    expect(await untilForgotten(lost.path, done)).toBe(2);
    expectHeld(await scene.send(lost), lost.key);
    expect(await scene.origin.effects(lost.key)).toBe(1);
  });

  it("may run again after unknown_retention, the bound", async () => {
    const lost = { path: "/bounded", key: freshKey() };
    await loseAnswerForGood(scene, lost);
    expectHeld(await scene.send(lost), lost.key);
    await scene.origin.behave({ key: lost.key }, { status: 201 });
    expect(await untilForgotten(lost.path, lost.key)).toBe(2);
  });
});
