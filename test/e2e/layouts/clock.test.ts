// The clock goes back around a record's expiry in the middle of a change of the layout. The older object has said that it has
// no living record of the key, and the newer one has begun: from then on nobody gets the older answer again, although by the
// older object's clock it would be valid once more.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LayoutScene, startLayoutScene } from "../../layouts/scene.ts";
import { rigEntry } from "../../layouts/sources.ts";
import { freshKey, type RawResponse } from "../../support/http.ts";
import { few } from "../../support/long.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { clientOf } from "../support/scene.ts";

const LAYOUTS = { old: { shards: 4 }, new: { shards: 8, previous_shards: [4] } };
type Name = keyof typeof LAYOUTS;
const NAMES = ["old", "new"] as const;
const RETENTION_MS = 3_600_000;
/** Rows are erased at most an eighth of the retention after their expiry, so they still stand. */
const PAST_MS = RETENTION_MS + 60_000;
const KEYS = 16;

let origin: TestOrigin;
let scene: LayoutScene<Name>;

beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());

async function start(): Promise<void> {
  const vars = { IDEMPOTENCY: { origin: origin.url, retention: `${RETENTION_MS}ms` }, ROUTES: [{ path: "/pay" }] };
  const main = await rigEntry();
  scene = await startLayoutScene({ vars, workers: LAYOUTS, workersMain: main, objectsMain: main });
}

function ask(name: Name, key: string): Promise<RawResponse> {
  return clientOf(scene.url(name)).send({ path: "/pay", key });
}

async function restart(): Promise<void> {
  const main = await rigEntry();
  await scene.restart({ workers: LAYOUTS, workersMain: main, objectsMain: main });
}

/** What happens between the second attempt's beginning and its end, by the clock that was set back. */
const WAYS = [
  { backMs: 120_000, restarts: false },
  { backMs: RETENTION_MS, restarts: false },
  { backMs: 120_000, restarts: true },
  { backMs: 2 * RETENTION_MS, restarts: true },
] as const;

describe.each(few(WAYS, 3))("A clock that goes back by $backMs ms (killed in between: $restarts)", ({ backMs, restarts }) => {
  beforeAll(start);
  afterAll(() => scene.close());

  it("brings no older answer back", { timeout: 120_000 }, async () => {
    const keys = Array.from({ length: KEYS }, freshKey);
    for (const key of keys) {
      await origin.behave({ key }, { sequence: [{ status: 201, body: "first" }, { status: 201, body: "second", hold: true }] });
      expect((await ask("old", key)).body.toString()).toBe("first");
    }
    // Some objects are sealed while the records live, others by the question after they have expired.
    for (const key of keys.slice(0, KEYS / 2)) expect((await ask("new", key)).body.toString()).toBe("first");

    await scene.setClock(PAST_MS);
    const seconds = keys.map((key) => ({ key, answer: ask("new", key) }));
    for (const key of keys) await origin.arrived(key, 2);
    await scene.setClock(PAST_MS - backMs);
    const refused = await Promise.all(keys.flatMap((key) => NAMES.map((name) => ask(name, key))));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([409]));

    if (restarts) {
      await restart();
      await scene.setClock(PAST_MS - backMs);
      for (const { answer } of seconds) await expect(answer).rejects.toThrow();
      await origin.release();
      const lost = await Promise.all(keys.flatMap((key) => NAMES.map((name) => ask(name, key))));
      expect(new Set(lost.map(({ status }) => status))).toEqual(new Set([409]));
    } else {
      await origin.release();
      for (const { answer } of seconds) expect((await answer).body.toString()).toBe("second");
      for (const key of keys) {
        for (const name of NAMES) expect((await ask(name, key)).body.toString()).toBe("second");
      }
    }
    await scene.setClock(0);
    for (const key of keys) {
      for (const name of NAMES) expect((await ask(name, key)).body.toString()).not.toBe("first");
      expect((await origin.requests(key)).length).toBe(2);
    }
  });
});
