// All records that a filter matches are changed in real shards of two layouts, each as it is changed alone, and nothing else is.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { updateHistory } from "../../../../src/kernel/record/timeline.ts";
import { type EpochMs, epochMs, recordId } from "../../../../src/kernel/record/units.ts";
import { encodeMessage } from "../../../../src/kernel/request/message.ts";
import { type AllChange, type AllChangeResult, allChanger } from "../../../../src/features/bulk/operator/all-change.ts";
import type { RecordFilter } from "../../../../src/operator/operator.ts";
import { ACTION_NAMES } from "../../../../src/operator/record-actions/record-actions.ts";
import {
  CHANGE_LISTED_CALL,
  type ListedChangeHead,
  type ListedOutcome,
  type ListedState,
} from "../../../../src/features/bulk/object/listed-changes.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { ended, expired, type Kept, KINDS, startRecords } from "../../../support/integration/kept-records.ts";
import { ADMIN } from "../../../support/integration/operators.ts";
import { started } from "../../../support/integration/records.ts";
import { silence } from "../../../support/integration/silence.ts";

silence();

const REASON = "the origin's log has none of them";
const GIVEN = {
  status: 201,
  headers: [["content-type", "text/plain"]] as const,
  body: new TextEncoder().encode("paid"),
};

type Scene = ReturnType<typeof startRecords>;
type Done = Extract<AllChangeResult, { readonly kind: "done" }>;

const ANYTHING: RecordFilter = { states: [], route: null, since: null, until: null, key: null, idPrefix: null };

async function changeAll({ kernel }: Pick<Scene, "kernel">, change: Partial<AllChange>): Promise<Done> {
  const { action = "release" } = change;
  const result = await allChanger(kernel)({
    action,
    by: ADMIN,
    reason: REASON,
    response: action === "resolve" ? GIVEN : null,
    filter: { ...ANYTHING, route: "/pay" },
    written: {},
    until: epochMs(Date.now()),
    isPreview: false,
    cursor: null,
    ...change,
  });
  if (result.kind !== "done") throw new Error("the cursor was refused");
  expect(result.cursor).toBeNull();
  return result;
}

/** What is counted, without what is shown. */
function countsOf({ matched, states, changed, refused, skipped, unanswered }: Done) {
  return { matched, states, changed, refused, skipped, unanswered };
}

async function historyOf({ id, stub }: Kept): Promise<readonly unknown[]> {
  return runInDurableObject(stub, (_instance, { storage }) => new Ledger(storage).find(id)?.history ?? []);
}

describe("a change of all that match", () => {
  it("changes them in every shard of both layouts as its preview said, and no other record", async () => {
    const scene = startRecords();
    const wanted: Kept[] = [];
    for (let at = 0; at < 14; at += 1) wanted.push(await scene.keep(KINDS.unknown(), "/pay", at % 3 === 0));
    for (const make of Object.values(KINDS)) await scene.keep(make(), "/other");
    for (const kind of ["failed", "completed", "waiting", "running", "remembered"] as const) {
      await scene.keep(KINDS[kind]());
      await scene.keep(KINDS[kind](), "/pay", true);
    }
    await scene.restart();
    const before = await scene.rows();
    const filter: RecordFilter = { ...ANYTHING, states: ["unknown"], route: "/pay" };
    const until = epochMs(Date.now());
    const preview = await changeAll(scene, { filter, until, isPreview: true });
    expect(preview).toMatchObject({ matched: 14, changed: 14, skipped: 0, unanswered: 0, unreachable: [] });
    expect(preview).toMatchObject({ states: { unknown: 14 }, routes: ["/pay"] });
    expect(preview.records).toHaveLength(10);
    expect(new Set(preview.records.map(({ layout }) => layout)).size).toBeGreaterThan(0);
    expect(await scene.rows()).toEqual(before);

    const done = await changeAll(scene, { filter, until });
    expect(countsOf(done)).toEqual(countsOf(preview));
    const after = await scene.rows();
    const ids = new Set<string>(wanted.map(({ id }) => id));
    expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
    for (const [id, row] of after) {
      if (ids.has(id)) expect(row).not.toBe(before.get(id));
      else expect(row).toBe(before.get(id));
    }
    for (const { id } of wanted) {
      expect(await scene.operator.inspect(id)).toMatchObject({
        state: "failed",
        timeline: expect.arrayContaining([
          expect.objectContaining({ action: "release", by: ADMIN.name, reason: REASON }),
        ]),
      });
    }
  });

  it.each(ACTION_NAMES)("does to records of every kind what %s does to each alone", async (action) => {
    const [one, all] = [startRecords(), startRecords()];
    const expected = { changed: 0, "in-flight": 0, completed: 0, remembered: 0 };
    const alone: Kept[] = [];
    const together: Kept[] = [];
    for (const isOlder of [false, true]) {
      for (const make of [...Object.values(KINDS), expired]) {
        alone.push(await one.keep(make(), "/pay", isOlder));
        together.push(await all.keep(make(), "/pay", isOlder));
      }
    }
    await one.restart();
    await all.restart();
    const response = action === "resolve" ? GIVEN : null;
    const states: string[] = [];
    for (const { id } of alone) {
      const result = await one.operator.change(id, { action, by: ADMIN, reason: REASON, response, isPreview: false });
      if (result.kind !== "refused") expected.changed += 1;
      else if (result.why !== "none") expected[result.why] += 1;
      states.push((await one.operator.inspect(id))?.state ?? "none");
    }
    const until = epochMs(Date.now());
    const preview = await changeAll(all, { action, until, isPreview: true });
    const done = await changeAll(all, { action, until });
    expect(countsOf(done)).toEqual(countsOf(preview));
    const { changed, refused, matched } = done;
    const { inFlight, ...others } = refused;
    expect({ changed, "in-flight": inFlight, ...others }).toEqual(expected);
    expect(matched).toBe(together.length);
    const seen = await Promise.all(together.map(async ({ id }) => (await all.operator.inspect(id))?.state ?? "none"));
    expect(seen).toEqual(states);
    // Each kind of refusal was met: two actions are possible for a result, too, and one while an attempt is in flight.
    expect(Object.values(expected).every((count) => count > 0) || ["forget", "note"].includes(action)).toBe(true);
  });

  it("gives each the same response with resolve, byte for byte", async () => {
    const scene = startRecords();
    const kept = await Promise.all([0, 1, 2, 3].map((at) => scene.keep(KINDS.unknown(), "/pay", at === 0)));
    await scene.restart();
    expect(await changeAll(scene, { action: "resolve" })).toMatchObject({ changed: 4 });
    for (const { id } of kept) {
      const body = await scene.operator.body(id);
      expect(await new Response(body).text()).toBe("paid");
      expect(await scene.operator.inspect(id)).toMatchObject({ response: { status: 201, headers: GIVEN.headers } });
    }
  });

  it("leaves what has begun after its preview, and what was younger then than the filter says", async () => {
    const scene = startRecords();
    const until = epochMs(Date.now() - 1000);
    const begunAt = (time: number): Promise<Kept> => {
      const begun = started(epochMs(time));
      const ending = { type: "ambiguous", attemptId: begun.attempt.id, reason: { kind: "dropped" } } as const;
      const record = ended(begun, "ambiguous");
      return scene.keep(record, "/pay", false, updateHistory([], begun, ending, record, epochMs(time + 10)));
    };
    const old = await begunAt(until - 60_000);
    const last = await begunAt(until - 10);
    // In flight then, and unknown since.
    const since = await begunAt(until - 5);
    const late = await begunAt(until + 1);
    await scene.restart();
    const filter: RecordFilter = { ...ANYTHING, states: ["unknown"] };
    expect(await changeAll(scene, { filter: { ...filter, until: epochMs(until - 59_500) }, until })).toMatchObject({
      changed: 1,
    });
    expect(await scene.operator.inspect(old.id)).toMatchObject({ state: "failed" });
    expect(await changeAll(scene, { filter, until })).toMatchObject({ matched: 2, changed: 1, skipped: 1 });
    expect(await scene.operator.inspect(last.id)).toMatchObject({ state: "failed" });
    for (const { id } of [since, late]) expect(await scene.operator.inspect(id)).toMatchObject({ state: "unknown" });
  });

  it("can be sent again: what it has changed is neither changed nor counted again, wherever the list shows it", async () => {
    const scene = startRecords();
    // A released record lies behind the failed ones, where the list comes later.
    const kept = await Promise.all(
      [KINDS.failed, KINDS.unknown, KINDS.waiting, KINDS.failed].map((make) => scene.keep(make())),
    );
    await scene.restart();
    const until = epochMs(Date.now());
    expect(await changeAll(scene, { until })).toMatchObject({ matched: 4, changed: 4 });
    expect(await changeAll(scene, { until })).toMatchObject({ matched: 0, changed: 0 });
    for (const one of kept) {
      const releases = (await historyOf(one)).filter((event) => JSON.stringify(event).includes('"release"'));
      expect(releases).toHaveLength(1);
    }
    // Another one, later, is another change.
    const later = epochMs(Date.now() + 60_000);
    expect(await changeAll(scene, { until: later })).toMatchObject({ matched: 4, changed: 4 });
  });

  it("leaves a record that cannot be read, and changes the others of its object", async () => {
    const scene = startRecords();
    const broken = await scene.keep(KINDS.unknown());
    const others: Kept[] = [];
    do others.push(await scene.keep(KINDS.unknown()));
    while (!others.some(({ stub }) => stub.id.equals(broken.stub.id)));
    await runInDurableObject(broken.stub, (_instance, { storage }) => {
      storage.sql.exec("UPDATE records SET history = '{' WHERE id = ?", broken.id);
    });
    await scene.restart();
    const changed = others.length;
    expect(await changeAll(scene, {})).toMatchObject({ matched: changed + 1, changed, skipped: 1, unanswered: 0 });
  });

  it("names a shard that fails in the middle, counts its records, and changes those of the others", async () => {
    let broken = "";
    const namespace = new Proxy(env.KEY_SHARD, {
      get(target, name) {
        if (name !== "get") {
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function" ? member.bind(target) : member;
        }
        return (id: DurableObjectId) => {
          const stub = target.get(id);
          if (id.name !== broken) return stub;
          return new Proxy(stub, {
            get(own, member) {
              if (member !== "fetch") return Reflect.get(own, member);
              return (input: RequestInfo, init?: RequestInit) =>
                input === CHANGE_LISTED_CALL.url
                  ? Promise.reject(new Error("lost"))
                  : own.fetch(new Request(input, init));
            },
          });
        };
      },
    });
    const scene = startRecords(namespace);
    const kept: Kept[] = [];
    for (let at = 0; at < 40; at += 1) kept.push(await scene.keep(KINDS.unknown()));
    await scene.restart();
    const shards = new Map<string, number>();
    for (const { id } of kept) {
      const shard = (await scene.operator.inspect(id))?.shard ?? "";
      shards.set(shard, (shards.get(shard) ?? 0) + 1);
    }
    expect(shards.size).toBe(3);
    const [[name, count] = ["", 0]] = [...shards];
    broken = name;
    const until = epochMs(Date.now());
    const found = { matched: 40, changed: 40 - count, unanswered: count, unreachable: [name] };
    expect(await changeAll(scene, { until, isPreview: true })).toMatchObject(found);
    expect(await changeAll(scene, { until })).toMatchObject(found);
    broken = "";
    const rest = { matched: count, changed: count, unanswered: 0, unreachable: [] };
    expect(await changeAll(scene, { until })).toMatchObject(rest);
  });
});

describe("a shard that is told to change listed records", () => {
  const forget = { type: "forget", by: "ann", reason: REASON } as const;

  async function send(
    { stub }: Kept,
    records: readonly ListedState[],
    since: EpochMs,
  ): Promise<readonly ListedOutcome[]> {
    const head: ListedChangeHead = { records, event: forget, headers: [], isPreview: false, since };
    const body = encodeMessage({ head, body: new Uint8Array() });
    return (await stub.fetch(CHANGE_LISTED_CALL.url, { method: "POST", body })).json();
  }

  it("skips what is not any more what the list said, and what is gone", async () => {
    const scene = startRecords();
    const record = KINDS.unknown();
    const kept = await scene.keep(record);
    await scene.restart();
    const { number: attempt, startedAt } = record.attempt;
    const listed = { id: kept.id, state: "unknown", attempt, startedAt } as const;
    const later = epochMs(Date.now() + 60_000);
    for (const stale of [
      { ...listed, state: "failed" } as const,
      { ...listed, attempt: attempt + 1 },
      { ...listed, startedAt: epochMs(startedAt - 1) },
      { ...listed, id: recordId("0".repeat(64)) },
    ]) {
      expect(await send(kept, [stale], later)).toEqual(["skipped"]);
    }
    // Resolved after it was listed: a completed record could be forgotten, but nobody asked for that.
    const resolved = { action: "resolve", by: ADMIN, reason: REASON, response: GIVEN, isPreview: false } as const;
    expect(await scene.operator.change(kept.id, resolved)).toMatchObject({ kind: "changed" });
    expect(await send(kept, [listed], later)).toEqual(["skipped"]);
    const now = { ...listed, state: "completed" } as const;
    // Nor after a preview that came before this decision.
    expect(await send(kept, [now], startedAt)).toEqual(["decided"]);
    expect(await send(kept, [now, now], later)).toEqual(["changed", "skipped"]);
    expect(await scene.operator.inspect(kept.id)).toBeNull();
  });
});
