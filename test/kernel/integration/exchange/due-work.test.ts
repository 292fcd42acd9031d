// What an alarm costs and delays: due work is found without reading the rest, a large loss is handled in slices, and no
// question to the origin delays the alarm, an expired record, or another route's question.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { IdempotencyRecord, Started, Unknown } from "../../../../src/kernel/record/record.ts";
import { epochMs, recordId, type RecordId } from "../../../../src/kernel/record/units.ts";
import { LOCKS_AT_ONCE } from "../../../../src/kernel/object/exchanges.ts";
import { ERASE_ROWS } from "../../../../src/kernel/store/bodies.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { countRows, type Rows } from "../../../support/integration/counted-sql.ts";
import { completed, freshId, nextDeadline, policy, response, started } from "../../../support/integration/records.ts";
import { again, headOf, heldAnswer, LOCK_MS, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";
import { eventually } from "../../../support/eventually.ts";

standStill(["error", "warn"]);

/** A shard's object as an earlier instance has left it, then in a new instance. */
class LeftShard {
  readonly stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  /** When the new instance's alarm is due. Only the test delivers it, never the platform. */
  alarmAt: number | null = null;

  async leave(
    records: readonly (readonly [id: RecordId, record: IdempotencyRecord, route?: string, verification?: string])[],
  ): Promise<void> {
    await runInDurableObject(this.stub, async (_instance, { storage }) => {
      const ledger = new Ledger(storage);
      for (const [id, record, route = "/", verification = null] of records) {
        const kept = record.state === "completed" ? { response } : {};
        ledger.save(id, null, record, { ...kept, verification: () => verification, label: { key: id, route } });
      }
      await storage.setAlarm(Date.now() + 3_600_000);
    });
    await evictDurableObject(this.stub);
    await runInDurableObject(this.stub, (_instance, { storage }) => {
      const setAlarm = (time: number): Promise<void> => {
        this.alarmAt = time;
        return Promise.resolve();
      };
      Object.defineProperty(storage, "setAlarm", { value: setAlarm, configurable: true });
    });
  }

  /** Delivers the alarm once, and counts the rows read and written. */
  alarm(): Promise<Rows> {
    return runInDurableObject(this.stub, async (instance, { storage }) => {
      const { sql } = storage;
      const exec = sql.exec.bind(sql);
      const counted = countRows({ exec });
      Object.defineProperty(sql, "exec", { value: counted.sql.exec, configurable: true });
      await instance.alarm?.();
      Object.defineProperty(sql, "exec", { value: exec, configurable: true });
      return counted.take();
    });
  }

  countOf(state: IdempotencyRecord["state"]): Promise<number> {
    return runInDurableObject(
      this.stub,
      (_instance, { storage }) =>
        storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM records WHERE state = ?", state).one().n,
    );
  }
}

/** Under `verify`. */
const verifying = { ...policy, unknown: "verify" } as const;

/** Not yet to be asked about. */
function waiting(at = Date.now() + 600_000): Unknown {
  const { fingerprint, attempt } = started(epochMs(Date.now() - 60_000));
  const expiresAt = epochMs(Date.now() + policy.unknownRetentionMs);
  return {
    state: "unknown",
    fingerprint,
    attempt,
    policy: verifying,
    verifyAt: epochMs(at),
    verifications: 0,
    expiresAt,
  };
}

describe("an alarm", () => {
  it.each([10, 1000, 10_000])(
    "reads the same number of rows for a lock that ends, also with %i others in flight",
    async (others) => {
      const shard = new LeftShard();
      const now = Date.now();
      const recent = Array.from({ length: others / 2 }, () => [freshId(), started(epochMs(now))] as const);
      const uncertain = Array.from({ length: others / 2 }, () => [freshId(), waiting()] as const);
      const lost = (): readonly [RecordId, Started] => [freshId(), started(epochMs(now - LOCK_MS))];
      const ending = [freshId(), started(epochMs(now - LOCK_MS + 1000))] as const;
      await shard.leave([...recent, ...uncertain, lost(), ending]);
      // The first alarm of an instance reads what is stored.
      await shard.alarm();
      expect(await shard.countOf("unknown")).toBe(others / 2 + 1);
      expect(await shard.alarm()).toEqual({ read: 16, written: 0 });
      vi.setSystemTime(now + 1000);
      expect(await shard.alarm()).toEqual({ read: 23, written: 2 });
      expect(await shard.countOf("unknown")).toBe(others / 2 + 2);
    },
  );

  it("finds the due one among ten thousand questions, and reads no other", async () => {
    const bench = new ShardBench();
    const shard = new LeftShard();
    const asked: string[] = [];
    bench.origin = (request) => {
      asked.push(new URL(request.url).pathname);
      return new Response("it happened");
    };
    const due = [freshId(), waiting(Date.now() - 1), "/b", questionAt("/due")] as const;
    const others = Array.from({ length: 10_000 }, () => [freshId(), waiting(), "/a", questionAt("/other")] as const);
    await shard.leave([...others, due]);
    const { read } = await shard.alarm();
    expect(read).toBe(84);
    await eventually(async () => expect(await shard.countOf("completed")).toBe(1));
    expect(asked).toEqual(["/due"]);
  });

  it("ends the locks of 1,000 lost attempts in slices, oldest first, and comes again at once", async () => {
    const shard = new LeftShard();
    const now = Date.now();
    const lost = Array.from({ length: 1000 }, (_, index) => {
      return [recordId(String(index).padStart(4, "0")), started(epochMs(now - 100_000 - index))] as const;
    });
    await shard.leave(lost.toReversed());
    for (let done = LOCKS_AT_ONCE; done <= 300; done += LOCKS_AT_ONCE) {
      await shard.alarm();
      expect(await shard.countOf("unknown")).toBe(done);
      expect(shard.alarmAt).toBe(Date.now() + 1);
    }
    const [left] = await runInDurableObject(shard.stub, (_instance, { storage }) =>
      storage.sql.exec<{ id: string }>("SELECT max(id) AS id FROM records WHERE state = 'started'").toArray(),
    );
    expect(left?.id).toBe("0699");
  });

  it("settles all others however many records cannot be read, and tries those again after a pause", async () => {
    const shard = new LeftShard();
    const now = Date.now();
    const lost = (ageMs: number) => [freshId(), started(epochMs(now - ageMs))] as const;
    const unreadable = Array.from({ length: LOCKS_AT_ONCE + 1 }, (_, n) => lost(200_000 + n));
    await shard.leave([...unreadable, lost(100_000), lost(100_001)]);
    await runInDurableObject(shard.stub, (_instance, { storage }) => {
      for (const [id] of unreadable) storage.sql.exec("UPDATE records SET unknown = 'later' WHERE id = ?", id);
    });
    await shard.alarm();
    expect(await shard.countOf("unknown")).toBe(0);
    expect(shard.alarmAt).toBe(now + 1);
    await shard.alarm();
    expect(await shard.countOf("unknown")).toBe(2);
    expect(shard.alarmAt).toBe(now + 3_600_000);
  });

  it("costs a claim no scan: the next deadline is found without reading the records in flight", async () => {
    const shard = new LeftShard();
    const now = Date.now();
    await shard.leave(Array.from({ length: 5000 }, () => [freshId(), started(epochMs(now))] as const));
    const rows = await runInDurableObject(shard.stub, (_instance, { storage }) => {
      const { sql } = storage;
      let read: { readonly rowsRead: number }[] = [];
      const counted = {
        exec: <T extends Record<string, SqlStorageValue>>(query: string, ...bindings: SqlStorageValue[]) => {
          const cursor = sql.exec<T>(query, ...bindings);
          read.push(cursor);
          return cursor;
        },
      };
      const ledger = new Ledger({ sql: counted, transactionSync: (run) => storage.transactionSync(run) });
      const next = (): number => {
        read = [];
        nextDeadline(ledger);
        return read.reduce((sum, cursor) => sum + cursor.rowsRead, 0);
      };
      return [next(), next()];
    });
    // The earlier instance's records are read once.
    expect(rows[0]).toBeGreaterThanOrEqual(5000);
    expect(rows[1]).toBe(1);
  });
});

/** The paths of the questions, which are all answered with "it happened". */
function askedPaths(): readonly string[] {
  const bench = new ShardBench();
  const asked: string[] = [];
  bench.origin = (request) => {
    asked.push(new URL(request.url).pathname);
    return new Response("it happened");
  };
  return asked;
}

/** A question that shows the test its route. */
function questionAt(path: string): string {
  return JSON.stringify({
    origin: { kind: "zone" },
    url: `https://api.example${path}`,
    headers: [],
    timeoutMs: 20_000,
    idleTimeoutMs: 20_000,
    maxBytes: 1 << 20,
  });
}

describe("a question that is not answered", () => {
  it("delays neither the alarm nor the erasure of expired records", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Promise(() => undefined);
    const shard = new LeftShard();
    const old = completed(started(epochMs(1)), epochMs(1));
    const due = [freshId(), waiting(Date.now() - 1), "/a", questionAt("/a")] as const;
    await shard.leave([...Array.from({ length: 2.5 * ERASE_ROWS }, () => [freshId(), old] as const), due]);
    for (const left of [1.5 * ERASE_ROWS, 0.5 * ERASE_ROWS, 0]) {
      // The alarm returns although the origin has not answered.
      await shard.alarm();
      expect(await shard.countOf("completed")).toBe(left);
    }
    expect(bench.calls).toHaveLength(1);
  });

  it("does not make the alarm come repeatedly, and is checked when its instance may be lost", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Promise(() => undefined);
    const shard = new LeftShard();
    const now = Date.now();
    await shard.leave([[freshId(), waiting(now), "/a", questionAt("/a")]]);
    await shard.alarm();
    // The pause before the next question is over before this one is.
    vi.setSystemTime(now + 5000);
    await shard.alarm();
    expect(bench.calls).toHaveLength(1);
    expect(shard.alarmAt).toBe(now + 5000 + 35_000);
  });

  it("does not delay other routes: at most two questions of a route are at the origin, and four in all", async () => {
    const bench = new ShardBench();
    const asked: string[] = [];
    bench.origin = (request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      return pathname === "/well" ? new Response("it happened") : new Promise(() => undefined);
    };
    const shard = new LeftShard();
    const before = Date.now() - 10_000;
    const hanging = ["/a", "/b"].flatMap((route) =>
      Array.from({ length: 500 }, () => [freshId(), waiting(before), route, questionAt(route)] as const),
    );
    // The answered ones have waited for a shorter time than all others.
    const well = Array.from(
      { length: 20 },
      () => [freshId(), waiting(before + 1), "/well", questionAt("/well")] as const,
    );
    await shard.leave([...hanging.filter(([, , route]) => route === "/a"), ...well]);
    await shard.alarm();
    // Each answer lets the next question start, and none waits for the hanging ones.
    await eventually(async () => expect(await shard.countOf("completed")).toBe(20));
    expect(asked.filter((path) => path === "/a")).toHaveLength(2);

    const all = new LeftShard();
    asked.length = 0;
    await all.leave(hanging);
    await all.alarm();
    await eventually(() => expect(asked.toSorted()).toEqual(["/a", "/a", "/b", "/b"]));
  });

  it("about a record that cannot be read delays no other, and comes again after a pause", async () => {
    const asked = askedPaths();
    const shard = new LeftShard();
    const now = Date.now();
    const unreadable = ["/a", "/b"].flatMap((route) =>
      Array.from({ length: 5 }, () => [freshId(), waiting(now - 1000), route, questionAt("/never")] as const),
    );
    const others = ["/a", "/b"].map((route) => [freshId(), waiting(now - 500), route, questionAt(route)] as const);
    await shard.leave([...unreadable, ...others]);
    await runInDurableObject(shard.stub, (_instance, { storage }) => {
      for (const [id] of unreadable) storage.sql.exec("UPDATE records SET unknown = 'later' WHERE id = ?", id);
    });
    await shard.alarm();
    await eventually(async () => expect(await shard.countOf("completed")).toBe(2));
    expect(asked.toSorted()).toEqual(["/a", "/b"]);
    vi.setSystemTime(now + 3_600_000);
    await runInDurableObject(shard.stub, (_instance, { storage }) => {
      for (const [id] of unreadable) storage.sql.exec("UPDATE records SET unknown = 'verify' WHERE id = ?", id);
    });
    await shard.alarm();
    await eventually(async () => expect(await shard.countOf("completed")).toBe(12));
  });

  it("is asked in the order of waiting time within its route", async () => {
    const asked = askedPaths();
    const shard = new LeftShard();
    const paths = ["/3", "/1", "/4", "/2", "/0"];
    await shard.leave(
      paths.map((path) => [freshId(), waiting(Date.now() - 1000 + Number(path.slice(1))), "/", questionAt(path)]),
    );
    await shard.alarm();
    await eventually(() => expect(asked).toHaveLength(5));
    expect(asked).toEqual(["/0", "/1", "/2", "/3", "/4"]);
  });
});

/** A shard that has lost an attempt under `verify`, after the lock's end. */
async function withLostAttempt(headers: readonly (readonly [string, string])[] = []) {
  const bench = new ShardBench();
  bench.origin = () => new Promise(() => undefined);
  const plain = headOf({}, "verify");
  const verification = plain.verification === null ? null : { ...plain.verification, headers };
  const head = { ...plain, verification };
  void bench.send(messageOf(head)).catch(() => undefined);
  await bench.called(1);
  await bench.lose();
  vi.setSystemTime(Date.now() + LOCK_MS);
  const by = (name: string): typeof head => ({
    ...again(head),
    verification: verification === null ? null : { ...verification, headers: [["authorization", name]] },
  });
  return { bench, head, by };
}

describe("a question of a duplicate", () => {
  const claimant = [["authorization", "alice"]] as const;

  /** The origin's answer to each caller's question, by credential. Other calls get the operation's answer. */
  const telling =
    (answers: Readonly<Record<string, number>>) =>
    (request: Request): Response => {
      const who = request.headers.get("authorization") ?? "nobody";
      if (request.method !== "GET") return new Response("second", { status: 201 });
      return new Response(`told to ${who}`, { status: answers[who] ?? 500 });
    };

  it("is asked with the claim's credential, whichever caller comes: another caller's 404 proves nothing", async () => {
    const { bench, head, by } = await withLostAttempt(claimant);
    bench.origin = telling({ alice: 500, bob: 404 });
    for (let duplicate = 0; duplicate < 3; duplicate += 1) {
      expect(await bench.send(messageOf(by("bob")))).toMatchObject({ status: 409, code: "outcome-unknown" });
    }
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "unknown", attempt: { number: 1 } });
    expect(bench.calls.filter((call) => call.startsWith("POST"))).toHaveLength(1);
  });

  it("is asked with the caller's own credential only if the claim's is no longer accepted, and then a 404 proves nothing", async () => {
    const { bench, head, by } = await withLostAttempt(claimant);
    bench.origin = telling({ alice: 401, bob: 404 });
    expect(await bench.send(messageOf(by("bob")))).toMatchObject({ status: 409, code: "outcome-unknown" });
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "unknown" });
    expect(bench.calls).toEqual(["POST /act 1", "GET /look-up -", "GET /look-up -"]);
  });

  it.each([401, 403])(
    "counts with the caller's own where the claim's is answered %d, and the origin reports an effect",
    async (status) => {
      const { bench, head, by } = await withLostAttempt(claimant);
      bench.origin = telling({ alice: status, bob: 200 });
      expect(await bench.send(messageOf(by("bob")))).toMatchObject({
        status: 200,
        text: "told to bob",
        isReplay: true,
      });
      expect(await bench.stored(head.record.id)).toMatchObject({ state: "completed", status: 200 });
    },
  );

  it("is asked after one of the alarm's that was under way, which had no caller's credential", async () => {
    const { bench, head, by } = await withLostAttempt(claimant);
    const answer = telling({ alice: 401, bob: 200 });
    const first = heldAnswer(() =>
      answer(new Request("https://origin.example", { headers: { authorization: "alice" } })),
    );
    bench.origin = (request, number) => (number === 2 ? first.origin(request, number) : answer(request));
    await bench.alarm();
    await bench.called(2);
    const answered = bench.send(messageOf(by("bob")));
    // The object has begun with the duplicate when this turn comes.
    await bench.within(() => undefined);
    first.release();
    expect(await answered).toMatchObject({ status: 200, text: "told to bob" });
    expect(await bench.stored(head.record.id)).toMatchObject({ state: "completed" });
    expect(bench.calls).toEqual(["POST /act 1", ...Array<string>(3).fill("GET /look-up -")]);
  });

  it("lets the next attempt start when the claim's own credential gets 404, whichever caller asks", async () => {
    const { bench, by } = await withLostAttempt(claimant);
    bench.origin = telling({ alice: 404, bob: 404 });
    expect(await bench.send(messageOf(by("bob")))).toMatchObject({ status: 201, text: "second" });
    expect(bench.calls).toEqual(["POST /act 1", "GET /look-up -", "POST /act 2"]);
  });
});
