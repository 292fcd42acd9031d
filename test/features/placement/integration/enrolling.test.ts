// An object's row of its enrolment and the register's rows, in workerd: what is written when, and who is called until it says yes.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { EnrolmentNotice } from "../../../../src/features/placement/enrolment.ts";
import { ObjectEnrolment } from "../../../../src/features/placement/object/enrolling.ts";
import { EnrolledRows } from "../../../../src/features/placement/object/register.ts";
import { epochMs, type EpochMs } from "../../../../src/kernel/record/units.ts";
import type { StepChange } from "../../../../src/kernel/step-hook.ts";
import { LaterTables, makeTables } from "../../../../src/kernel/store/schema.ts";

const NOW = epochMs(1_000_000);

interface Bench {
  readonly enrolment: ObjectEnrolment;
  readonly sql: SqlStorage;
  readonly calls: Pick<EnrolmentNotice, "knows">[];
  readonly alarms: EpochMs[];
  /** A step that leaves a record. */
  readonly step: (now?: EpochMs) => boolean;
  readonly settled: () => Promise<void>;
}

/** An object over which each `use` is another instance. `answer`: what the register does. */
function startObject() {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return <T>(
    run: (bench: Bench) => T | Promise<T>,
    { enrols = true, answer = () => Promise.resolve() }: { enrols?: boolean; answer?: () => Promise<void> } = {},
  ): Promise<T> =>
    runInDurableObject(stub, (_object, { storage }) => {
      const { sql } = storage;
      if (sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'records'").toArray().length === 0) makeTables(sql);
      const calls: Pick<EnrolmentNotice, "knows">[] = [];
      const alarms: EpochMs[] = [];
      const work: Promise<unknown>[] = [];
      const enrolment = new ObjectEnrolment({
        tables: new LaterTables(sql, (steps) => storage.transactionSync(steps)),
        enrols: () => enrols,
        register: (knows) => {
          calls.push(knows);
          return answer();
        },
        waitUntil: (promise) => void work.push(promise),
        alarmAt: (at) => void alarms.push(at),
      });
      const step = (now = NOW): boolean => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it reads no more of a step
        const joined = enrolment.hook.join?.({ after: {}, now } as StepChange) ?? null;
        storage.transactionSync(() => joined?.write?.());
        joined?.written();
        return joined !== null;
      };
      return run({ enrolment, sql, calls, alarms, step, settled: async () => void (await Promise.all(work)) });
    });
}

const rowsOf = (sql: SqlStorage): readonly object[] => sql.exec("SELECT registered, older FROM enrolment").toArray();

const refused = (): Promise<void> => Promise.reject(new Error("down"));

function addRecord(sql: SqlStorage): void {
  sql.exec(
    "INSERT INTO records (number, id, state, fingerprint, attempt_id, attempt, started_at, locked_until, unknown, lock_ms, retention_ms, unknown_retention_ms, key, route) VALUES (1, 'a', 'started', 'f', 'x', 1, 1, 1, 'hold', 1, 1, 1, 'k', '/')",
  );
}

describe("an object", () => {
  it("notes itself with its first key, in that key's commit, and tells the register once", async () => {
    const use = startObject();
    await use(async ({ sql, step, calls, enrolment, settled }) => {
      expect(step()).toBe(true);
      expect([rowsOf(sql), calls]).toEqual([[{ registered: 0, older: 0 }], [{}]]);
      await settled();
      expect(rowsOf(sql)).toEqual([{ registered: 1, older: 0 }]);
      expect([step(), enrolment.due.nextAt(NOW)]).toEqual([false, null]);
    });
    await use(({ step, calls, enrolment }) => {
      expect([step(), enrolment.due.nextAt(NOW), calls]).toEqual([false, null, []]);
    });
  });

  it("writes one row for it, once", async () => {
    const use = startObject();
    await use(async ({ sql, step, settled }) => {
      const exec = sql.exec.bind(sql);
      const statements: string[] = [];
      Object.defineProperty(sql, "exec", {
        value: (query: string, ...values: unknown[]) => {
          statements.push(query);
          return exec(query, ...values);
        },
      });
      step();
      await settled();
      const first = statements.splice(0).map((query) => query.split(" ")[0]);
      expect(first).toEqual(["SELECT", "CREATE", "INSERT", "UPDATE"]);
      for (let time = 0; time < 3; time += 1) step();
      expect(statements).toEqual([]);
    });
  });

  it("that was lost between its key and the register's answer registers at its alarm, as often as it takes", async () => {
    const use = startObject();
    // The call never comes back: the object is gone.
    await use(
      ({ step, alarms }) => {
        step();
        expect(alarms).toEqual([NOW + 5000]);
      },
      { answer: () => new Promise(() => undefined) },
    );
    await use(
      async ({ sql, enrolment, calls, settled }) => {
        const at = enrolment.due.nextAt(NOW) ?? epochMs(Number.NaN);
        expect(at).toBeLessThanOrEqual(NOW + 5000);
        enrolment.due.run(epochMs(NOW + 5000));
        await settled();
        expect([calls.length, rowsOf(sql), enrolment.due.nextAt(NOW)]).toEqual([
          1,
          [{ registered: 0, older: 0 }],
          NOW + 10_000,
        ]);
        // Not before its time, and less often the longer it fails.
        enrolment.due.run(epochMs(NOW + 9999));
        expect(calls).toHaveLength(1);
        enrolment.due.run(epochMs(NOW + 10_000));
        await settled();
        expect([calls.length, enrolment.due.nextAt(NOW)]).toEqual([2, NOW + 20_000]);
      },
      { answer: refused },
    );
    await use(async ({ sql, enrolment, calls, settled }) => {
      enrolment.due.run(epochMs(NOW + 60_000));
      await settled();
      expect([calls.length, rowsOf(sql), enrolment.due.nextAt(NOW)]).toEqual([1, [{ registered: 1, older: 0 }], null]);
    });
  });

  it("that had keys before it had to enrol says that there may be others", async () => {
    const use = startObject();
    await use(async ({ sql, step, calls, settled }) => {
      addRecord(sql);
      step();
      await settled();
      expect([calls, rowsOf(sql)]).toEqual([[{ knows: "older" }], [{ registered: 1, older: 1 }]]);
    });
  });

  it("that was lost says so again", async () => {
    const use = startObject();
    await use(
      ({ sql, step }) => {
        addRecord(sql);
        step();
      },
      { answer: refused },
    );
    await use(({ enrolment, calls }) => {
      enrolment.due.run(epochMs(NOW + 5000));
      expect(calls).toEqual([{ knows: "older" }]);
    });
  });

  it("of a layout that is placed does nothing, and has no table for it", async () => {
    const use = startObject();
    await use(
      ({ sql, step, enrolment, calls }) => {
        expect([step(), enrolment.due.nextAt(NOW), calls]).toEqual([false, null, []]);
        expect(sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'enrolment'").toArray()).toEqual([]);
      },
      { enrols: false },
    );
  });
});

describe("the register", () => {
  const use = <T>(run: (rows: EnrolledRows, again: () => EnrolledRows) => T): Promise<T> =>
    runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), (_object, { storage }) => {
      const open = () => new EnrolledRows(new LaterTables(storage.sql, (steps) => storage.transactionSync(steps)));
      return run(open(), open);
    });

  it("knows the objects of each layout, also in another instance", () =>
    use((rows, again) => {
      expect(rows.of("64")).toEqual({ numbers: [], isPartial: false });
      expect(rows.add({ layout: "64", numbers: [3] })).toBe(true);
      rows.add({ layout: "64", numbers: [3] });
      rows.add({ layout: "64", numbers: [11] });
      rows.add({ layout: "64b", numbers: [0] });
      for (const one of [rows, again()]) {
        expect(one.of("64")).toEqual({ numbers: [3, 11], isPartial: false });
        expect(one.of("64b")).toEqual({ numbers: [0], isPartial: false });
        expect(one.of("6")).toEqual({ numbers: [], isPartial: false });
      }
    }));

  it("is partial from an older object on until all have been asked", () =>
    use((rows, again) => {
      rows.add({ layout: "64", numbers: [3], knows: "older" });
      rows.add({ layout: "64", numbers: [4] });
      expect(again().of("64")).toEqual({ numbers: [3, 4], isPartial: true });
      rows.add({ layout: "64", numbers: [1, 3], knows: "all" });
      expect(again().of("64")).toEqual({ numbers: [1, 3, 4], isPartial: false });
    }));
});
