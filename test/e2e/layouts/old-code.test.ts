// After a roll-back of the code to before `previous_shards`, on state that has been sealed: what is new is refused, nothing of it
// reaches the origin, and what was answered before is replayed to the byte.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entryAt } from "../../layouts/sources.ts";
import { type LayoutScene, startLayoutScene } from "../../layouts/scene.ts";
import { freshKey, headerValue, type RawResponse } from "../../support/http.ts";
import { isLong } from "../../support/long.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { clientOf } from "../support/scene.ts";

/** The last commit before `previous_shards`. */
const BEFORE = "20ddaf1";
const NEW_KEYS = isLong ? 10_000 : 300;
const OLDER_KEYS = isLong ? 1_000 : 100;
/** So many that each of 64 objects is met. */
const KEYS_TO_SEAL = 800;
const AT_ONCE = 60;

const OLD = { shards: 64 };
const NEW = { shards: 128, previous_shards: [64] };

let origin: TestOrigin;
let scene: LayoutScene<"old" | "new">;
const older = new Map<string, RawResponse>();
const newer = new Map<string, RawResponse>();

beforeAll(async () => {
  origin = await startOrigin();
  const vars = { IDEMPOTENCY: { origin: origin.url }, ROUTES: [{ path: "/pay" }] };
  scene = await startLayoutScene({ vars, workers: { old: OLD, new: NEW } });
  await each(OLDER_KEYS, async () => keep(older, await first("old")));
  await each(KEYS_TO_SEAL, async () => keep(newer, await first("new")));
}, 300_000);
afterAll(async () => {
  await scene.close();
  await origin.close();
});

interface Kept {
  readonly key: string;
  readonly response: RawResponse;
}

async function first(name: "old" | "new"): Promise<Kept> {
  const key = freshKey();
  const behave = { status: 201, headers: [["X-Made", key]] satisfies [string, string][], body: `made ${key}` };
  return { key, response: await clientOf(scene.url(name)).send({ path: "/pay", key, behave }) };
}

function keep(kept: Map<string, RawResponse>, { key, response }: Kept): void {
  expect(response.status).toBe(201);
  kept.set(key, response);
}

async function each(count: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function expectNewKeysRefused(name: "old" | "new", count: number): Promise<void> {
  const before = (await origin.requests()).length;
  const statuses = new Map<string, number>();
  await each(count, async () => {
    const { status, body } = (await first(name)).response;
    const what = `${status} ${/"code":"([a-z-]+)"/.exec(body.toString())?.[1] ?? ""}`;
    statuses.set(what, (statuses.get(what) ?? 0) + 1);
  });
  expect(Object.fromEntries(statuses)).toEqual({ "503 store-unavailable": count });
  expect((await origin.requests()).length - before).toBe(0);
}

async function expectReplayed(name: "old" | "new", kept: ReadonlyMap<string, RawResponse>): Promise<void> {
  for (const [key, { status, body }] of kept) {
    const replay = await clientOf(scene.url(name)).send({ path: "/pay", key });
    expect([replay.status, replay.body.toString(), headerValue(replay, "x-made")]).toEqual([status, body.toString(), key]);
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
  }
}

describe("Code from before", { timeout: 600_000 }, () => {
  it("finds every object of the older layout sealed", async () => {
    expect(await scene.sealed()).toBe(OLD.shards);
  });

  it("of Workers and objects refuses new keys of a sealed layout, and replays the older ones", async () => {
    const before = await entryAt(BEFORE);
    await scene.restart({ workers: { old: OLD }, workersMain: before, objectsMain: before });
    await expectNewKeysRefused("old", NEW_KEYS);
    await expectReplayed("old", older);
  });

  it("of the objects alone refuses what a Worker with the newer layout asks", async () => {
    await scene.restart({ workers: { new: NEW }, objectsMain: await entryAt(BEFORE) });
    await expectNewKeysRefused("new", 100);
  });

  it("of the Workers alone is refused new keys by sealed objects, and gets the older ones replayed", async () => {
    await scene.restart({ workers: { old: OLD }, workersMain: await entryAt(BEFORE) });
    await expectNewKeysRefused("old", 100);
    await expectReplayed("old", older);
  });

  it("leaves nothing behind: with today's code both Workers replay all keys, and take new ones", async () => {
    await scene.restart({ workers: { old: OLD, new: NEW } });
    for (const name of ["old", "new"] as const) {
      await expectReplayed(name, older);
      await expectReplayed(name, newer);
      expect((await first(name)).response.status).toBe(201);
    }
  });
});
