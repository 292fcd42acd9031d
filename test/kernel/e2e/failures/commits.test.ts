// A first request waits for two commits: one before the origin is called, one before the client gets the answer. Counted in
// the running gateway's write-ahead log. What the object counts has commits of its own, whenever nothing has come for a quarter of a second: they belong
// to no request, and are left out.

import { afterAll, beforeAll, expect, it } from "vitest";
import { COMMITS } from "../../../bench/cost/operation-counts.ts";
import { freshKey } from "../../../support/http.ts";
import { countCommits } from "../../../support/e2e/commits.ts";
import { type Scene, startScene, until } from "../../../support/e2e/scene.ts";
import { rowsIn, shardFile } from "../../../support/e2e/shard-database.ts";

let scene: Scene;

beforeAll(async () => {
  scene = await startScene({ shards: 1 }, [{ path: "/*" }]);
  // A shard's one-time work: its tables, its alarm, the address of its origin.
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await scene.send({ path: "/act", key: freshKey() });
  for (const table of ["addresses", "counts"]) {
    const isThere = (): boolean => rowsIn(shardFile(scene.gateway), "1", table, "true").length > 0;
    await until(() => Promise.resolve(isThere() || null), `the table ${table} has a row`);
  }
});
afterAll(() => scene.close());

/**
 * The commits so far, with those of all that was written before: a database commits in order, and this ends with a first request, whose
 * answer waits for its own.
 */
async function settled(): Promise<number> {
  await send(freshKey(), 201);
  return countCommits(shardFile(scene.gateway), "counts");
}

async function commitsOf(run: () => Promise<void>): Promise<number> {
  const before = await settled();
  await run();
  return (await settled()) - before - COMMITS.first;
}

const TIMES = 10;

async function send(key: string, status: number, body = "{}"): Promise<void> {
  const response = await scene.send({ path: "/act", key, body });
  expect(response.status).toBe(status);
}

it("the log shows commits", async () => {
  expect(await settled()).toBeGreaterThan(0);
});

it("a first request takes two commits", async () => {
  const commits = await commitsOf(async () => {
    for (let time = 0; time < TIMES; time += 1) await send(freshKey(), 201);
  });
  expect(commits).toBe(TIMES * COMMITS.first);
});

it("replays and mismatches take none", async () => {
  const key = freshKey();
  await send(key, 201);
  const commits = await commitsOf(async () => {
    for (let time = 0; time < TIMES; time += 1) await send(key, 201);
    for (let time = 0; time < TIMES; time += 1) await send(key, 422, "another");
  });
  expect(commits).toBe(COMMITS.replay);
});

it("a duplicate of a running attempt takes none", async () => {
  const key = freshKey();
  const first = scene.open({ path: "/act", key, body: "{}", behave: { hold: true } });
  await scene.origin.arrived(key);
  const commits = await commitsOf(() => send(key, 409));
  expect(commits).toBe(COMMITS.conflict);
  await scene.origin.release(key);
  expect((await first.response).status).toBe(200);
});
