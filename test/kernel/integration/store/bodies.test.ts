// Bodies apart from their records: which rows they cost, who owns them after a crash, and how much one slice of the alarm erases.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { epochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import { CHUNK_BYTES, ERASE_BYTES, ERASE_ROWS } from "../../../../src/kernel/store/bodies.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { fitsRow, storedHeadText, IN_ROW_BYTES } from "../../../../src/kernel/store/response-rows.ts";
import type { LedgerSql } from "../../../../src/kernel/store/schema.ts";
import { completed, freshId, HOUR_MS, NOW, response, started } from "../../../support/integration/records.ts";

const LATER = epochMs(NOW + 48 * HOUR_MS);
const HEAD = storedHeadText(response);

class Store {
  readonly #storage: DurableObjectStorage;
  rowsWritten = 0;
  ledger: Ledger;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.ledger = this.open();
  }

  /** A new instance, which remembers nothing. */
  open(): Ledger {
    const { sql } = this.#storage;
    const counted: LedgerSql = {
      exec: <T extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]) => {
        const cursor = sql.exec<T>(query, ...values);
        this.rowsWritten += cursor.rowsWritten;
        return cursor;
      },
    };
    this.ledger = new Ledger({ sql: counted, transactionSync: (run) => this.#storage.transactionSync(run) });
    return this.ledger;
  }

  count(table: "chunks" | "discarded" | "records"): number {
    return this.#storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n;
  }

  /** From now on no record can be erased. */
  failErasing(): void {
    const fails = "CREATE TRIGGER fails BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'the disk fails'); END";
    this.#storage.sql.exec(fails);
  }

  /** How many rows `run` writes. */
  written(run: () => void): number {
    this.rowsWritten = 0;
    run();
    return this.rowsWritten;
  }

  /** Completes a record with a body that came whole. Returns how many rows that wrote. */
  complete(bytes: number, id: RecordId = freshId()): number {
    const claim = started();
    return this.written(() => {
      this.ledger.save(id, null, claim);
      const body = { kind: "inline", bytes: new Uint8Array(bytes).fill(3) } as const;
      this.ledger.save(id, this.ledger.find(id), completed(claim), { response: { ...response, body } });
    });
  }

  /** Completes a record whose body came in chunks of these sizes. */
  stream(sizes: readonly number[]): RecordId {
    const id = freshId();
    const claim = started();
    this.ledger.save(id, null, claim);
    const own = this.ledger.claimedBody(id);
    sizes.forEach((size, number) => {
      this.ledger.bodies.append(own, number, new Uint8Array(size), number === 0 ? HEAD : null);
    });
    const body = { kind: "chunks", body: own, count: sizes.length, size: sizes.reduce((a, b) => a + b, 0) } as const;
    this.ledger.save(id, this.ledger.find(id), completed(claim), { response: { ...response, body } });
    return id;
  }
}

function inStore<T>(run: (store: Store) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => run(new Store(storage)));
}

describe("a key's whole life", () => {
  it.each([
    ["no body", 0, 3],
    ["a body of 4 kB", 4_000, 3],
    ["a body that fits its record's row", IN_ROW_BYTES - 100, 3],
    ["a body that does not", IN_ROW_BYTES + 1, 5],
    ["a body of 200 kB", 200_000, 5],
    ["a body that comes whole, and takes four chunks", 1 << 20, 3 + 2 * 4],
  ])("writes no more than its rows with %s", async (_what, bytes, rows) => {
    await inStore((store) => {
      const made = store.complete(bytes);
      const erased = store.written(() => store.ledger.expired.erase(LATER, 10));
      expect(made + erased).toBe(rows);
      expect([store.count("records"), store.count("chunks"), store.count("discarded")]).toEqual([0, 0, 0]);
    });
  });

  it("writes two rows more for each chunk of a stream", async () => {
    await inStore((store) => {
      const made = store.written(() => store.stream([10, 20, 30]));
      expect(made + store.written(() => store.ledger.expired.erase(LATER, 10))).toBe(3 + 2 * 3);
      expect(store.count("chunks")).toBe(0);
    });
  });
});

it("keeps a response in its record's row up to the bound of headers and body together", async () => {
  await inStore((store) => {
    const most =
      IN_ROW_BYTES - response.statusText.length - response.headers.flat().join("").length - 6 * response.headers.length;
    const inline = { ...response, body: { kind: "inline", bytes: new Uint8Array() } } as const;
    expect([most, most + 1].map((bytes) => fitsRow(inline, bytes))).toEqual([true, false]);
    for (const [bytes, chunks] of [
      [most, 0],
      [most + 1, 1],
    ] as const) {
      const id = freshId();
      store.complete(bytes, id);
      expect(store.count("chunks")).toBe(chunks);
      const found = store.open().find(id)?.response;
      const body = { kind: "inline", bytes: new Uint8Array(bytes).fill(3) };
      expect(found).toEqual({ ...response, body });
    }
  });
});

describe("after a crash", () => {
  it("half a body belongs to the claim of its attempt, and is erased when that ends", async () => {
    await inStore((store) => {
      const id = freshId();
      const claim = started();
      store.ledger.save(id, null, claim);
      store.ledger.bodies.append(store.ledger.claimedBody(id), 0, new Uint8Array(10));
      const next = store.open();
      const lost = { ...claim, state: "unknown", expiresAt: LATER, verifyAt: null, verifications: 0 } as const;
      next.save(id, next.find(id), lost);
      next.bodies.eraseSome();
      expect([store.count("chunks"), store.count("discarded")]).toEqual([0, 0]);
      expect(next.find(id)?.body).toBeNull();
    });
  });

  it.each<[string, (store: Store) => void]>([
    ["a claim has, although nothing of its body was written", (store) => store.ledger.save(freshId(), null, started())],
    ["a completed record's body has", (store) => void store.stream([1, 2])],
    ["a lent body has, although nothing of it was written", (store) => void store.ledger.bodies.lend()],
    [
      "a discarded body has",
      (store) => {
        const id = store.stream([1]);
        store.ledger.save(id, store.ledger.find(id), null);
      },
    ],
  ])("no new body gets the number that %s", async (_what, begin) => {
    await inStore((store) => {
      begin(store);
      const before = store.ledger.bodies.allot();
      // The number before it was in use; `before` itself was not.
      expect(store.open().bodies.allot()).toBe(before);
      expect(before).toBe(2);
    });
  });

  it("a record that names no body any more discards none, also if its number is in use again", async () => {
    await inStore((store) => {
      const id = freshId();
      const claim = started();
      store.ledger.save(id, null, claim);
      const lost = { ...claim, state: "unknown", expiresAt: LATER, verifyAt: null, verifications: 0 } as const;
      store.ledger.save(id, store.ledger.find(id), lost);
      store.open();
      const other = store.stream([7]);
      store.ledger.save(id, store.ledger.find(id), null);
      while (store.ledger.bodies.hasErasable()) store.ledger.bodies.eraseSome();
      expect(store.count("chunks")).toBe(1);
      expect(store.ledger.find(other)?.response?.body).toEqual({ kind: "inline", bytes: new Uint8Array(7) });
    });
  });
});

describe("one slice of erasing", () => {
  const FIT = Math.ceil(ERASE_BYTES / 200_000);

  it("of expired records ends with the body that brings it to its bytes", async () => {
    await inStore((store) => {
      for (let count = 0; count < 2 * FIT + 1; count += 1) store.complete(200_000);
      const slices = [1, 2, 3, 4].map(() => store.ledger.expired.erase(LATER, 500));
      expect(slices).toEqual([FIT, FIT, 1, 0]);
      expect([store.count("chunks"), store.count("discarded")]).toEqual([0, 0]);
    });
  });

  it("of expired records ends with its rows, chunks included", async () => {
    await inStore((store) => {
      for (let count = 0; count < 3; count += 1) store.stream(Array.from({ length: ERASE_ROWS / 2 }, () => 1));
      expect([1, 2].map(() => store.ledger.expired.erase(LATER, 500))).toEqual([2, 1]);
      expect(store.count("chunks")).toBe(0);
    });
  });

  it.each([
    [
      "bytes",
      Array.from({ length: 3 + 2 * (ERASE_BYTES / CHUNK_BYTES) }, () => CHUNK_BYTES),
      ERASE_BYTES / CHUNK_BYTES,
    ],
    ["rows", Array.from({ length: 3 + 2 * ERASE_ROWS }, () => 1), ERASE_ROWS],
  ])("of a discarded body ends with its %s; its record is gone at once", async (_what, sizes, rows) => {
    await inStore((store) => {
      store.stream(sizes);
      expect(store.ledger.expired.erase(LATER, 500)).toBe(1);
      expect([store.count("records"), store.count("chunks")]).toEqual([0, sizes.length]);
      const left = [1, 2, 3, 4].map(() => {
        store.ledger.bodies.eraseSome();
        return store.count("chunks");
      });
      expect(left).toEqual([rows + 3, 3, 0, 0]);
      expect([store.count("discarded"), store.ledger.bodies.hasErasable()]).toEqual([0, false]);
    });
  });

  it("takes in many small discarded bodies, and none that is held", async () => {
    await inStore((store) => {
      const { bodies } = store.ledger;
      const held = bodies.lend();
      bodies.append(held, 0, new Uint8Array(1));
      for (let count = 0; count < ERASE_ROWS / 2; count += 1) {
        const body = bodies.lend();
        bodies.append(body, 0, new Uint8Array(1));
        bodies.release(body);
      }
      bodies.eraseSome();
      expect([store.count("chunks"), store.count("discarded"), bodies.hasErasable()]).toEqual([1, 1, false]);
      bodies.release(held);
      bodies.eraseSome();
      expect([store.count("chunks"), store.count("discarded")]).toEqual([0, 0]);
    });
  });
});

it("erases no body whose discarding was undone", async () => {
  await inStore((store) => {
    const id = store.stream([5]);
    const { bodies } = store.ledger;
    expect(bodies.hasErasable()).toBe(false);
    store.failErasing();
    expect(() => store.ledger.save(id, store.ledger.find(id), null)).toThrow("the disk fails");
    // It is remembered as discarded, and the disk says that it is not.
    expect(bodies.hasErasable()).toBe(true);
    bodies.eraseSome();
    expect([store.count("chunks"), store.count("discarded"), bodies.hasErasable()]).toEqual([1, 0, false]);
  });
});

it("keeps the chunks of expired records whose erasing fails", async () => {
  await inStore((store) => {
    store.complete(IN_ROW_BYTES + 1);
    store.failErasing();
    expect(() => store.ledger.expired.erase(LATER, 10)).toThrow("the disk fails");
    expect([store.count("records"), store.count("chunks")]).toEqual([1, 1]);
  });
});
