// After a roll-back of the code to before `sealed`, on state with sealed records: their retries get a problem, never encrypted bytes
// and never a second effect. After the next roll-forward they are replayed.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entryAt, hasCommit } from "../../layouts/sources.ts";
import { freshKey, headerValue } from "../../support/http.ts";
import { gatewayMain } from "../../support/wrangler.ts";
import { freshSecret, type SealedScene, startSealedScene } from "../support/sealed-scene.ts";

/** The code from before `sealed`, with today's tables. It can run only where the clone has the history. */
const BEFORE = "5b875a2";

const ROUTES = [{ path: "/*", sealed: true }];
const SIZES = [10, 30_000, 600_000];

let scene: SealedScene;
beforeAll(async () => {
  scene = await startSealedScene({ SEAL_SECRET: freshSecret() }, ROUTES, {});
});
afterAll(() => scene.close());

describe.runIf(hasCommit(BEFORE))("code from before sealed", () => {
  it("answers retries of sealed records with a problem, sends nothing, and loses nothing", async () => {
    const messages = SIZES.map((size) => ({ path: "/pay", key: freshKey(), size }));
    for (const { size, ...message } of messages) {
      await scene.origin.behave({ key: message.key }, { status: 201, body: "x".repeat(size) });
      expect((await scene.send(message)).status).toBe(201);
    }
    await scene.again({ main: await entryAt(BEFORE), routes: [{ path: "/*" }] });
    for (const message of messages) {
      const answer = await scene.send(message);
      expect([answer.status, answer.body.toString()]).toEqual([422, expect.stringContaining('"code":"key-reused"')]);
    }
    await scene.again({ main: gatewayMain, routes: ROUTES });
    for (const message of messages) {
      const answer = await scene.send(message);
      expect([answer.status, headerValue(answer, "idempotent-replayed")]).toEqual([201, "true"]);
      expect(answer.body.toString()).toBe("x".repeat(message.size));
      expect(await scene.origin.effects(message.key)).toBe(1);
    }
  });
});
