// What an object that is closed says that it still holds.

import { expect, it } from "vitest";
import { OperatedBench } from "../../../support/integration/operated-bench.ts";
import { again, headOf, heldAnswer, messageOf, RETENTION_MS } from "../../../support/integration/shard-bench.ts";
import { closeObject } from "./close-object.ts";

const by = { by: "admin", reason: "because" };

const LAYOUT = { shards: 128, jurisdiction: null, locationHint: "weur" } as const;

it("an object says what it still holds, and is closed once, for one layout", async () => {
  const bench = new OperatedBench();
  expect(await bench.operator.counts()).toMatchObject({ closed: null, lastExpiresAt: null });
  const begunAt = Date.now();
  const head = headOf();
  await bench.send(messageOf(head));
  const { lastExpiresAt } = await bench.operator.counts();
  expect(lastExpiresAt).toBeGreaterThanOrEqual(begunAt + RETENTION_MS);
  expect(lastExpiresAt).toBeLessThanOrEqual(Date.now() + RETENTION_MS + RETENTION_MS / 8);
  expect(await closeObject(bench.stub, LAYOUT)).toEqual(LAYOUT);
  const holds = [{ what: "records", count: 1 }];
  const closed = { next: LAYOUT, at: expect.any(Number), holds, left: null };
  const counts = await bench.operator.counts();
  expect(counts).toMatchObject({ closed, lastExpiresAt });
  // Closed again, also for another layout, and in another instance.
  expect(await closeObject(bench.stub, { ...LAYOUT, shards: 256 })).toEqual(LAYOUT);
  await bench.evict();
  expect((await bench.operator.counts()).closed).toEqual(counts.closed);
  expect(await bench.send(messageOf(again(head)))).toMatchObject({ isReplay: true });
  await bench.change(head.record.id, { type: "forget", ...by });
  expect(await bench.operator.counts()).toMatchObject({ closed: { holds: [] }, lastExpiresAt: null });
});

it("an attempt in flight keeps a closed object from being empty, and has no time of expiry", async () => {
  const bench = new OperatedBench();
  const held = heldAnswer(() => new Response("late", { status: 201 }));
  bench.origin = held.origin;
  const sent = bench.send(messageOf(headOf()));
  await bench.called(1);
  await closeObject(bench.stub, LAYOUT);
  const closed = { holds: [{ what: "records", count: 1 }] };
  expect(await bench.operator.counts()).toMatchObject({ inFlight: 1, closed, lastExpiresAt: null });
  held.release();
  expect(await sent).toMatchObject({ status: 201, text: "late" });
  expect(await bench.operator.counts()).toMatchObject({ inFlight: 0, closed });
});
