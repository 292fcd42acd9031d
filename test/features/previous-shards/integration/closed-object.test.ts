// One object that is closed, and one that has begun keys after another was: what is durable, what SQLite itself enforces, what it answers, what it costs.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { COUNTS } from "../../../bench/cost/operation-counts.ts";
import { ClosedObject } from "../../../../src/features/previous-shards/object/closed-object.ts";
import type { Layout } from "../../../../src/kernel/config/layout.ts";
import { type ClosedLayout, type BeginsElsewhere, elsewhereIn, LOCATE_CALL } from "../../../../src/kernel/elsewhere.ts";
import { epochMs } from "../../../../src/kernel/record/units.ts";
import { EXCHANGE_CALL, type ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { LaterTables } from "../../../../src/kernel/store/schema.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { StoreError } from "../../../../src/kernel/store/store-error.ts";
import { closeObject } from "./close-object.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";
import { completed, freshId, HOUR_MS, NOW, response, started } from "../../../support/integration/records.ts";
import { again, headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const layoutOf = (shards: number): Layout => ({ shards, jurisdiction: null, locationHint: "weur" });
const [ONE, TWO, THREE] = [layoutOf(1), layoutOf(2), layoutOf(3)];

interface Opened {
  readonly ledger: Ledger;
  readonly storage: DurableObjectStorage;
  readonly object: ClosedObject;
}

function inShard<T>(run: (opened: Opened) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    return run({ ledger, storage, object: new ClosedObject(ledger.tables) });
  });
}

describe("closing", () => {
  it("keeps any code from inserting a record, and the life of those that are there goes on", () =>
    inShard(({ ledger, storage, object }) => {
      const id = freshId();
      const claim = started();
      ledger.save(id, null, claim);
      object.close(TWO, NOW);
      expect(() => ledger.save(freshId(), null, started())).toThrow(StoreError);
      expect(() => storage.sql.exec("INSERT INTO records SELECT * FROM records")).toThrow("closed");
      // Another bucket is another primary key, and still an UPDATE.
      const done = completed(claim);
      ledger.save(id, ledger.find(id), done, { response });
      expect(new Ledger(storage).find(id)?.record).toEqual(done);
      expect(object.isEmpty).toBe(false);
      expect(ledger.expired.erase(epochMs(done.expiresAt + 24 * HOUR_MS), 10)).toBe(1);
      expect(object.isEmpty).toBe(true);
    }));

  it("is done once, for one layout, also across instances", () =>
    inShard(({ storage, object }) => {
      expect([object.closing, object.isEmpty]).toEqual([null, false]);
      expect(object.close(TWO, NOW)).toEqual({ next: TWO, at: NOW });
      expect(object.close(THREE, NOW).next).toEqual(TWO);
      const reopened = new ClosedObject(new LaterTables(storage.sql, (run) => run()));
      expect(reopened.close(THREE, epochMs(NOW + 1))).toEqual({ next: TWO, at: NOW });
    }));

  it("that fails leaves the object open, in memory and in the database", () =>
    inShard(({ ledger, storage, object }) => {
      // The transaction's last statement fails.
      storage.sql.exec("CREATE TRIGGER closed_to_keys BEFORE DELETE ON records BEGIN SELECT 1; END");
      expect(() => object.close(TWO, NOW)).toThrow();
      expect(object.closing).toBeNull();
      expect(new ClosedObject(new LaterTables(storage.sql, (run) => run())).closing).toBeNull();
      ledger.save(freshId(), null, started());
    }));
});

function saying(...closed: readonly ClosedLayout[]): Pick<ExchangeHead, "previous"> {
  return { previous: { closed } };
}

function headWith(more: Partial<ExchangeHead> = {}): ExchangeHead {
  return { ...headOf({ record: { id: freshId() } }), ...more };
}

async function elsewhere(bench: ShardBench, head: ExchangeHead): Promise<BeginsElsewhere | null> {
  const located: unknown = await (
    await bench.stub.fetch(LOCATE_CALL.url, { method: "POST", body: JSON.stringify(head) })
  ).json();
  const answer = elsewhereIn(await bench.stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: messageOf(head) }));
  expect(located).toEqual(answer);
  return answer;
}

describe("a closed object", () => {
  it("says where a new key begins, and whether it is empty; it calls nobody", async () => {
    const bench = new ShardBench();
    const head = headWith();
    await bench.send(messageOf(head));
    await closeObject(bench.stub, TWO);
    expect(await elsewhere(bench, headWith())).toEqual({ kind: "closed", next: TWO, isEmpty: false });
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, isReplay: true });
    const empty = new ShardBench();
    await closeObject(empty.stub, TWO);
    expect(await elsewhere(empty, headWith())).toEqual({ kind: "closed", next: TWO, isEmpty: true });
    await bench.evict();
    expect(await elsewhere(bench, headWith())).toEqual({ kind: "closed", next: TWO, isEmpty: false });
    expect(bench.calls).toHaveLength(1);
  });
});

describe("an object that has begun a key after a closed one", () => {
  const closed = { layout: ONE, isEmpty: false };

  it("sends other keys of that one there first, also after it was out of memory, until that one is empty", async () => {
    const bench = new ShardBench();
    expect(await bench.send(messageOf(headWith(saying(closed))))).toMatchObject({ status: 201 });
    const first = { kind: "first", layout: ONE } as const;
    expect(await elsewhere(bench, headWith())).toEqual(first);
    await bench.evict();
    expect(await elsewhere(bench, headWith(saying({ layout: THREE, isEmpty: false })))).toEqual(first);
    expect(await bench.send(messageOf(headWith(saying(closed))))).toMatchObject({ status: 201 });
    expect(await bench.send(messageOf(headWith(saying({ layout: ONE, isEmpty: true }))))).toMatchObject({
      status: 201,
    });
    expect(await bench.send(messageOf(headWith()))).toMatchObject({ status: 201 });
    await bench.evict();
    expect(await bench.send(messageOf(headWith()))).toMatchObject({ status: 201 });
  });

  it("does so when it is closed itself (m7), and answers for its own keys all the same", async () => {
    const bench = new ShardBench();
    const own = headWith(saying(closed));
    await bench.send(messageOf(own));
    await closeObject(bench.stub, THREE);
    expect(await elsewhere(bench, headWith())).toEqual({ kind: "first", layout: ONE });
    expect(await elsewhere(bench, headWith(saying(closed)))).toEqual({ kind: "closed", next: THREE, isEmpty: false });
    const { previous: _, ...retry } = again(own);
    expect(await bench.send(messageOf(retry))).toMatchObject({ isReplay: true });
  });
});

it("a change costs a row for each closed object, once, and a first request nothing more", async () => {
  const shard = new CountedShard();
  await shard.begin();
  await shard.within((ledger) => {
    const object = new ClosedObject(ledger.tables);
    shard.take();
    object.close(TWO, NOW);
    expect(shard.take()).toMatchObject({ statements: 3, rowsWritten: 4 });
    object.close(TWO, NOW);
    expect(shard.take()).toMatchObject({ statements: 0 });
  });
  const open = new CountedShard({ previous_shards: [7] });
  await open.begin();
  open.take();
  await open.send(crypto.randomUUID());
  expect(open.take()).toEqual(COUNTS.first);
});
