// Records of every kind in real objects of two layouts, for what operators change.

import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { readConfig } from "../../../src/features/settings.ts";
import { layoutName } from "../../../src/kernel/config/layout.ts";
import { shardAddressOf } from "../../../src/kernel/object/shard-address.ts";
import { step } from "../../../src/kernel/record/life-cycle.ts";
import type { IdempotencyRecord, Started } from "../../../src/kernel/record/record.ts";
import type { TimelineEvent } from "../../../src/kernel/record/timeline.ts";
import { durationMs, epochMs, type RecordId } from "../../../src/kernel/record/units.ts";
import { nameRecord } from "../../../src/kernel/request/record-name.ts";
import type { RecordLabel } from "../../../src/kernel/store/label.ts";
import { Ledger } from "../../../src/kernel/store/ledger.ts";
import { completed, HOUR_MS, policy, response as anyResponse, started } from "./records.ts";
import { workerKernel } from "./worker-kernel.ts";

/** An attempt whose lock has ended, unless it began a moment ago. */
export const claim = (agoMs = HOUR_MS): Started => started(epochMs(Date.now() - agoMs));

export function ended(record: Started, type: "ambiguous" | "refused"): IdempotencyRecord {
  const event = { type, attemptId: record.attempt.id, reason: { kind: "dropped" } } as const;
  const after = step(record, event, policy, epochMs(record.attempt.startedAt + 10)).record;
  if (after === null) throw new Error("no record");
  return after;
}

function acceptanceWith(record: Started) {
  const second = durationMs(1000);
  const schedule = { attempts: 3, firstPauseMs: second, longestPauseMs: second, giveUpAfterMs: durationMs(HOUR_MS) };
  const acceptedAt = record.attempt.startedAt;
  return { schedule, acceptedAt, giveUpAt: epochMs(Date.now() + HOUR_MS), lastAttempt: 3 };
}

function waiting(record: Started): IdempotencyRecord {
  return { ...record, state: "waiting", accepted: acceptanceWith(record), startAt: epochMs(Date.now() + HOUR_MS) };
}

function remembered(): IdempotencyRecord {
  const { fingerprint, attempt } = claim();
  return { state: "remembered", fingerprint, attempt, policy, status: 201, expiresAt: epochMs(Date.now() + HOUR_MS) };
}

function parked(): IdempotencyRecord {
  const record = claim();
  const unknown = ended(record, "ambiguous");
  if (unknown.state !== "unknown") throw new Error("not unknown");
  return { ...unknown, accepted: { ...acceptanceWith(record), isParked: true } };
}

/** Records of every kind: in each state, before and after the end of the lock. */
export const KINDS = {
  running: () => claim(10),
  lost: () => claim(),
  waiting: () => waiting(claim()),
  "waiting, locked": () => waiting(claim(10)),
  failed: () => ended(claim(), "refused"),
  unknown: () => ended(claim(), "ambiguous"),
  "unknown, locked": () => ended(claim(100), "ambiguous"),
  parked,
  completed: () => completed(claim(), epochMs(Date.now())),
  remembered,
} as const satisfies Readonly<Record<string, () => IdempotencyRecord>>;

/** Its retention ended hours ago, and its bucket too: only its key is remembered, but no alarm has moved it. */
export function expired(): IdempotencyRecord {
  const record = claim(40 * HOUR_MS);
  const remembering = { ...policy, rememberMs: durationMs(1000 * HOUR_MS) };
  return completed({ ...record, policy: remembering }, record.attempt.startedAt);
}

export interface Kept {
  readonly id: RecordId;
  readonly key: string;
  readonly stub: DurableObjectStub;
}

/** Three objects and two older ones, with names of their own. */
export function startRecords(namespace = env.KEY_SHARD) {
  const letters = Array.from(crypto.getRandomValues(new Uint8Array(7)), (byte) =>
    String.fromCharCode(97 + (byte % 26)),
  );
  const settings = {
    origin: "https://origin.example",
    shards: `3${letters.join("")}`,
    previous_shards: [`2${letters.join("")}`], // feature: previous-shards
    scope: ["none"],
  };
  const read = readConfig({ IDEMPOTENCY: settings, ROUTES: [{ path: "/pay" }, { path: "/other" }] });
  const [route] = read.ok ? read.config.routes : [];
  if (!read.ok || route === undefined) throw new Error("not configured");
  const kernel = workerKernel(read.config.routes, namespace);
  const { operator } = kernel;
  const stubs = new Set<string>();
  const stubOf = (name: string) => env.KEY_SHARD.get(env.KEY_SHARD.idFromName(name));
  return {
    operator,
    kernel,
    /** Gives a new key this record. */
    async keep(
      record: IdempotencyRecord,
      path = "/pay",
      isOlder = false,
      history: readonly TimelineEvent[] = [],
      label: Partial<RecordLabel> = {},
    ): Promise<Kept> {
      const layout = (isOlder ? route.layouts.previous[0] : undefined) ?? route.layouts.own;
      const key = crypto.randomUUID();
      const id = await nameRecord(key, [], layoutName(layout));
      const { name } = shardAddressOf(id, layout);
      stubs.add(name);
      await runInDurableObject(stubOf(name), (_instance, { storage }) => {
        const kept = record.state === "completed" ? { response: anyResponse } : {};
        new Ledger(storage).save(id, null, record, { ...kept, history, label: { key, route: path, ...label } });
      });
      return { id, key, stub: stubOf(name) };
    },
    /** The objects start again, so that they know what another instance has saved. */
    async restart(): Promise<void> {
      for (const name of stubs) await evictDurableObject(stubOf(name));
    },
    /** Every row of every object, by the record's id. */
    async rows(): Promise<ReadonlyMap<string, string>> {
      const all = new Map<string, string>();
      for (const name of stubs) {
        const rows = await runInDurableObject(stubOf(name), (_instance, { storage }) =>
          storage.sql.exec<{ id: string }>("SELECT * FROM records").toArray(),
        );
        for (const row of rows) all.set(row.id, JSON.stringify(row));
      }
      return all;
    },
  };
}
