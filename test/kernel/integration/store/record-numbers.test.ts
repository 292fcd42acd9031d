// Records whose homes collide: each is found, whatever comes, goes and moves, after restarts too, and every list shows it once.
// Most tests use few homes, among them the first and the last of a bucket, so that nearly every record is displaced.

import { env, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { epochMs, type RecordId, recordId } from "../../../../src/kernel/record/units.ts";
import { expiryBucketOf } from "../../../../src/kernel/store/expiry-buckets.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import type { ListPosition, ListQuery } from "../../../../src/kernel/store/list-query.ts";
import { positionOf, RecordList } from "../../../../src/kernel/store/record-list.ts";
import { preferredSlotOf, PREFERRED_SLOTS, nextRowLocation } from "../../../../src/kernel/store/record-numbers.ts";
import { completed, freshId, HOUR_MS, NOW, response, started } from "../../../support/integration/records.ts";

const LAST_SLOT = 2 ** 31 - 1;
const LATER = epochMs(NOW + 100 * HOUR_MS);

/** The first slot of a bucket, the last one of the ids that begin with `7ff`, and the last slot of a bucket. */
const CROWDED = new Map([
  ["000", 0],
  ["7ff", 2 ** 30 - 1],
  ["fff", LAST_SLOT],
]);
const BEGINS = [...CROWDED.keys()];
const crowdedHomes = {
  of: (id: string): number => CROWDED.get(id.slice(0, 3)) ?? preferredSlotOf(id),
  range: PREFERRED_SLOTS.range,
};
const idOf = (number: number): RecordId =>
  recordId((BEGINS[number % BEGINS.length] ?? "").padEnd(32, "0") + number.toString(16).padStart(32, "0"));

class Shard {
  readonly #storage: DurableObjectStorage;
  ledger: Ledger;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.ledger = this.reopen();
  }

  reopen(): Ledger {
    this.ledger = new Ledger(this.#storage, null, undefined, crowdedHomes);
    return this.ledger;
  }

  get sql(): SqlStorage {
    return this.#storage.sql;
  }

  empty(): void {
    this.sql.exec("DELETE FROM records");
    this.sql.exec("DROP TABLE IF EXISTS reach");
    this.reopen();
  }

  list(query: Partial<ListQuery>): readonly RecordId[] {
    return this.pages(query).flatMap((page) => page);
  }

  /** The pages of a list, with `between` run after each. */
  pages(
    query: Partial<ListQuery>,
    between: (page: number) => void = () => undefined,
  ): readonly (readonly RecordId[])[] {
    const times = { since: null, until: null };
    const all = { keyHash: null, states: [], route: null, ...times, part: 0, direction: "after", limit: 500 } as const;
    const list = new RecordList(this.sql, this.ledger.numbers);
    const pages: RecordId[][] = [];
    let position: ListPosition | null = null;
    for (let more = true; more;) {
      const page = list.page({ parts: 1, ...all, ...query, position }, (_id, record) => record, NOW);
      pages.push(page.records.map(({ id }) => id));
      const last = page.records.at(-1);
      position = last === undefined ? null : positionOf(last);
      ({ more } = page);
      between(pages.length);
    }
    return pages;
  }
}

function inShard(run: (shard: Shard) => void): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => run(new Shard(storage)));
}

const KINDS = ["started", "failed", "unknown", "completed", "gone"] as const;
type Kind = (typeof KINDS)[number];

/** A record that is finished `hours` before NOW, so that there are several buckets. */
function recordOf(kind: Kind, hours: number): IdempotencyRecord | null {
  const at = epochMs(NOW - 4 * HOUR_MS * hours);
  const claim = started(at);
  const expiresAt = epochMs(at + claim.policy.retentionMs);
  switch (kind) {
    case "started":
      return claim;
    case "failed":
      return { ...claim, state: "failed", retryFrom: at, expiresAt };
    case "unknown":
      return { ...claim, state: "unknown", expiresAt, verifyAt: null, verifications: 0 };
    case "completed":
      return completed(claim, at);
    case "gone":
      return null;
  }
}

interface Change {
  readonly number: number;
  readonly kind: Kind;
  readonly hours: number;
}

const COUNT = 48;
/** Half of them claims, so that one bucket is crowded more than the others. */
const kinds = fc.oneof(fc.constant("started" as const), fc.constantFrom(...KINDS));
const change = fc.record({ number: fc.nat(COUNT - 1), kind: kinds, hours: fc.nat(2) });

function make({ ledger }: Shard, { number, kind, hours }: Change): IdempotencyRecord | null {
  const id = idOf(number);
  const entry = ledger.find(id);
  const next = recordOf(kind, hours);
  // Like the gateway: no record is claimed and completed in one step, and a completed one has the attempt of its claim.
  const attempt = entry?.record.attempt;
  const record = next?.state === "completed" && attempt !== undefined ? { ...next, attempt } : next;
  ledger.save(id, entry, record, record?.state === "completed" ? { response } : {});
  return record;
}

describe("records whose homes collide", () => {
  it("are each found as they are, whatever comes, goes and moves", () =>
    inShard((shard) => {
      const expiry = fc.integer({ min: 14, max: 26 }).map((hours) => ({ due: epochMs(NOW + hours * HOUR_MS) }));
      const step = fc.oneof({ arbitrary: change, weight: 20 }, fc.constant("reopen"), expiry);
      const grown: number[] = [];
      fc.assert(
        fc.property(fc.array(step, { minLength: 50, maxLength: 120, size: "max" }), (steps) => {
          shard.empty();
          const model = new Map<RecordId, IdempotencyRecord>();
          for (const one of steps) {
            if (one === "reopen") shard.reopen();
            else if ("due" in one) {
              while (shard.ledger.expired.erase(one.due, 7) > 0);
              for (const [id, record] of model) {
                if (record.state !== "started" && 1000 * expiryBucketOf(record) <= one.due) model.delete(id);
              }
            } else {
              const record = make(shard, one);
              if (record === null) model.delete(idOf(one.number));
              else model.set(idOf(one.number), record);
            }
          }
          for (const ledger of [shard.ledger, shard.reopen()]) {
            for (let number = 0; number < COUNT; number += 1) {
              const id = idOf(number);
              const entry = ledger.find(id);
              expect(entry?.record ?? null).toEqual(model.get(id) ?? null);
              // No slot has run over into the bits of the bucket.
              if (entry !== null) expect(entry.rowLocation.expiryBucket).toBe(expiryBucketOf(entry.record));
            }
          }
          const { from, through } = shard.ledger.numbers.window(idOf(0));
          grown.push(through - from);
        }),
        { numRuns: 25 },
      );
      // Nothing above would be shown if no window had been full.
      expect(Math.max(...grown)).toBeGreaterThan(7);
    }));

  it("are each shown once in lists, while others come, go and move", () =>
    inShard((shard) => {
      const limit = fc.integer({ min: 1, max: 4 });
      fc.assert(
        fc.property(fc.array(change), fc.array(change), limit, (stored, changes, most) => {
          shard.empty();
          for (const one of stored) make(shard, one);
          // Every other record stays as it is.
          const moving = changes.filter(({ number }) => number % 2 === 1);
          for (const query of [
            {},
            { states: ["failed", "unknown"] },
            ...BEGINS.map((keyHash) => ({ keyHash })),
            { keyHash: idOf(2) },
          ] as const) {
            const staying = (ids: readonly RecordId[]): readonly RecordId[] =>
              ids.filter((id) => Number.parseInt(id.slice(-2), 16) % 2 === 0).toSorted();
            const before = staying(shard.list(query));
            let at = 0;
            const pages = shard.pages({ ...query, limit: most }, () => {
              for (const one of moving.slice(at, at + 3)) make(shard, one);
              at += 3;
            });
            expect(staying(pages.flat())).toEqual(before);
          }
        }),
        { numRuns: 50 },
      );
    }));

  it("are listed by the beginning of their ids, also beyond the homes of these", () =>
    inShard((shard) => {
      const ids = Array.from({ length: COUNT }, (_, number) => idOf(number));
      for (const id of ids) shard.ledger.save(id, null, started());
      for (const begin of [...BEGINS, "7", "ff", ""]) {
        const found = shard.list({ keyHash: begin });
        expect(found.toSorted()).toEqual(ids.filter((id) => id.startsWith(begin)).toSorted());
      }
      for (const id of ids) expect(shard.list({ keyHash: id })).toEqual([id]);
      expect(shard.list({ keyHash: "800" })).toEqual([]);
    }));

  it("are found after a restart where only their number has made the windows longer", () =>
    inShard((shard) => {
      const reach = (): number => {
        const { from, through } = shard.ledger.numbers.window(idOf(0));
        return through - from;
      };
      const hasTable = (): boolean =>
        shard.sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'reach'").toArray().length > 0;
      const claims = Array.from({ length: 40 }, (_, number) => [idOf(3 * number), started()] as const);
      for (const [id, claim] of claims.slice(0, 8)) shard.ledger.save(id, null, claim);
      expect([reach(), hasTable()]).toEqual([7, false]);
      for (const [id, claim] of claims.slice(8)) shard.ledger.save(id, null, claim);
      const grown = reach();
      expect(grown).toBeGreaterThanOrEqual(39);
      shard.reopen();
      expect(reach()).toBe(grown);
      for (const [id, claim] of claims) expect(shard.ledger.find(id)?.record).toEqual(claim);
    }));

  it("keep a window that a failed transaction had made longer as long as it must be", () =>
    inShard((shard) => {
      const claims = Array.from({ length: 9 }, (_, number) => [idOf(3 * number), started()] as const);
      for (const [id, claim] of claims.slice(0, 8)) shard.ledger.save(id, null, claim);
      const [id, claim] = claims[8] ?? [freshId(), started()];
      // Only the second INSERT: the first one finds the home, number 0, taken.
      shard.sql.exec(
        "CREATE TRIGGER fails BEFORE INSERT ON records WHEN NEW.number <> 0 BEGIN SELECT RAISE(ABORT, 'the disk fails'); END",
      );
      // With an alias the claim is a transaction.
      expect(() => shard.ledger.save(id, null, claim, { aliases: [freshId()] })).toThrow("the disk fails");
      expect(shard.sql.exec("SELECT name FROM sqlite_schema WHERE name = 'reach'").toArray()).toEqual([]);
      shard.sql.exec("DROP TRIGGER fails");
      shard.ledger.save(id, null, claim);
      expect(shard.reopen().find(id)?.record).toEqual(claim);
    }));

  it("cost no row more for being displaced", () =>
    inShard((shard) => {
      const written = (run: () => void): number => {
        const total = (): number => shard.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
        const before = total();
        run();
        return total() - before;
      };
      const claim = started();
      for (const number of [0, 3]) {
        const id = idOf(number);
        expect(written(() => shard.ledger.save(id, null, claim))).toBe(1);
        expect(written(() => shard.ledger.save(id, shard.ledger.find(id), completed(claim), { response }))).toBe(1);
      }
      expect(written(() => shard.ledger.expired.erase(LATER, 10))).toBe(2);
    }));
});

it("a row that cannot be written fails, and does not pass for a collision", () =>
  inShard((shard) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const label = { key: null as unknown as string, route: "/" };
    expect(() => shard.ledger.save(idOf(0), null, started(), { label })).toThrow("NOT NULL");
    expect(shard.ledger.find(idOf(0))).toBeNull();
  }));

it("no record is written twice", () =>
  inShard((shard) => {
    const claim = started();
    shard.ledger.save(idOf(0), null, claim);
    expect(() => shard.ledger.save(idOf(0), null, claim)).toThrow("the record is there already");
    expect(shard.list({})).toEqual([idOf(0)]);
  }));

it("a record that expires after the last second that a bucket can name is in the last bucket", () =>
  inShard((shard) => {
    const claim = started(epochMs(2 ** 33 * 1000));
    shard.ledger.save(idOf(0), null, claim);
    shard.ledger.save(idOf(0), shard.ledger.find(idOf(0)), completed(claim, claim.attempt.startedAt), { response });
    expect(shard.reopen().find(idOf(0))?.rowLocation).toEqual({ expiryBucket: 2 ** 32 - 3, slot: 0 });
    expect(shard.ledger.expired.erase(epochMs((2 ** 32 - 4) * 1000), 10)).toBe(0);
    // Nothing is erased from there: records that cannot be read are set aside in it.
    expect(shard.ledger.expired.erase(epochMs(2 ** 34 * 1000), 10)).toBe(0);
  }));

describe("the home of an id", () => {
  it("is always the same, because stored records depend on it", () => {
    const ids = ["0", "8b760544e5f4", "fff"].map((begin) => begin.padEnd(64, "0123456789abcdef"));
    expect(ids.map(preferredSlotOf)).toEqual([889603, 1169732765, 2147340836]);
  });

  const hex = (digits: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...Array.from("0123456789abcdef")), minLength: digits, maxLength: digits });

  it("is in its bucket, in the range of its beginning", () => {
    fc.assert(
      fc.property(hex(64), (id) => {
        expect(Math.floor(preferredSlotOf(id) / 2 ** 19)).toBe(Number.parseInt(id.slice(0, 3), 16));
      }),
    );
  });

  it.each<[string, (number: string) => string, number]>([
    ["several callers with one key", (number) => "a".repeat(32) + number, 0.97],
    ["one caller with many keys", (number) => number + number, 0.999],
  ])("differs between %s", async (_what, name, share) => {
    const ids = await Promise.all(
      Array.from({ length: 20_000 }, async (_, number) => {
        const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(String(number)));
        return name(Buffer.from(hash).toString("hex").slice(0, 32));
      }),
    );
    expect(new Set(ids.map(preferredSlotOf)).size).toBeGreaterThan(share * ids.length);
  });

  it("is taken, sometimes: then the record lies beside it", () =>
    inShard((shard) => {
      const one = "abc".padEnd(64, "0");
      let other = one;
      for (let number = 1; other === one || preferredSlotOf(other) !== preferredSlotOf(one); number += 1) {
        other = `abc${number.toString(16).padStart(61, "0")}`;
      }
      const claim = started();
      for (const id of [one, other]) shard.ledger.save(recordId(id), null, claim);
      const reopened = shard.reopen();
      const places = [one, other].map((id) => reopened.find(recordId(id))?.rowLocation.slot ?? 0);
      expect(places[0]).toBe(preferredSlotOf(one));
      expect(places[1]).not.toBe(preferredSlotOf(one));
      expect(Math.abs((places[1] ?? 0) - preferredSlotOf(one))).toBeLessThanOrEqual(7);
    }));
});

it("after the last slot of a bucket comes the first of the next", () => {
  expect(nextRowLocation({ expiryBucket: 5, slot: 7 })).toEqual({ expiryBucket: 5, slot: 8 });
  expect(nextRowLocation({ expiryBucket: 5, slot: LAST_SLOT })).toEqual({ expiryBucket: 6, slot: 0 });
});
