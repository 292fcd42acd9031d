// The events in an object's database: which of them are found as due, in which order, and what is left of them.

import { env, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EVERY_LANE } from "../../../../src/kernel/record/outbox.ts";
import { epochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import type { OutboxRows } from "../../../../src/features/outbox/object/rows.ts";
import { completed, freshId, HOUR_MS, NOW, started } from "../../../support/integration/records.ts";
import { DEAD } from "../../../../src/features/outbox/object/outbox-tables.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";
import { saveWithEvents } from "./saved-events.ts";

function inLedger(run: (ledger: Ledger, store: OutboxStore, storage: DurableObjectStorage) => void): Promise<void> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  return runInDurableObject(stub, (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    run(ledger, new OutboxStore(ledger.tables), storage);
  });
}

function publish(ledger: Ledger, ids: readonly string[], destination = "hook", lane = 0): RecordId {
  const record = freshId();
  const claim = started();
  ledger.save(record, null, claim);
  const events = ids.map((id) => ({ id, destination, lane, event: JSON.stringify({ id }) }));
  const done = completed(claim);
  saveWithEvents(ledger, record, done, events, { due: done.completedAt });
  return record;
}

const ALL = { events: 1000, bytes: Number.POSITIVE_INFINITY };
const FAR = epochMs(NOW + 1000 * HOUR_MS);

function due(outbox: OutboxRows, destination = "hook", now = FAR): readonly string[] {
  return outbox.due(destination, 0, now, ALL).map(({ id }) => id);
}

describe("after a clock that was ahead", () => {
  const DAY_MS = 24 * HOUR_MS;

  it("what was set in the future is due now, however near it is: events of each lane, and rests; the others stay", () =>
    inLedger((ledger, store, storage) => {
      publish(ledger, ["a", "b"]);
      publish(ledger, ["c"], "hook", 1);
      const { events: outbox } = store;
      const [a, c] = [outbox.due("hook", 0, FAR, ALL)[0], outbox.due("hook", 1, FAR, ALL)[0]];
      if (a === undefined || c === undefined) throw new Error("an event is missing");
      outbox.move(a, NOW + 2, { at: epochMs(NOW + 1) });
      outbox.move(c, NOW + DAY_MS, { at: NOW });
      const rest = { failures: 1, reason: "down" };
      outbox.rests.put("hook", 3, { ...rest, until: epochMs(NOW + 2), setAt: epochMs(NOW + 1) });
      outbox.rests.put("hook", 4, { ...rest, until: epochMs(NOW + DAY_MS), setAt: NOW });
      expect(store.list.bringBack(NOW, 9)).toBe(2);
      for (const rows of [outbox, new OutboxStore(new Ledger(storage).tables).events]) {
        expect(due(rows, "hook", NOW)).toContain("a");
        expect(rows.due("hook", 1, NOW, ALL)).toEqual([]);
        expect(rows.rests.of("hook").get(3)).toMatchObject({ until: NOW, setAt: NOW });
        expect(rows.rests.of("hook").get(4)).toMatchObject({ until: NOW + DAY_MS, setAt: NOW });
      }
      expect(store.list.bringBack(NOW, 9)).toBe(0);
    }));

  it("dead events stay dead", () =>
    inLedger((ledger, store) => {
      publish(ledger, ["a"]);
      const [event] = store.events.due("hook", 0, FAR, ALL);
      if (event === undefined) throw new Error("the event is missing");
      store.events.move(event, DEAD + NOW, { at: epochMs(NOW + 1) });
      expect(store.list.bringBack(NOW, 9)).toBe(0);
    }));
});

describe("the outbox", () => {
  it("has no tables in an object without events", () =>
    inLedger((ledger, store, storage) => {
      const claim = started();
      const id = freshId();
      ledger.save(id, null, claim);
      ledger.save(id, ledger.find(id), completed(claim));
      expect(storage.sql.exec("SELECT 1 FROM sqlite_schema WHERE name IN ('outbox', 'resting')").toArray()).toEqual([]);
      expect(store.events.destinations()).toEqual([]);
    }));

  it("has the events of a result, or neither, if the transaction fails", () =>
    inLedger((ledger, _store, storage) => {
      const record = freshId();
      const claim = started();
      ledger.save(record, null, claim);
      storage.sql.exec("CREATE TRIGGER full BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'full'); END");
      const events = [{ id: "1", destination: "hook", lane: 0, event: "{}" }];
      const complete = (): void =>
        saveWithEvents(ledger, record, completed(claim), events, { due: completed(claim).completedAt });
      expect(complete).toThrow("full");
      expect(new OutboxStore(new Ledger(storage).tables).events.destinations()).toEqual([]);
      storage.sql.exec("DROP TRIGGER full");
      complete();
      expect(new OutboxStore(new Ledger(storage).tables).events.due("hook", 0, FAR, ALL)).toMatchObject([
        { id: "1", record, tries: 0, since: completed(claim).completedAt, last: null, event: "{}" },
      ]);
    }));

  it("gives no more than a call takes, but at least one", () =>
    inLedger((ledger, store) => {
      publish(ledger, ["1", "2", "3"]);
      const take = (events: number, bytes: number): readonly string[] =>
        store.events.due("hook", 0, FAR, { events, bytes }).map(({ id }) => id);
      expect(take(2, 1000)).toEqual(["1", "2"]);
      expect(take(100, 1)).toEqual(["1"]);
      const [first] = store.events.due("hook", 0, FAR, ALL);
      expect(take(100, 3 * 2 * (first?.event.length ?? 0))).toEqual(["1", "2"]);
    }));

  it("gives an event that has failed alone, and finds the one of a lane that has failed least", () =>
    inLedger((ledger, store) => {
      const { events: outbox } = store;
      publish(ledger, ["1", "2", "3", "4"]);
      const [one, , three] = outbox.due("hook", 0, FAR, ALL);
      if (one === undefined || three === undefined) throw new Error("no events");
      outbox.move(one, one.due + 2, { at: NOW, tries: 2 });
      outbox.move(three, three.due + 1, { at: NOW, tries: 1 });
      expect(due(outbox)).toEqual(["2", "4"]);
      expect(outbox.leastTried("hook", 0, FAR).map(({ id }) => id)).toEqual(["2"]);
      outbox.delete(outbox.due("hook", 0, FAR, ALL));
      expect(due(outbox)).toEqual(["3"]);
      outbox.delete(outbox.due("hook", 0, FAR, ALL));
      expect(outbox.leastTried("hook", 0, FAR).map(({ id }) => id)).toEqual(["1"]);
    }));

  it("keeps callers apart, so that what one has waiting hides nothing of another", () =>
    inLedger((ledger, store) => {
      const { events: outbox } = store;
      publish(ledger, ["1", "2"], "hook", 3);
      publish(ledger, ["3"], "hook", 7);
      expect(outbox.lanes("hook")).toMatchObject([
        { lane: 3, death: null },
        { lane: 7, death: null },
      ]);
      expect(outbox.due("hook", 7, FAR, ALL)).toMatchObject([{ id: "3", lane: 7 }]);
    }));

  it("leaves an event that lies where another lay that is gone", () =>
    inLedger((ledger, store) => {
      const { events: outbox } = store;
      publish(ledger, ["1"]);
      const taken = outbox.due("hook", 0, FAR, ALL);
      // An operator drops it while it is being sent, and the next result comes in the same millisecond.
      outbox.delete(taken);
      publish(ledger, ["2"]);
      expect(outbox.due("hook", 0, FAR, ALL)).toMatchObject([{ due: taken[0]?.due, seq: taken[0]?.seq }]);
      outbox.delete(taken);
      for (const one of taken) outbox.move(one, DEAD, { at: NOW });
      expect(due(outbox)).toEqual(["2"]);
      expect(outbox.lanes("hook")).toMatchObject([{ death: null }]);
    }));

  it("remembers which lanes rest when the object is lost, and keeps no row of one that does not", () =>
    inLedger((ledger, store, storage) => {
      publish(ledger, ["1"]);
      const rest = { until: FAR, setAt: NOW, failures: 3, reason: "status 500" };
      const rows = (): unknown => storage.sql.exec("SELECT count(*) AS n FROM resting").one()["n"];
      for (let failures = 1; failures < 9; failures += 1) {
        for (let lane = 0; lane <= EVERY_LANE; lane += 1) store.events.rests.put("hook", lane, { ...rest, failures });
      }
      expect(rows()).toBe(EVERY_LANE + 1);
      for (let lane = 0; lane < EVERY_LANE; lane += 1) store.events.rests.end("hook", lane);
      expect(new OutboxStore(new Ledger(storage).tables).events.rests.of("hook")).toEqual(
        new Map([[EVERY_LANE, { ...rest, failures: 8 }]]),
      );
      store.events.rests.endAll("hook");
      expect(new OutboxStore(new Ledger(storage).tables).events.rests.of("hook")).toEqual(new Map());
      expect(rows()).toBe(0);
    }));

  it("notes the tries of events that were sent together, and gives them together again", () =>
    inLedger((ledger, store) => {
      const { events: outbox } = store;
      publish(ledger, ["1", "2", "3"]);
      outbox.noteTries(outbox.due("hook", 0, FAR, ALL), "too long");
      expect(outbox.due("hook", 0, FAR, ALL)).toMatchObject(
        ["1", "2", "3"].map((id) => ({ id, tries: 1, last: "too long" })),
      );
    }));

  it.each([
    ["outbox", "lane", "a lane of no caller", 17],
    ["outbox", "lane", "text", "none"],
    ["outbox", "due", "a time before all times", -1],
    ["outbox", "due", "nothing", null],
    ["outbox", "due", "a death after all times", 2 * DEAD],
    ["outbox", "set_at", "a time before all times", -1],
    ["outbox", "tries", "half a try", 1.5],
    ["resting", "lane", "a lane of no caller", 18],
    ["resting", "until", "text", "tomorrow"],
    ["resting", "set_at", "nothing", null],
    ["resting", "failures", "no failure", 0],
  ])("takes into %s as %s not %s", (table, column, _what, value) =>
    inLedger((ledger, store, storage) => {
      publish(ledger, ["1"]);
      store.events.rests.put("hook", 0, {
        until: FAR,
        setAt: NOW,
        failures: 3,
        reason: "status 500",
      });
      expect(() => storage.sql.exec(`UPDATE ${table} SET ${column} = ?`, value)).toThrow(/constraint|cannot store/i);
    }),
  );

  it("is what a list sorted by time is, whatever happens to its events", async () => {
    const names = fc.constantFrom("a", "b", "c");
    const command = fc.oneof(
      fc.record({ kind: fc.constant("publish" as const), destination: names, count: fc.integer({ min: 1, max: 3 }) }),
      fc.record({
        kind: fc.constant("take" as const),
        destination: names,
        at: fc.nat(5),
        most: fc.integer({ min: 1, max: 3 }),
      }),
      fc.record({
        kind: fc.constant("later" as const),
        destination: names,
        at: fc.nat(5),
        by: fc.integer({ min: 1, max: 5 }),
      }),
      fc.record({ kind: fc.constant("die" as const), destination: names, at: fc.nat(5) }),
      fc.record({
        kind: fc.constant("erase" as const),
        destination: names,
        until: fc.nat(5),
        most: fc.integer({ min: 1, max: 3 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 30 }), (commands) =>
        inLedger((ledger, store) => {
          const { events: outbox } = store;
          let model: { destination: string; id: string; due: number; order: number }[] = [];
          let order = 0;
          const of = (destination: string, from: number, to: number): typeof model =>
            model
              .filter((one) => one.destination === destination && one.due >= from && one.due <= to)
              .toSorted((one, other) => one.due - other.due || one.order - other.order);
          for (const step of commands) {
            const { destination } = step;
            const now = "at" in step ? epochMs(NOW + step.at) : NOW;
            const [first] = outbox.due(destination, 0, now, { events: 1, bytes: 0 });
            const [expected] = of(destination, 0, now);
            expect(first?.id).toBe(expected?.id);
            switch (step.kind) {
              case "publish": {
                const ids = Array.from({ length: step.count }, () => String((order += 1)));
                publish(ledger, ids, destination);
                model.push(...ids.map((id) => ({ destination, id, due: NOW, order: Number(id) })));
                break;
              }
              case "take": {
                const taken = outbox.due(destination, 0, now, { events: step.most, bytes: Number.POSITIVE_INFINITY });
                const waiting = of(destination, 0, now).slice(0, step.most);
                // One that was put off is given alone.
                const gone = waiting.slice(
                  0,
                  Math.max(
                    1,
                    [...waiting, { due: FAR }].findIndex((one) => one.due > NOW),
                  ),
                );
                expect(taken.map(({ id }) => id)).toEqual(gone.map(({ id }) => id));
                outbox.delete(taken);
                model = model.filter((one) => !gone.includes(one));
                break;
              }
              case "later":
              case "die": {
                if (first === undefined || expected === undefined) break;
                const to = step.kind === "die" ? DEAD + now : now + step.by;
                outbox.move(first, to, { at: NOW, last: "why" });
                expected.due = to;
                expected.order = order += 1;
                break;
              }
              case "erase": {
                const gone = of(destination, DEAD, DEAD + NOW + step.until).slice(0, step.most);
                expect(outbox.eraseDead(destination, epochMs(NOW + step.until), step.most)).toBe(gone.length);
                model = model.filter((one) => !gone.includes(one));
                break;
              }
            }
            expect(outbox.destinations()).toEqual([...new Set(model.map((one) => one.destination))].toSorted());
            const living = of(destination, 0, FAR);
            const listed = store.list.page({
              destination,
              state: "pending",
              after: null,
              limit: 1000,
            });
            expect(listed.map(({ id }) => id)).toEqual(living.map(({ id }) => id));
            const dead = of(destination, DEAD, 2 * DEAD);
            const heads = { due: living[0]?.due ?? null, death: dead[0] === undefined ? null : dead[0].due - DEAD };
            expect(outbox.lanes(destination)).toEqual(living.length + dead.length === 0 ? [] : [{ lane: 0, ...heads }]);
          }
        }),
      ),
      { numRuns: 40 },
    );
  });
});
