// What claims cost, in exact operations: three rows with the erasure, one more for each extension and for a position, none for whoever
// comes too late, and one commit for a batch.

import { expect, it } from "vitest";
import { COUNTS } from "../../../bench/cost/operation-counts.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";
import { PositionRows } from "../../../../src/features/claims/object/position-rows.ts";

const POSITION = { position: { stream: "orders", partition: 0 } };

function fresh(more: object = {}) {
  const owner = { key: crypto.randomUUID(), attemptId: crypto.randomUUID(), ...more };
  return { owner, claim: { ...owner, payloadHash: "h" } };
}

async function begun(): Promise<CountedShard> {
  const shard = new CountedShard();
  await shard.begin();
  return shard;
}

/** What one call costs, and what it says. */
async function cost(shard: CountedShard, operation: string, entries: readonly object[]) {
  shard.take();
  const states = await shard.claim(operation, entries);
  return { states, ...shard.take() };
}

it("a claim and its completion write a row each, and a row is erased", async () => {
  const shard = await begun();
  const { owner, claim } = fresh();
  expect(await cost(shard, "", [claim])).toEqual({ states: ["granted"], ...COUNTS.claimed });
  expect(await cost(shard, "", [claim])).toMatchObject({ states: ["granted"], statements: 0, rowsWritten: 0 });
  expect(await cost(shard, "/extend", [owner])).toEqual({ states: ["granted"], ...COUNTS.extended });
  expect(await cost(shard, "/complete", [{ ...owner, result: { n: 1 } }])).toEqual({
    states: ["settled"],
    ...COUNTS.settled,
  });
  const again = { ...claim, attemptId: crypto.randomUUID() };
  expect(await cost(shard, "", [again])).toEqual({ states: ["completed"], ...COUNTS.claimedInVain });
  expect(await cost(shard, "/complete", [owner])).toMatchObject({ states: ["settled"], rowsWritten: 0, alarmsSet: 0 });
  const { claimed, extended, settled, claimedInVain } = COUNTS;
  expect([claimed, extended, settled, claimedInVain].map(({ rowsWritten }) => rowsWritten)).toEqual([1, 1, 1, 0]);
  const rows = await shard.within((_ledger, { sql }) => {
    const cursor = sql.exec("DELETE FROM records WHERE route = 'claims:billing'");
    return cursor.rowsWritten;
  });
  expect(rows).toBe(1);
});

it("a claim that is refused writes nothing", async () => {
  const shard = await begun();
  const { claim } = fresh();
  await shard.claim("", [claim]);
  for (const rival of [
    { ...claim, attemptId: crypto.randomUUID() },
    { ...claim, payloadHash: "g" },
  ]) {
    expect(await cost(shard, "", [rival])).toMatchObject({ rowsWritten: 0, alarmsSet: 0, objectCalls: 1 });
  }
});

it("what a consumer says of its claim is in the same row", async () => {
  const shard = await begun();
  const { claim } = fresh({ position: { ...POSITION.position, offset: 1 } });
  expect(await cost(shard, "", [{ ...claim, holder: "node-1" }])).toMatchObject({ statements: 2, rowsWritten: 1 });
});

it("a position costs one row more with a completion, or with a batch of them", async () => {
  const shard = await begun();
  const [first, second, replayed] = [0, 1, 0].map((offset) => fresh({ position: { ...POSITION.position, offset } }));
  if (first === undefined || second === undefined || replayed === undefined) throw new Error("no claims");
  await shard.claim("", [first.claim]);
  await shard.claim("/complete", [first.owner]);
  expect(await cost(shard, "", [second.claim])).toMatchObject({ states: ["granted"], rowsWritten: 1 });
  const moved = await cost(shard, "/complete", [second.owner]);
  expect(moved).toEqual({ states: ["settled"], ...COUNTS.settledAtPosition });
  expect(moved.rowsWritten).toBe(COUNTS.settled.rowsWritten + 1);
  const batch = Array.from({ length: 100 }, (_, at) => fresh({ position: { ...POSITION.position, offset: 2 + at } }));
  await cost(
    shard,
    "",
    batch.map(({ claim }) => claim),
  );
  const settled = await cost(
    shard,
    "/complete",
    batch.map(({ owner }) => owner),
  );
  expect(settled).toMatchObject({ rowsWritten: 100 * COUNTS.settled.rowsWritten + 1, objectCalls: 1 });
  expect(
    await shard.within((ledger) =>
      new PositionRows(ledger.tables).get({ route: "claims:billing", ...POSITION.position }),
    ),
  ).toEqual({ next: 102, done: 102, claimed: [] });
  const duplicate = { ...first.claim, attemptId: crypto.randomUUID() };
  expect(await cost(shard, "", [duplicate])).toMatchObject({ states: ["completed"], rowsWritten: 0 });
});

it("a hundred claims are one call of their object, and a hundred rows", async () => {
  const shard = await begun();
  const all = Array.from({ length: 100 }, () => fresh());
  const claimed = await cost(
    shard,
    "",
    all.map(({ claim }) => claim),
  );
  expect(claimed).toMatchObject({ statements: 200, rowsWritten: 100, objectCalls: 1 });
  const again = await cost(
    shard,
    "/complete",
    all.map(({ owner }) => owner),
  );
  expect(again).toMatchObject({ rowsWritten: 100, objectCalls: 1 });
  const replayed = await cost(
    shard,
    "",
    all.map(({ claim: { key, payloadHash } }) => ({ key, payloadHash, attemptId: crypto.randomUUID() })),
  );
  expect(replayed).toMatchObject({ rowsWritten: 0, objectCalls: 1 });
});
