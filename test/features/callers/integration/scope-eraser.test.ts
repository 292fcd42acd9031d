// A shard that forgets a caller's records: which ones, how many rows one call looks at, and what it leaves.

import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { IdempotencyRecord, Started, Waiting } from "../../../../src/kernel/record/record.ts";
import { durationMs, epochMs } from "../../../../src/kernel/record/units.ts";
import { EncryptionDeriver } from "../../../../src/kernel/encryption/encryption.ts";
import { nameRecord } from "../../../../src/kernel/request/record-name.ts";
import {
  ERASURE_BEGIN,
  type ErasedSlice,
  type ErasureCounts,
  ERASE_SCOPE_CALL,
  RECORDS_PER_CALL,
  ROWS_PER_CALL,
  type ScopeErasure,
  FIRST_ROW_LOCATION,
} from "../../../../src/features/callers/object/eraser.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { OwnedEvents } from "../../../../src/features/outbox/object/owned-events.ts"; // feature: outbox
import { completed, HOUR_MS, policy, response, started } from "../../../support/integration/records.ts";
import { DEAD } from "../../../../src/features/outbox/object/outbox-tables.ts"; // feature: outbox
import { OutboxStore } from "../../../../src/features/outbox/object/outbox-store.ts"; // feature: outbox
import { saveWithEvents } from "../../outbox/integration/saved-events.ts"; // feature: outbox

const LAYOUT = "1";
const ANNA = ["header:authorization", "Bearer anna"];
const BEN = ["header:authorization", "Bearer ben"];

type Stub = DurableObjectStub;

function freshShard(): Stub {
  return env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
}

async function save(
  stub: Stub,
  scope: readonly string[],
  record: IdempotencyRecord,
  key: string = crypto.randomUUID(),
  scopeDigest?: string,
): Promise<string> {
  const id = await nameRecord(key, scope, LAYOUT);
  await runInDurableObject(stub, (_instance, { storage }) => {
    const kept = record.state === "completed" ? { response } : {};
    const encrypted = scopeDigest === undefined ? {} : { scopeDigest };
    new Ledger(storage).save(id, null, record, { ...kept, label: { key, route: "/", ...encrypted } });
  });
  return key;
}

const claim = (): Started => started(epochMs(Date.now()));
/** An accepted request that was refused once. Nothing of it runs. */
function waiting(lockMs = -1): Waiting {
  const now = Date.now();
  const second = durationMs(1000);
  const schedule = { attempts: 3, firstPauseMs: second, longestPauseMs: second, giveUpAfterMs: durationMs(HOUR_MS) };
  const accepted = { schedule, acceptedAt: epochMs(now), giveUpAt: epochMs(now + HOUR_MS), lastAttempt: 3 };
  const attempt = { ...claim().attempt, lockedUntil: epochMs(now + lockMs) };
  return { ...claim(), state: "waiting", attempt, accepted, startAt: epochMs(now + HOUR_MS) };
}

// feature: outbox begins
interface Event {
  readonly scope: readonly string[];
  /** Whether its record is still there. */
  readonly hasRecord?: boolean;
  readonly isDead?: boolean;
}

const eventsIn = (storage: DurableObjectStorage): OwnedEvents =>
  new OwnedEvents(storage.sql, new OutboxStore(new Ledger(storage).tables).events);

/** Events as a result writes them, and what becomes of them. Returns their ids. */
async function publish(stub: Stub, all: readonly Event[]): Promise<readonly string[]> {
  const made = await Promise.all(
    all.map(async (event) => {
      const key = crypto.randomUUID();
      return { ...event, key, id: await nameRecord(key, event.scope, LAYOUT) };
    }),
  );
  return runInDurableObject(stub, (_instance, { storage }) => {
    const ledger = new Ledger(storage);
    const now = epochMs(Date.now() + HOUR_MS);
    return made.map(({ key, id, hasRecord = true, isDead = false }) => {
      const event = { id: crypto.randomUUID(), destination: "hooks", lane: 1, event: '{"data":"personal"}' };
      const label = { key, route: "/" };
      saveWithEvents(ledger, id, done(), [event], { response, label, due: now });
      const entry = ledger.find(id);
      if (!hasRecord && entry !== null) ledger.save(id, entry, null);
      const place = eventsIn(storage)
        .slice(null, 10_000)
        .find((one) => one.id === event.id);
      if (isDead && place !== undefined) new OutboxStore(ledger.tables).events.move(place, DEAD + now, { at: now });
      return event.id;
    });
  });
}

const eventsLeft = (stub: Stub): Promise<readonly string[]> =>
  runInDurableObject(stub, (_instance, { storage }) =>
    eventsIn(storage)
      .slice(null, 10_000)
      .map(({ id }) => id),
  );
// feature: outbox ends

const done = (): IdempotencyRecord => completed(claim(), epochMs(Date.now()));

async function eraseSlice(stub: Stub, erasure: Partial<ScopeErasure>): Promise<ErasedSlice> {
  const whole: ScopeErasure = {
    scopes: [ANNA],
    scopeDigests: [],
    layout: LAYOUT,
    from: ERASURE_BEGIN,
    isPreview: false,
    includesUnknown: false,
    by: "admin",
    reason: "because",
    ...erasure,
  };
  const answer = await stub.fetch(ERASE_SCOPE_CALL.url, { method: "POST", body: JSON.stringify(whole) });
  return answer.json();
}

/** The object starts again before, so that it knows what another instance has saved. */
async function erase(stub: Stub, erasure: Partial<ScopeErasure> = {}): Promise<ErasureCounts & { calls: number }> {
  const sum = { forgotten: 0, inFlight: 0, unknown: 0, events: 0, calls: 0 };
  let from: ScopeErasure["from"] | null = ERASURE_BEGIN;
  await evictDurableObject(stub);
  while (from !== null) {
    const slice: ErasedSlice = await eraseSlice(stub, { ...erasure, from });
    sum.forgotten += slice.forgotten;
    sum.inFlight += slice.inFlight;
    sum.unknown += slice.unknown;
    sum.events += slice.events;
    sum.calls += 1;
    from = slice.next;
  }
  return sum;
}

function keysIn(stub: Stub): Promise<readonly string[]> {
  return runInDurableObject(stub, (_instance, { storage }) =>
    storage.sql
      .exec<{ key: string }>("SELECT key FROM records ORDER BY key")
      .toArray()
      .map(({ key }) => key),
  );
}

describe("a shard that forgets a caller", () => {
  it("forgets exactly the records of the given scopes, also of one key that others use", async () => {
    const stub = freshShard();
    const shared = crypto.randomUUID();
    await save(stub, ANNA, done(), shared);
    const bens = await save(stub, BEN, done(), shared);
    await save(stub, ANNA, done());
    const older = await save(stub, [...ANNA, "host", "api.example"], done());
    expect(await erase(stub, { isPreview: true })).toMatchObject({ forgotten: 2 });
    expect(await keysIn(stub)).toHaveLength(4);
    expect(await erase(stub)).toMatchObject({ forgotten: 2, inFlight: 0, unknown: 0 });
    expect(await keysIn(stub)).toEqual([bens, older].toSorted());
    expect(await erase(stub, { scopes: [ANNA, [...ANNA, "host", "api.example"]] })).toMatchObject({ forgotten: 1 });
    expect(await keysIn(stub)).toEqual([bens]);
    expect(await erase(stub, { layout: "2", scopes: [BEN] })).toMatchObject({ forgotten: 0 });
  });

  it("finds encrypted records by the digest of their scope, under each secret that it is told", async () => {
    const stub = freshShard();
    const [older = "", newer = ""] = ["older", "newer"].map((name) => name.padEnd(64, "0"));
    const keys: string[] = [];
    for (const secret of [older, newer]) {
      for (const scope of [ANNA, BEN]) {
        const [scopeDigest = ""] = await new EncryptionDeriver([secret]).scopeDigests(scope);
        keys.push(await save(stub, scope, done(), crypto.randomUUID(), scopeDigest));
      }
    }
    const scopeDigests = await new EncryptionDeriver([newer, older]).scopeDigests(ANNA);
    const before = await keysIn(stub);
    expect(before.filter((key) => keys.includes(key))).toEqual([]);
    expect(await erase(stub)).toMatchObject({ forgotten: 0 });
    expect(await erase(stub, { scopeDigests: scopeDigests.slice(0, 1), isPreview: true })).toMatchObject({
      forgotten: 1,
    });
    expect(await erase(stub, { scopeDigests })).toMatchObject({ forgotten: 2, inFlight: 0, unknown: 0 });
    expect(await keysIn(stub)).toHaveLength(2);
    expect(await erase(stub, { scopeDigests })).toMatchObject({ forgotten: 0 });
    const bens = await new EncryptionDeriver([newer, older]).scopeDigests(BEN);
    expect(await erase(stub, { scopeDigests: bens })).toMatchObject({ forgotten: 2 });
  });

  it("looks at a bounded number of rows in one call, and may be stopped and repeated", async () => {
    const stub = freshShard();
    const count = 2 * ROWS_PER_CALL + 10;
    const keys = Array.from({ length: count }, () => crypto.randomUUID());
    const ids = await Promise.all(keys.map((key, at) => nameRecord(key, at % 2 === 0 ? ANNA : BEN, LAYOUT)));
    await runInDurableObject(stub, (_instance, { storage }) => {
      const ledger = new Ledger(storage);
      for (const [at, id] of ids.entries()) {
        ledger.save(id, null, done(), { response, label: { key: keys[at] ?? "", route: "/" } });
      }
    });
    await evictDurableObject(stub);
    const first = await eraseSlice(stub, {});
    expect(first.forgotten).toBe(RECORDS_PER_CALL);
    expect(first.next).not.toBeNull();
    // The rest of that run never comes.
    const again = await erase(stub);
    expect(again.forgotten + first.forgotten).toBe(count / 2);
    expect(again.calls).toBeLessThanOrEqual(count / 2 / RECORDS_PER_CALL + 3);
    expect(await keysIn(stub)).toHaveLength(count / 2);
    expect(await erase(stub, { scopes: [BEN], isPreview: true })).toMatchObject({ forgotten: count / 2 });
  });

  it("leaves an attempt in flight, and a record with an unknown outcome unless it is included", async () => {
    const stub = freshShard();
    await save(stub, ANNA, claim());
    const attempt = { ...claim().attempt, lockedUntil: epochMs(Date.now() - 1) };
    const ends = { expiresAt: epochMs(Date.now() + HOUR_MS), verifyAt: null, verifications: 0 };
    const unknown = await save(stub, ANNA, { ...claim(), ...ends, attempt, state: "unknown" });
    expect(await erase(stub, { isPreview: true, includesUnknown: true })).toMatchObject({
      forgotten: 0,
      inFlight: 1,
      unknown: 1,
    });
    expect(await erase(stub)).toMatchObject({ forgotten: 0, inFlight: 1, unknown: 1 });
    expect(await keysIn(stub)).toHaveLength(2);
    expect(await erase(stub, { includesUnknown: true })).toMatchObject({ forgotten: 1, inFlight: 1, unknown: 0 });
    expect(await keysIn(stub)).not.toContain(unknown);
  });

  it("cancels what waits, with the request that was stored to be sent, and counts it once", async () => {
    const stub = freshShard();
    const key = crypto.randomUUID();
    const id = await nameRecord(key, ANNA, LAYOUT);
    await runInDurableObject(stub, (_instance, { storage }) => {
      const body = { kind: "inline", bytes: new Uint8Array(400_000) } as const;
      const request = { head: '{"credential":"secret"}', body };
      new Ledger(storage).save(id, null, waiting(), { request: () => request, label: { key, route: "/" } });
    });
    const mayRun = await save(stub, ANNA, waiting(HOUR_MS));
    const bens = await save(stub, BEN, waiting());
    expect(await erase(stub, { isPreview: true })).toMatchObject({ forgotten: 1, inFlight: 1, unknown: 0 });
    expect(await erase(stub)).toMatchObject({ forgotten: 1, inFlight: 1, unknown: 0 });
    expect(await keysIn(stub)).toEqual([mayRun, bens].toSorted());
    await runDurableObjectAlarm(stub);
    await runInDurableObject(stub, (_instance, { storage }) => {
      expect(storage.sql.exec("SELECT count(*) AS n FROM chunks").one()).toEqual({ n: 0 });
    });
  });

  it("looks at what waits first: its attempt may begin meanwhile, where the other look is over", async () => {
    const stub = freshShard();
    await save(stub, ANNA, waiting());
    for (let other = 0; other < ROWS_PER_CALL; other += 1) await save(stub, BEN, waiting());
    await evictDurableObject(stub);
    const first = await eraseSlice(stub, {});
    const second = await eraseSlice(stub, { from: first.next ?? ERASURE_BEGIN });
    expect(first.forgotten + second.forgotten).toBe(1);
    // Only then come the others, from the first on.
    expect([first.next?.isFirstLook, second.next]).toEqual([true, FIRST_ROW_LOCATION]);
  });

  it("erases what has expired, what is only remembered, and large bodies", async () => {
    const stub = freshShard();
    const old = epochMs(Date.now() - 48 * HOUR_MS);
    await save(stub, ANNA, completed(started(old), old));
    const remembering = { ...started(old), policy: { ...policy, rememberMs: durationMs(1000 * HOUR_MS) } };
    await save(stub, ANNA, completed(remembering, old));
    const key = crypto.randomUUID();
    const id = await nameRecord(key, ANNA, LAYOUT);
    await runInDurableObject(stub, (_instance, { storage }) => {
      const body = { kind: "inline", bytes: new Uint8Array(400_000) } as const;
      new Ledger(storage).save(id, null, done(), { response: { ...response, body }, label: { key, route: "/" } });
    });
    expect(await erase(stub)).toMatchObject({ forgotten: 3, inFlight: 0, unknown: 0 });
    expect(await keysIn(stub)).toEqual([]);
    await runDurableObjectAlarm(stub);
    await runInDurableObject(stub, (_instance, { storage }) => {
      expect(storage.sql.exec("SELECT count(*) AS n FROM chunks").one()).toEqual({ n: 0 });
    });
  });
});

// feature: outbox begins
describe("what the outbox has of a caller", () => {
  it("goes with the records: pending or dead, with its record or long after it, and nobody else's", async () => {
    const stub = freshShard();
    const forms = [{}, { isDead: true }, { hasRecord: false }, { hasRecord: false, isDead: true }];
    await publish(
      stub,
      forms.map((form) => ({ scope: ANNA, ...form })),
    );
    const others = await publish(
      stub,
      forms.map((form) => ({ scope: BEN, ...form })),
    );
    expect(await erase(stub, { isPreview: true })).toMatchObject({ forgotten: 2, events: forms.length });
    expect(await eventsLeft(stub)).toHaveLength(2 * forms.length);
    expect(await erase(stub)).toMatchObject({ forgotten: 2, events: forms.length });
    expect((await eventsLeft(stub)).toSorted()).toEqual(others.toSorted());
    expect(await erase(stub)).toMatchObject({ forgotten: 0, events: 0 });
  });

  it("goes whole, however much it is", async () => {
    const stub = freshShard();
    await publish(
      stub,
      Array.from({ length: 2 * ROWS_PER_CALL + 50 }, (_, at) => ({
        scope: at % 2 === 0 ? ANNA : BEN,
        hasRecord: false,
      })),
    );
    const own = ROWS_PER_CALL + 25;
    expect(await erase(stub, { isPreview: true })).toMatchObject({ events: own });
    expect(await erase(stub)).toMatchObject({ events: own });
    expect(await eventsLeft(stub)).toHaveLength(own);
  });

  it("goes also while it moves", async () => {
    const stub = freshShard();
    await publish(stub, [{ scope: ANNA, hasRecord: false }]);
    const left = await runInDurableObject(stub, (_instance, { storage }) => {
      const { events: outbox } = new OutboxStore(new Ledger(storage).tables);
      const events = new OwnedEvents(storage.sql, outbox);
      const found = events.slice(null, 10);
      for (const event of found) outbox.move(event, DEAD + 1, { at: epochMs(1) });
      const erased = (): readonly boolean[] => found.map((event) => event.erase());
      expect([erased(), erased()]).toEqual([[true], [false]]);
      return events.slice(null, 10).length;
    });
    expect(left).toBe(0);
  });
});
// feature: outbox ends
