// The lists of keys that a sealed object gives to newer ones, in workerd: nothing that is there is missing, however records lie and
// move, and a list is never long.

import { env, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { expect, it } from "vitest";
import { epochMs, keyHashOf, type RecordId, recordId } from "../../../../src/kernel/record/units.ts";
import { ListedKeys } from "../../../../src/kernel/record/held-keys.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { completed, freshId, HOUR_MS, NOW, response, started } from "../../../support/integration/records.ts";

const MOST = 4;

function inShard(run: (ledger: Ledger, storage: DurableObjectStorage) => void): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => {
    run(new Ledger(storage, null, undefined, { mostListed: MOST }), storage);
  });
}

/** What a newer object knows after it has asked about these. */
function reported(ledger: Ledger, about: readonly string[]): ListedKeys {
  const listed = new ListedKeys();
  for (const id of about) {
    const list = ledger.heldKeys.around(keyHashOf(id));
    if (list === null) continue;
    expect(list.hashes.length).toBeLessThanOrEqual(MOST * 8);
    expect(id.startsWith(list.begin)).toBe(true);
    listed.add(list);
  }
  return listed;
}

const nothing = { label: { key: "k", route: "/" } };

/** Ids of few beginnings, and of any. */
const anyId = fc
  .tuple(fc.constantFrom("000", "001", "00f", "7ff", "fff", ""), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(([begin, bytes]) =>
    recordId((begin + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")).slice(0, 64)),
  );

it("no list lacks a key that is held, also after records have moved, ended and gone", () =>
  inShard((_, storage) => {
    fc.assert(
      fc.property(
        fc.uniqueArray(anyId, { maxLength: 40 }),
        fc.array(anyId, { maxLength: 20 }),
        fc.array(fc.nat(39), { maxLength: 20 }),
        (ids, others, ended) => {
          storage.sql.exec("DELETE FROM records");
          const shard = new Ledger(storage, null, undefined, { mostListed: MOST });
          const claims = new Map(ids.map((id, at) => [id, started(epochMs(NOW + at * HOUR_MS))]));
          for (const [id, claim] of claims) shard.save(id, null, claim, nothing);
          const before = reported(shard, [...ids.slice(0, 10), ...others]);
          for (const id of new Set(ended.flatMap((at) => ids[at] ?? []))) {
            const claim = claims.get(id);
            if (claim !== undefined)
              shard.save(id, shard.find(id), completed(claim, claim.attempt.startedAt), { response });
          }
          const after = reported(shard, [...ids, ...others]);
          shard.expired.erase(epochMs(NOW + 30 * HOUR_MS), 5);
          const held = new Set(
            storage.sql
              .exec<{ id: string }>("SELECT id FROM records")
              .toArray()
              .map(({ id }) => id),
          );
          for (const id of held) {
            expect(before.mayHold(keyHashOf(id))).toBe(true);
            expect(after.mayHold(keyHashOf(id))).toBe(true);
          }
          for (const id of others.filter((other) => !ids.includes(other) && after.covers(other))) {
            expect(after.mayHold(keyHashOf(id))).toBe(false);
          }
        },
      ),
    );
  }));

it("an object with few keys lists them all, and counts each once", () =>
  inShard((ledger) => {
    const hash = "a".repeat(32);
    for (const scope of ["1", "2"]) ledger.save(recordId(hash + scope.repeat(32)), null, started(), nothing);
    const absent = freshId();
    expect(ledger.heldKeys.around(keyHashOf(absent))).toEqual({ begin: "", hashes: "a".repeat(16) });
    expect(ledger.heldKeys.count()).toBe(1);
  }));

it("an object with many keys lists those around the one that is asked about, and all again when they have become few", () =>
  inShard((ledger) => {
    const claims = new Map(Array.from({ length: 60 }, () => [freshId(), started()] as const));
    for (const [id, claim] of claims) ledger.save(id, null, claim, nothing);
    const asked = keyHashOf(freshId());
    expect(ledger.heldKeys.around(asked)?.begin).toMatch(/^./);
    for (const id of claims.keys()) ledger.save(id, ledger.find(id), null);
    const lists = Array.from({ length: 4 }, () => ledger.heldKeys.around(asked));
    expect(lists.map((list) => list?.hashes)).toEqual(["", "", "", ""]);
    expect(lists.at(-1)?.begin).toBe("");
  }));

it("a newer object that knows lists in many parts needs few more, when records have left, until they cover every key", () =>
  inShard((_, storage) => {
    const shard = new Ledger(storage, null, undefined, { mostListed: 40 });
    const ids = Array.from({ length: 1500 }, freshId);
    for (const id of ids) shard.save(id, null, started(), nothing);
    const listed = new ListedKeys();
    /** Asks as a newer object does: about keys that no list covers. How many questions that were. */
    const ask = (count: number): number => {
      let questions = 0;
      for (let key = 0; key < count; key += 1) {
        const hash = keyHashOf(freshId());
        const list = listed.covers(hash) ? null : shard.heldKeys.around(hash);
        if (list === null) continue;
        questions += 1;
        listed.add(list);
      }
      return questions;
    };
    expect(ask(100)).toBeGreaterThan(30);
    expect(listed.covers("")).toBe(false);
    for (const id of ids.slice(20)) shard.save(id, shard.find(id), null);
    // Each list may have sixteen times the range of the one before, until one has a twentieth of what it may: sixteen of that range cover all.
    expect(ask(1000)).toBeLessThanOrEqual(2 + 16);
    expect(ask(1000)).toBe(0);
    for (const id of ids.slice(0, 20)) expect(listed.mayHold(keyHashOf(id))).toBe(true);
  }));

it("keys that are too many and too much alike are not listed", () =>
  inShard((ledger) => {
    const alike = (): RecordId => recordId(`abc${freshId().slice(3)}`);
    for (let one = 0; one <= MOST; one += 1) ledger.save(alike(), null, started(), nothing);
    expect(ledger.heldKeys.around(keyHashOf(alike()))).toBeNull();
    expect(ledger.heldKeys.around(keyHashOf(recordId(`abd${freshId().slice(3)}`)))).not.toBeNull();
  }));

it("keys are counted up to 256", () =>
  inShard((ledger) => {
    for (let more = 0; more < 256; more += 1) ledger.save(freshId(), null, started(), nothing);
    expect(ledger.heldKeys.count()).toBe(256);
    ledger.save(freshId(), null, started(), nothing);
    expect(ledger.heldKeys.count()).toBeNull();
  }));

it("lists of more than a million keys of all elders are not remembered, nor asked for: the elder is asked about each", () => {
  const room = { keys: 1_000_000 };
  const listed = new ListedKeys(room);
  const many = "0123abcd".repeat(400_000);
  for (const begin of ["00", "01", "02"]) listed.add({ begin, hashes: many });
  expect(["00", "01", "02"].map((begin) => listed.covers(begin.padEnd(32, "0")))).toEqual([true, true, false]);
  expect(listed.mayHold("02".padEnd(32, "0"))).toBe(true);
  expect(listed.isFull).toBe(true);
  const other = new ListedKeys(room);
  other.add({ begin: "", hashes: many });
  expect([other.isFull, other.mayHold("02".padEnd(32, "0"))]).toEqual([true, true]);
  listed.add({ begin: "", hashes: "" });
  other.add({ begin: "", hashes: many });
  expect([listed.isFull, other.isFull, other.covers("02".padEnd(32, "0"))]).toEqual([false, false, true]);
});
