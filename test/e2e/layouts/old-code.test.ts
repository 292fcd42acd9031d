// After a roll-back of the code to before `previous_shards`, on state that has been sealed: what is new is refused, nothing of it
// reaches the origin, and what was answered before is replayed to the byte.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_TRIGGER, OLD_URL } from "../../layouts/planted.ts";
import { type LayoutScene, startLayoutScene } from "../../layouts/scene.ts";
import { entryAt, hasCommit, rigEntry } from "../../layouts/sources.ts";
import { freshKey, headerValue, type RawResponse } from "../../support/http.ts";
import { startOrigin, type TestOrigin } from "../../support/origin.ts";
import { clientOf } from "../support/scene.ts";

/** The code from before `previous_shards`, with today's tables. It can run only where the clone has the history. */
const BEFORE = "eb18da5";
const isThere = hasCommit(BEFORE);
const NEW_KEYS = 10_000;
const OLDER_KEYS = 1_000;
const SHARDS = 64;
/** So many that each older object is asked. */
const KEYS_TO_SEAL = 14 * SHARDS;
const AT_ONCE = 60;

const OLD = { shards: SHARDS };
const NEW = { shards: 2 * SHARDS, previous_shards: [SHARDS] };
type Name = "old" | "new";

let origin: TestOrigin;

beforeAll(async () => {
  origin = await startOrigin();
});
afterAll(() => origin.close());

interface Sealed {
  readonly scene: LayoutScene<Name>;
  readonly older: ReadonlyMap<string, RawResponse>;
  readonly newer: ReadonlyMap<string, RawResponse>;
}

/** Keys of the older layout, then so many of the newer one that each older object is sealed. */
async function startSealed(main?: string): Promise<Sealed> {
  const vars = { IDEMPOTENCY: { origin: origin.url }, ROUTES: [{ path: "/pay" }] };
  const code = main === undefined ? {} : { workersMain: main, objectsMain: main };
  const scene = await startLayoutScene<Name>({ vars, workers: { old: OLD, new: NEW }, ...code });
  const [older, newer] = [new Map<string, RawResponse>(), new Map<string, RawResponse>()];
  await each(OLDER_KEYS, () => first(scene, "old", older));
  await each(KEYS_TO_SEAL, () => first(scene, "new", newer));
  return { scene, older, newer };
}

async function first(scene: LayoutScene<Name>, name: Name, kept = new Map<string, RawResponse>()): Promise<string> {
  const key = freshKey();
  const behave = { status: 201, headers: [["X-Made", key]] satisfies [string, string][], body: `made ${key}` };
  const response = await clientOf(scene.url(name)).send({ path: "/pay", key, behave });
  kept.set(key, response);
  return `${response.status} ${/"code":"([a-z-]+)"/.exec(response.body.toString())?.[1] ?? "of the origin"}`;
}

async function each(count: number, work: () => Promise<unknown>): Promise<void> {
  let left = count;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

/** The answers to so many new keys, and how many of them reached the origin. */
async function sendNewKeys(scene: LayoutScene<Name>, name: Name, count: number) {
  const before = (await origin.requests()).length;
  const answers: Record<string, number> = {};
  await each(count, async () => {
    const answer = await first(scene, name);
    answers[answer] = (answers[answer] ?? 0) + 1;
  });
  return { answers, arrived: (await origin.requests()).length - before };
}

function allRefused(count: number) {
  return { answers: { "503 store-unavailable": count }, arrived: 0 };
}

async function expectReplayed(
  scene: LayoutScene<Name>,
  name: Name,
  kept: ReadonlyMap<string, RawResponse>,
): Promise<void> {
  for (const [key, { status, body }] of kept) {
    const replay = await clientOf(scene.url(name)).send({ path: "/pay", key });
    expect([status, headerValue(replay, "x-made")]).toEqual([201, key]);
    expect([replay.status, replay.body.toString()]).toEqual([status, body.toString()]);
    expect(headerValue(replay, "idempotent-replayed")).toBe("true");
  }
}

describe("Code from before", { timeout: 600_000 }, () => {
  let sealed: Sealed;
  beforeAll(async () => {
    sealed = await startSealed();
  }, 300_000);
  afterAll(() => sealed.scene.close());

  it("finds every object of the older layout sealed", async () => {
    expect(await sealed.scene.sealed()).toBe(SHARDS);
  });

  it.skipIf(!isThere)(
    "of Workers and objects refuses new keys of a sealed layout, and replays the older ones",
    async () => {
      const { scene, older } = sealed;
      const before = await entryAt(BEFORE);
      await scene.restart({ workers: { old: OLD }, workersMain: before, objectsMain: before });
      expect(await sendNewKeys(scene, "old", NEW_KEYS)).toEqual(allRefused(NEW_KEYS));
      await expectReplayed(scene, "old", older);
    },
  );

  it.skipIf(!isThere)("of the objects alone refuses what a Worker with the newer layout asks", async () => {
    const { scene } = sealed;
    await scene.restart({ workers: { new: NEW }, objectsMain: await entryAt(BEFORE) });
    expect(await sendNewKeys(scene, "new", 100)).toEqual(allRefused(100));
  });

  it.skipIf(!isThere)(
    "of the Workers alone is refused new keys by sealed objects, and gets the older ones replayed",
    async () => {
      const { scene, older } = sealed;
      await scene.restart({ workers: { old: OLD }, workersMain: await entryAt(BEFORE) });
      expect(await sendNewKeys(scene, "old", 100)).toEqual(allRefused(100));
      await expectReplayed(scene, "old", older);
    },
  );

  it("leaves nothing behind: with today's code both Workers replay all keys, and take new ones", async () => {
    const { scene, older, newer } = sealed;
    await scene.restart({ workers: { old: OLD, new: NEW } });
    for (const name of ["old", "new"] as const) {
      await expectReplayed(scene, name, older);
      await expectReplayed(scene, name, newer);
      expect(await first(scene, name)).toBe("201 of the origin");
    }
  });
});

describe("What would be noticed", { timeout: 300_000 }, () => {
  it.skipIf(!isThere)("a seal without its trigger: older code begins new keys in a sealed object", async () => {
    const { scene } = await startSealed(await rigEntry([NO_TRIGGER]));
    const before = await entryAt(BEFORE);
    await scene.restart({ workers: { old: OLD }, workersMain: before, objectsMain: before });
    expect((await sendNewKeys(scene, "old", 40)).arrived).toBe(40);
    await scene.close();
  });

  it.skipIf(!isThere)(
    "elders told in a message that older code understands: a newer object begins without asking",
    async () => {
      const { scene } = await startSealed();
      await scene.restart({
        workers: { new: NEW },
        workersMain: await rigEntry(OLD_URL),
        objectsMain: await entryAt(BEFORE),
      });
      expect((await sendNewKeys(scene, "new", 40)).arrived).toBe(40);
      await scene.close();
    },
  );
});
