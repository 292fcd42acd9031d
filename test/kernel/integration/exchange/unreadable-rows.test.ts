// Rows that say what no code of this gateway writes, as a mistake in a change of the schema would leave them. A time that is missing must
// not read as 1970: nothing is begun for such a record, it stays, and others go on.

import { describe, expect, it, vi } from "vitest";
import type { IdempotencyRecord } from "../../../../src/kernel/record/record.ts";
import { epochMs, type RecordId } from "../../../../src/kernel/record/units.ts";
import { OperatedBench } from "../../../support/integration/operated-bench.ts";
import {
  completed,
  EVERY_RECORD,
  freshId,
  HOUR_MS,
  NOW,
  policy,
  response,
  started,
} from "../../../support/integration/records.ts";
import { again, headOf, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { SCHEDULE } from "../../../support/integration/accepted.ts";
import { expectThrown } from "../../../support/integration/expected-errors.ts";

silence();

const claim = started();
const { lockedUntil } = claim.attempt;
const expiresAt = epochMs(lockedUntil + 24 * HOUR_MS);

const RECORDS: Readonly<Record<string, IdempotencyRecord>> = {
  started: claim,
  failed: { ...claim, state: "failed", retryFrom: lockedUntil, expiresAt },
  unknown: { ...claim, state: "unknown", verifyAt: null, verifications: 0, expiresAt },
  asked: {
    ...claim,
    state: "unknown",
    verifyAt: lockedUntil,
    verifications: 0,
    expiresAt,
    policy: { ...policy, unknown: "verify" },
  },
  completed: completed(claim),
  remembered: { ...claim, state: "remembered", status: 201, expiresAt },
  waiting: {
    ...claim,
    state: "waiting",
    startAt: lockedUntil,
    policy: { ...policy, schedule: SCHEDULE },
    accepted: { schedule: SCHEDULE, acceptedAt: NOW, giveUpAt: expiresAt, lastAttempt: 3 },
  },
};

/** With such a form the next attempt would have no key, or not in all its headers, and the origin would act again. */
const KEY_FORMS = [
  "key_form = 'Idempotency-Key {key}'",
  "key_form = 'Idempotency-Key: key'",
  "key_form = 'Idempotency-Key: {key}' || char(10) || 'X-Key'",
  "key_form = x'7b6b65797d'",
];

const CORRUPTIONS: readonly (readonly [state: keyof typeof RECORDS, change: string])[] = [
  ["started", "locked_until = 0"],
  ["started", "locked_until = 'soon'"],
  ["started", "unknown = 'never'"],
  ["started", "attempt = 0"],
  ["started", "accepted = '{}'"],
  ["failed", "retry_from = NULL"],
  ["failed", "expires_at = NULL"],
  ["failed", "may_have_acted = NULL"],
  ["failed", "retention_ms = 0"],
  ["failed", "state = 'lost'"],
  ["failed", "state = 'started'"],
  ["unknown", "expires_at = NULL"],
  ["unknown", "expires_at = 3e12"],
  ["unknown", "verifications = NULL"],
  ["asked", "verify_at = 'soon'"],
  ["asked", "verify_at = 0"],
  ["completed", "expires_at = NULL"],
  ["completed", "completed_at = NULL"],
  ["completed", "kept = NULL"],
  ["completed", "kept = 3"],
  ["completed", "status = NULL"],
  ["completed", "state = 'failed'"],
  ["remembered", "expires_at = NULL"],
  ["remembered", "expires_at = 1.5"],
  ...KEY_FORMS.map((change) => ["started", change] as const),
  // feature: accepted begins
  ["waiting", "accepted = NULL"],
  ["waiting", "start_at = NULL"],
  ["waiting", "start_at = 'soon'"],
  ...KEY_FORMS.map((change) => ["waiting", change] as const),
  // feature: accepted ends
];

/** An operation that took effect: nothing is lost if it goes when it has expired. */
const RESPONSES = ["headers = '{'", "status_text = NULL", "body_bytes = NULL", "chunks = NULL", "history = '{'"];

interface Scene {
  readonly bench: OperatedBench;
  readonly id: RecordId;
  /** A record in the same object, and in the same state, that is as it must be. */
  readonly other: RecordId;
}

/** An object in which an earlier instance has left these records. */
async function left(state: string, change: string): Promise<Scene> {
  vi.setSystemTime(NOW);
  const record = RECORDS[state];
  if (record === undefined) throw new Error(state);
  const bench = new OperatedBench();
  const [id, other] = [freshId(), freshId()];
  await bench.within((ledger, { storage }) => {
    for (const one of [id, other]) {
      const attachments = record.state === "completed" ? { response } : {};
      ledger.save(one, null, record, { ...attachments, label: { key: "key", route: "/act" } });
    }
    storage.sql.exec(`UPDATE records SET ${change} WHERE id = ?`, id);
  });
  await bench.evict();
  return { bench, id, other };
}

function rowsOf(bench: ShardBench, id: RecordId): Promise<number> {
  return bench.within((_ledger, { storage }) =>
    Number(storage.sql.exec("SELECT count(*) AS n FROM records WHERE id = ?", id).one()["n"]),
  );
}

describe.each(CORRUPTIONS)("a %s record with %s", (state, change) => {
  it("refuses its requests, stays after everything has expired, and lets the alarm go on for others", async () => {
    const { bench, id, other } = await left(state, change);
    const head = headOf({ record: { id } });
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 503, code: "store-unavailable" });
    for (const hours of [0, 1, 25, 24 * 400]) {
      vi.setSystemTime(NOW + hours * HOUR_MS + 60_000);
      for (let slice = 0; slice < 3; slice += 1) await bench.deliverAlarm();
    }
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(bench.calls.filter((call) => call.startsWith("POST"))).toEqual([]);
    expect(await rowsOf(bench, id)).toBe(1);
    expect(await rowsOf(bench, other)).toBe(0);
    // The alarm does not come again at once, and without end.
    await bench.within((_ledger, { storage }) => storage.deleteAlarm());
    await bench.deliverAlarm();
    expect((await bench.alarmAt()) ?? Infinity).toBeGreaterThan(Date.now() + 20_000);
  });
});

it.each(RESPONSES)("refuses a duplicate of a result with %s", async (change) => {
  const { bench, id } = await left("completed", change);
  const head = headOf({ record: { id }, request: { fingerprint: claim.fingerprint } });
  expect(await bench.send(messageOf(head))).toMatchObject({ status: 503, code: "store-unavailable" });
  expect(bench.calls).toEqual([]);
});

describe.each(["failed", "unknown", "asked", "completed", "remembered"])("a %s record", (state) => {
  it.each(KEY_FORMS)("with %s refuses its requests until it has expired, as any other", async (change) => {
    const { bench, id } = await left(state, change);
    const head = headOf({ record: { id }, request: { fingerprint: claim.fingerprint } });
    for (const at of [NOW, lockedUntil + 1000]) {
      vi.setSystemTime(at);
      await bench.deliverAlarm();
      expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 503, code: "store-unavailable" });
    }
    expect(bench.calls).toEqual([]);
    vi.setSystemTime(NOW + 24 * 400 * HOUR_MS);
    for (let slice = 0; slice < 3; slice += 1) await bench.deliverAlarm();
    expect(await rowsOf(bench, id)).toBe(0);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201 });
  });
});

describe("a record that cannot be read", () => {
  it("is not written", async () => {
    const bench = new ShardBench();
    const record = { ...claim, state: "failed", retryFrom: epochMs(0), expiresAt } as const;
    await bench.within((ledger) => {
      expect(() => ledger.save(freshId(), null, record)).toThrow("a record must not be written");
    });
  });

  it("hides no other from lists and counts, and only an operator's forgetting ends it", async () => {
    const { bench, id, other } = await left("started", "unknown = 'never'");
    const change = (type: "release" | "forget"): Promise<unknown> =>
      bench.change(id, { type, by: "operator", reason: "mended by hand" });
    expect(await bench.operator.counts()).toMatchObject({ inFlight: 1 });
    expect((await bench.operator.list(EVERY_RECORD)).records.map((one) => one.id)).toEqual([other]);
    await expectThrown(change("release"), "cannot be read");
    const forget = { type: "forget", by: "operator", reason: "what if" } as const;
    const previewed = await bench.change(id, forget, new Uint8Array(), true).catch((error: unknown) => String(error));
    expect(previewed).toMatchObject({ why: null });
    expect(await rowsOf(bench, id)).toBe(1);
    expect(await change("forget")).toEqual({ why: null, detail: null });
    expect(await rowsOf(bench, id)).toBe(0);
    expect(await bench.send(messageOf(headOf({ record: { id } })))).toMatchObject({ status: 201 });
  });

  it("is in a list all the same, if only its history is so, and hides no other", async () => {
    const { bench, id, other } = await left("unknown", "history = '{'");
    const { records } = await bench.operator.list(EVERY_RECORD);
    const reasons = new Map(records.map((one) => [one.id, one.reason]));
    expect(reasons).toEqual(
      new Map([
        [id, null],
        [other, { kind: "lost" }],
      ]),
    );
  });
});
