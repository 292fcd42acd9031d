// The ledger with accepted requests and parked messages, compared with a model: any history of several records, in any order, also
// by new instances. What a record keeps of its request, and the order in which requests are due, are the model's at each step.

import { env, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { expect, it } from "vitest";
import { step } from "../../../../src/kernel/record/life-cycle.ts";
import { type IdempotencyRecord, promiseIn } from "../../../../src/kernel/record/record.ts";
import { epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import type { RecordLabel } from "../../../../src/kernel/store/label.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { bucketOf, WAITING } from "../../../../src/kernel/store/record-numbers.ts";
import {
  ACCEPTANCE_COLUMNS,
  IN_ROW_REQUEST_BYTES,
  REQUEST_COLUMNS,
  type StoredRequest,
} from "../../../../src/kernel/store/stored-request.ts";
import { acceptedHistory, type Lived, moves, rules } from "../../../support/accepted-history.ts";

const IDS = ["one", "two", "three"].map(recordId);
/** Two records share a lane, one of them because its label says none. */
const LANES_OF = [undefined, 0, 7];

interface Known {
  readonly record: IdempotencyRecord | null;
  readonly request: StoredRequest | null;
}

/** Takes turns, so that the records change between each other's steps. */
function inTurn(histories: readonly (readonly Lived[])[]): readonly { readonly of: number; readonly lived: Lived }[] {
  const longest = Math.max(...histories.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) =>
    histories.flatMap((history, of) => history.slice(at, at + 1).map((lived) => ({ of, lived }))),
  ).flat();
}

/** The request of a step, if the step is one. Some have a body that is too large for a row. */
function requestOf({ event, now }: Lived, nth: number): StoredRequest | null {
  const isRequest = event.type === "park" || (event.type === "request" && event.accept !== undefined);
  const bytes = new Uint8Array(nth % 3 === 0 ? IN_ROW_REQUEST_BYTES + 1 : nth % 7).fill(nth % 256);
  return isRequest ? { head: `request ${nth} at ${now}`, body: { kind: "inline", bytes } } : null;
}

/** What the record keeps after a step: a new request only if nothing was promised before it. */
function keptAfter({ before, record, policy, now }: Lived, known: Known | undefined, request: StoredRequest | null) {
  if (promiseIn(record) === null) return null;
  const { record: current } = step(before, { type: "tick" }, policy, epochMs(now));
  return promiseIn(current) === null ? request : (known?.request ?? null);
}

function storedIn(ledger: Ledger, sql: SqlStorage, id: (typeof IDS)[number]): StoredRequest | null {
  const entry = ledger.find(id);
  const stored = entry === null ? null : ledger.request(id, entry);
  if (stored === null || stored.body.kind === "inline") return stored;
  const chunks = sql
    .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM chunks WHERE number >> 26 = ? ORDER BY number", stored.body.body)
    .toArray();
  const bytes = new Uint8Array(chunks.flatMap((chunk) => Array.from(new Uint8Array(chunk.bytes))));
  return { ...stored, body: { kind: "inline", bytes } };
}

function expectSame(ledger: Ledger, sql: SqlStorage, model: ReadonlyMap<string, Known>, now: number): void {
  const waiting: { readonly id: string; readonly lane: number; readonly startAt: number }[] = [];
  for (const [at, id] of IDS.entries()) {
    const { record, request } = model.get(id) ?? { record: null, request: null };
    expect(asStored(ledger.find(id)?.record ?? null)).toEqual(asStored(record));
    expect(storedIn(ledger, sql, id)).toEqual(request);
    if (record === null) continue;
    if (record.state === "waiting") waiting.push({ id, lane: LANES_OF[at] ?? 0, startAt: record.startAt });
    const columns = [...ACCEPTANCE_COLUMNS, ...REQUEST_COLUMNS].join(", ");
    const query = `SELECT ${bucketOf("number")} AS bucket, ${columns} FROM records WHERE id = ?`;
    const { bucket, ...rest } = sql.exec(query, id).one();
    expect(bucket === WAITING).toBe(record.state === "waiting");
    if (promiseIn(record) === null) expect(Object.values(rest)).toEqual([null, null, null, null]);
  }
  const startAts = waiting.map(({ startAt }) => startAt).toSorted((one, other) => one - other);
  expect(ledger.due.next()).toBe(startAts[0] ?? null);
  expect(ledger.due.count(10)).toBe(startAts.length);
  const lanes = [...new Set(waiting.map(({ lane }) => lane))].toSorted((one, other) => one - other);
  const timesIn = (lane: number): readonly number[] =>
    waiting.flatMap((one) => (one.lane === lane ? [one.startAt] : [])).toSorted((one, other) => one - other);
  expect(ledger.due.lanes()).toEqual(lanes.map((lane) => ({ lane, at: timesIn(lane)[0] })));
  for (const lane of lanes) {
    const due = ledger.due.first(lane, epochMs(now), 10);
    const times = due.map((id) => waiting.find((one) => one.id === id)?.startAt);
    expect(times).toEqual(timesIn(lane).filter((at) => at <= now));
  }
}

function eraseAll(ledger: Ledger): void {
  for (const id of IDS) ledger.save(id, ledger.find(id), null);
  while (ledger.bodies.eraseAt() !== null) ledger.bodies.eraseSome();
}

function labelOf(of: number): RecordLabel {
  const lane = LANES_OF[of];
  return { key: "k", route: "/", ...(lane !== undefined && { lane }) };
}

/** As it is stored: what is promised is stored by itself. */
function asStored(record: IdempotencyRecord | null): IdempotencyRecord | null {
  if (record === null) return null;
  const { schedule: _promised, ...policy } = record.policy;
  return { ...record, policy };
}

it("keeps of each accepted request what the life cycle says, and nothing of those that have had their end", async () => {
  const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
  await runInDurableObject(stub, (_instance, { storage }) => {
    const histories = fc.tuple(rules, fc.tuple(moves, moves, moves), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(histories, ([unknown, lists, instanceEvery]) => {
        let ledger = new Ledger(storage);
        // After a counterexample something is left.
        eraseAll(ledger);
        const model = new Map<string, Known>();
        const steps = inTurn(lists.map((list) => acceptedHistory(unknown, list)));
        for (const [nth, { of, lived }] of steps.entries()) {
          const id = IDS[of] ?? recordId("none");
          const request = requestOf(lived, nth);
          const { record } = lived;
          if (record !== lived.before) {
            ledger.save(id, ledger.find(id), record, {
              label: labelOf(of),
              ...(request !== null && { request: () => request }),
            });
            model.set(id, { record, request: keptAfter(lived, model.get(id), request) });
          }
          if (nth % instanceEvery === 0) ledger = new Ledger(storage);
          expectSame(ledger, storage.sql, model, lived.now);
        }
        eraseAll(ledger);
        expect(storage.sql.exec("SELECT number FROM chunks").toArray()).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});
