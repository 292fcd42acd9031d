// What an object tells operators, on real SQLite: in the commit of what it tells, never more often than kernel/record/alerts.ts says, and
// without anything lost of what came between.

import { describe, expect, it } from "vitest";
import { type Alert, ALERTS, STILL_UNKNOWN_MS, REMIND_MS, WINDOW_MS } from "../../../../src/kernel/record/alerts.ts";
import type { NewEvent } from "../../../../src/kernel/record/outbox.ts";
import type { Unknown } from "../../../../src/kernel/record/record.ts";
import { attemptId, epochMs, type EpochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { AlertWriter } from "../../../../src/features/outbox/object/alerts.ts";
import { env, runInDurableObject } from "cloudflare:test";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import type { StoredEvent } from "../../../../src/features/outbox/object/rows.ts";
import { freshId, started } from "../../../support/integration/records.ts";
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts";

const START = epochMs(1_795_000_000_000);
const HOUR_MS = 3_600_000;

interface Scene {
  readonly ledger: Ledger;
  readonly alerts: AlertWriter;
  /** What has been stored so far. */
  readonly reported: { readonly destination: string; readonly event: string }[];
  /** Makes an operation whose outcome is unknown. */
  readonly loseOutcome: (now: EpochMs) => Unknown;
}

function inLedger<T>(test: (ledger: Ledger, storage: DurableObjectStorage) => T): Promise<T> {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.idFromName(crypto.randomUUID()));
  return runInDurableObject(stub, (_instance, { storage }) => test(new Ledger(storage), storage));
}

const RECEIVERS = [{ name: "ops", console: "https://ops.example/_onceway" }];

function sceneIn(ledger: Ledger, wanted: readonly Alert[] = ALERTS, receivers = RECEIVERS): Scene {
  const reported: NewEvent[] = [];
  const store = new OutboxStore(ledger.tables);
  const alerts = new AlertWriter({
    store,
    alarm: { moveTo: () => undefined },
    receivers: (alert) => (wanted.includes(alert) ? receivers : []),
    published: (events) => void reported.push(...events),
    shard: "shard-0-of-1",
  });
  const loseOutcome = (now: EpochMs): Unknown => {
    const id = freshId();
    const claim = started();
    const attempt = { ...claim.attempt, id: attemptId(crypto.randomUUID()), startedAt: now };
    ledger.save(id, null, { ...claim, attempt });
    const entry = ledger.find(id);
    const expiresAt = epochMs(now + 365 * STILL_UNKNOWN_MS);
    const { fingerprint, policy } = claim;
    const unknown: Unknown = {
      state: "unknown",
      fingerprint,
      attempt,
      policy,
      expiresAt,
      verifyAt: null,
      verifications: 0,
    };
    const alertNow = alerts.ofStep(id, entry?.record ?? null, unknown, () => "/pay", now);
    const write = (): void => {
      if (alertNow !== null) store.alerts.insert(id, alertNow);
    };
    ledger.save(id, entry, unknown, {}, [{ write }]);
    if (alertNow !== null) {
      store.alerts.added(alertNow);
      alerts.added(alertNow, now);
    }
    return unknown;
  };
  return { ledger, alerts, reported, loseOutcome };
}

function dataOf({ reported }: Scene): readonly unknown[] {
  return reported.map(({ event }) => JSON.parse(event));
}

describe("an object", () => {
  it("tells of an unknown outcome in the commit that makes it, or not at all", () =>
    inLedger((ledger, storage) => {
      const scene = sceneIn(ledger);
      storage.sql.exec(
        "CREATE TRIGGER full BEFORE UPDATE ON records WHEN NEW.state = 'unknown' BEGIN SELECT RAISE(ABORT, 'full'); END",
      );
      expect(() => scene.loseOutcome(START)).toThrow("full");
      expect(new OutboxStore(new Ledger(storage).tables).events.destinations()).toEqual([]);
      expect(new OutboxStore(new Ledger(storage).tables).alerts.next()).toBeNull();
      storage.sql.exec("DROP TRIGGER full");
      scene.loseOutcome(START);
      expect(new OutboxStore(new Ledger(storage).tables).events.destinations()).toEqual(["ops"]);
      expect(new OutboxStore(new Ledger(storage).tables).alerts.next()).toBe(START + STILL_UNKNOWN_MS);
    }));

  it("writes nothing more where nobody wants to be told", () =>
    inLedger((ledger, storage) => {
      sceneIn(ledger, []).loseOutcome(START);
      const tables = storage.sql.exec("SELECT 1 FROM sqlite_schema WHERE name IN ('outbox', 'alerts')").toArray();
      expect(tables).toEqual([]);
    }));

  it("names the route and the record, and neither the key nor a body", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger, ["outcome-unknown"]);
      scene.loseOutcome(START);
      const [event] = dataOf(scene);
      expect(event).toMatchObject({
        type: "dev.onceway.alert.outcome-unknown",
        data: {
          route: "/pay",
          more: 0,
          link: expect.stringMatching(/^https:\/\/ops\.example\/_onceway\/console\/records\//),
        },
      });
      expect(JSON.stringify(event)).not.toMatch(/"(?:key|body)"/);
    }));

  it("makes five events of 10,000 unknown outcomes in an hour, which name all of them", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger, ["outcome-unknown"]);
      for (let at = 0; at < 10_000; at += 1) {
        const now = epochMs(START + Math.floor((at * HOUR_MS) / 10_000));
        scene.alerts.tellDue(now);
        scene.loseOutcome(now);
      }
      scene.alerts.tellDue(epochMs(START + HOUR_MS));
      expect(scene.reported).toHaveLength(5);
      const counts = dataOf(scene).map((event) => JSON.stringify(event).match(/"count":(\d+)/)?.[1] ?? "1");
      expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(10_000);
      expect(scene.alerts.nextAt()).toBeNull();
    }));

  it("tells again at once after a quiet quarter of an hour", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger, ["outcome-unknown"]);
      scene.loseOutcome(START);
      scene.loseOutcome(epochMs(START + WINDOW_MS));
      expect(new Set(scene.reported.map(({ event }) => event)).size).toBe(2);
    }));

  it("says in a sentence how many more there were, one or several", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger);
      for (const queue of ["a", "a", "b", "b", "b"]) {
        const letter = { queue, messageId: crypto.randomUUID(), reason: "rejected", recordId: null } as const;
        scene.alerts.report({ alert: "dead-letter", ...letter }, START);
      }
      for (const at of [START, START, START + HOUR_MS, START + HOUR_MS, START + HOUR_MS].map(epochMs)) {
        scene.alerts.tellDue(at);
        scene.loseOutcome(at);
      }
      scene.alerts.tellDue(epochMs(START + 2 * HOUR_MS));
      const summaries = scene.reported.map(({ event }) => String(JSON.parse(event).data.summary));
      expect(summaries.map((line) => line.replace(/ at \S+ /, " "))).toEqual([
        "A message of a became a dead letter: rejected.",
        "A message of b became a dead letter: rejected.",
        "Attempt 1 of an operation may or may not have taken effect.",
        "1 more message of a became a dead letter within 60 min.",
        "2 more messages of b became dead letters within 60 min.",
        "The outcome of 1 more operation became unknown within 60 min.",
        "The outcome of 3 more operations became unknown within 60 min.",
      ]);
    }));

  it("tells of outcomes that are still unknown once, and of the same ones again after a week", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger, ["outcome-still-unknown"]);
      scene.loseOutcome(START);
      scene.loseOutcome(epochMs(START + 60_000));
      scene.alerts.tellDue(epochMs(START + STILL_UNKNOWN_MS - 1));
      expect(scene.reported).toEqual([]);
      const day = epochMs(START + STILL_UNKNOWN_MS);
      scene.alerts.tellDue(day);
      scene.alerts.tellDue(epochMs(day + HOUR_MS - 1));
      expect(dataOf(scene)).toMatchObject([{ data: { count: 1, since: new Date(START).toISOString() } }]);
      scene.alerts.tellDue(epochMs(day + HOUR_MS));
      expect(dataOf(scene)).toMatchObject([{}, { data: { count: 2 } }]);
      expect(scene.alerts.nextAt()).toBe(day + HOUR_MS + REMIND_MS);
    }));

  it("tells of an unknown outcome that is a day old although all older ones have been told, and the next look was a week away", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger, ["outcome-still-unknown"]);
      scene.loseOutcome(START);
      const day = epochMs(START + STILL_UNKNOWN_MS);
      scene.alerts.tellDue(day);
      expect(scene.alerts.nextAt()).toBe(day + REMIND_MS);
      scene.loseOutcome(epochMs(day + HOUR_MS));
      scene.loseOutcome(epochMs(day + 2 * HOUR_MS));
      expect(scene.alerts.nextAt()).toBe(day + HOUR_MS + STILL_UNKNOWN_MS);
      scene.alerts.tellDue(epochMs(day + HOUR_MS + STILL_UNKNOWN_MS));
      expect(dataOf(scene)).toMatchObject([{ data: { count: 1 } }, { data: { count: 2 } }]);
    }));

  it("looks no further for outcomes that are still unknown once all are decided", () =>
    inLedger((ledger, storage) => {
      const scene = sceneIn(ledger, ["outcome-still-unknown"]);
      scene.loseOutcome(START);
      storage.sql.exec("DELETE FROM records");
      scene.alerts.tellDue(epochMs(START + STILL_UNKNOWN_MS));
      expect([scene.reported, scene.alerts.nextAt()]).toEqual([[], null]);
    }));

  it("tells of a dead event others than the destination that did not take it, and never of such an alert", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger, ["dead-event"]);
      const dead = {
        id: "1",
        destination: "billing",
        lane: 0,
        due: 1,
        seq: 1,
        record: recordId("a".repeat(64)),
        tries: 9,
        since: START,
      };
      const event: StoredEvent = { ...dead, last: "status 500", event: "{}" };
      scene.alerts.diedEvents({ ...event, destination: "ops" }, 1, "status 500", START);
      scene.alerts.diedEvents({ ...event, id: "alert-dead-event-1" }, 1, "status 500", START);
      expect(scene.reported).toEqual([]);
      scene.alerts.diedEvents(event, 20, "status 500", START);
      scene.alerts.diedEvents(event, 20, "status 500", START);
      scene.alerts.tellDue(epochMs(START + WINDOW_MS));
      expect(dataOf(scene)).toMatchObject([
        { id: "alert-dead-event-1", subject: "billing", data: { count: 20, reason: "status 500" } },
        { subject: "billing", data: { count: 20, reason: null } },
      ]);
    }));

  it("tells of a silence once when it begins, after two passes, and once when it ends", () =>
    inLedger((ledger) => {
      const scene = sceneIn(ledger);
      const pass = (...silent: readonly string[]): number => {
        scene.alerts.report({ alert: "silent-shard", watched: ["a", "b", "c"], silent }, START);
        return scene.reported.length;
      };
      expect([pass("a"), pass(), pass("a", "b"), pass("a", "b"), pass("a", "b"), pass("b"), pass()]).toEqual([
        0, 0, 0, 1, 1, 2, 3,
      ]);
      expect(dataOf(scene)).toMatchObject([
        { data: { phase: "begun", shards: ["a", "b"] } },
        { data: { phase: "ended", shards: ["a"] } },
        { data: { phase: "ended", shards: ["b"] } },
      ]);
    }));
});
