// A change of the scope, with deployments of different scopes side by side: each caller's own operation runs once, and its answer
// goes to nobody to whom neither scope gives it.

import { describe, expect, it, vi } from "vitest";
import { COUNTS } from "../../../bench/cost/operation-counts.ts";
import { MAX_TARGETS } from "../../../../src/kernel/previous-scope/aliases.ts";
import { CountedShard } from "../../../support/integration/counted-shard.ts";
import { Deployments, FIRST, REPLAY } from "../../../support/integration/deployments.ts";
import { heldAnswer } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

const NONE = ["none"];
const CREDENTIAL = ["header:authorization"];
const TENANT = ["header:x-tenant"];

const fresh = (): string => crypto.randomUUID();
const as = (caller: string, tenant = "t"): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${caller}`,
  "x-tenant": tenant,
});

describe.each([
  ["narrowing", NONE, CREDENTIAL],
  ["widening", CREDENTIAL, TENANT],
])("%s", (_name, before, after) => {
  it("keeps what was claimed under the older scope, and shows the older deployment what is claimed under the newer", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: before });
    const next = all.deploy(1, [], { scope: after, previous_scope: [before] });
    const [first, second] = [fresh(), fresh()];
    expect(await old.send(first)).toMatchObject(FIRST);
    expect(await next.send(first)).toMatchObject(REPLAY);
    expect(await next.send(second)).toMatchObject(FIRST);
    expect(await old.send(second)).toMatchObject(REPLAY);
    expect(next.objectCalls()).toEqual(["/1/exchange", "/1/exchange"]);
    expect(all.calls).toHaveLength(2);
  });

  it("has one attempt at a time, whichever deployment asks during it", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: before });
    const next = all.deploy(1, [], { scope: after, previous_scope: [before] });
    for (const [one, other] of [
      [old, next],
      [next, old],
    ] as const) {
      const held = heldAnswer(() => new Response("held", { status: 201 }));
      all.origin = () => held.origin(new Request("http://origin.example"), 1);
      const key = fresh();
      const calls = all.calls.length;
      const answer = one.send(key);
      await eventually(() => expect(all.calls).toHaveLength(calls + 1));
      expect(await other.send(key)).toMatchObject({ status: 409, code: "in-flight" });
      held.release();
      expect(await answer).toMatchObject(FIRST);
      expect(await other.send(key)).toMatchObject(REPLAY);
    }
  });

  it("makes further attempts of the record that failed, and shows them to both", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: before });
    const next = all.deploy(1, [], { scope: after, previous_scope: [before] });
    const key = fresh();
    all.origin = () => new Response("not now", { status: 503 });
    await old.send(key);
    await next.send(key);
    await old.send(key);
    all.origin = () => new Response("done", { status: 201 });
    expect(await next.send(key)).toMatchObject(FIRST);
    expect(await old.send(key)).toMatchObject(REPLAY);
    expect(all.calls.map((call) => call[0])).toEqual(["1", "2", "3", "4"]);
    expect(await all.records(1, key)).toBe(1);
  });
});

describe("several callers with the same key", () => {
  it("are told apart by what they ask, also by a deployment that takes them for one", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: NONE });
    const next = all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE] });
    const key = fresh();
    expect(await next.send(key, "of a", as("a"))).toMatchObject({ ...FIRST, text: "answer 1" });
    expect(await next.send(key, "of b", as("b"))).toMatchObject({ ...FIRST, text: "answer 2" });
    expect(await old.send(key, "of a", as("a"))).toMatchObject({ ...REPLAY, text: "answer 1" });
    expect(await old.send(key, "of b", as("b"))).toMatchObject({ ...REPLAY, text: "answer 2" });
    expect(await old.send(key, "of c", as("c"))).toMatchObject({ status: 422, code: "key-reused" });
    expect(await next.send(key, "of c", as("c"))).toMatchObject({ ...FIRST, text: "answer 3" });
    expect(all.calls).toHaveLength(3);
  });

  it("are refused as before for a key that the older scope gave to another", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: NONE });
    const next = all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE] });
    const key = fresh();
    await old.send(key, "of a", as("a"));
    expect(await next.send(key, "of b", as("b"))).toMatchObject({ status: 422, code: "key-reused" });
    expect(await next.send(key, "of a", as("a"))).toMatchObject(REPLAY);
    expect(all.calls).toHaveLength(1);
  });

  it("do not get each other's answers where no deployment lists a scope that they share", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: CREDENTIAL });
    const next = all.deploy(1, [], { scope: TENANT, previous_scope: [CREDENTIAL] });
    const key = fresh();
    expect(await next.send(key, "same", as("a", "t1"))).toMatchObject({ ...FIRST, text: "answer 1" });
    expect(await next.send(key, "same", as("b", "t2"))).toMatchObject({ ...FIRST, text: "answer 2" });
    expect(await old.send(key, "same", as("a", "t1"))).toMatchObject({ ...REPLAY, text: "answer 1" });
    expect(await old.send(key, "same", as("b", "t2"))).toMatchObject({ ...REPLAY, text: "answer 2" });
  });
});

it("three scopes see each other's records, if each lists those before it", async () => {
  const all = new Deployments();
  const deployments = [
    all.deploy(1, [], { scope: NONE }),
    all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE] }),
    all.deploy(1, [], { scope: TENANT, previous_scope: [NONE, CREDENTIAL] }),
  ];
  for (const first of deployments) {
    const key = fresh();
    expect(await first.send(key)).toMatchObject(FIRST);
    for (const other of deployments) expect(await other.send(key)).toMatchObject(REPLAY);
  }
  expect(all.calls).toHaveLength(3);
});

// feature: previous-shards begins
it("a record is found under its older name in an object of an older layout, and under its newer one in a newer", async () => {
  const all = new Deployments();
  const [old, wide] = [all.deploy(1, [], { scope: CREDENTIAL }), { scope: TENANT, previous_scope: [CREDENTIAL] }];
  const [between, next] = [all.deploy(1, [], wide), all.deploy(2, [1], wide)];
  const [first, second, third] = [fresh(), fresh(), fresh()];
  await old.send(first);
  await between.send(second);
  for (const key of [first, second]) expect(await next.send(key)).toMatchObject(REPLAY);
  expect(await next.send(third)).toMatchObject(FIRST);
  for (const each of [old, between]) expect(await each.send(third)).toMatchObject(REPLAY);
  // The older object has a record under another name than the one that this deployment names first.
  const narrow = all.deploy(2, [1], { scope: CREDENTIAL });
  expect(await narrow.send(second)).toMatchObject(REPLAY);
  expect(all.calls).toHaveLength(3);
});
// feature: previous-shards ends

it("aliases go with their record, whether it expires, is replaced or is forgotten", async () => {
  const all = new Deployments();
  const old = all.deploy(1, [], { scope: NONE });
  const next = all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE, ["ip"]] });
  const key = fresh();
  const aliases = (): Promise<number> =>
    all.within(1, key, (_ledger, { sql }) => sql.exec("SELECT id FROM aliases").toArray().length);
  await next.send(key);
  expect(await aliases()).toBe(2);
  const late = Date.now() + 30 * 3_600_000;
  vi.spyOn(Date, "now").mockImplementation(() => late);
  // Its own name is an alias of the expired record, which goes, and the claim succeeds.
  expect(await old.send(key)).toMatchObject({ ...FIRST, text: "answer 2" });
  expect(await aliases()).toBe(0);
  expect(await next.send(key)).toMatchObject({ ...REPLAY, text: "answer 2" });
  const other = fresh();
  await next.send(other);
  expect(await aliases()).toBe(2);
  vi.spyOn(Date, "now").mockRestore();
  // The clock has gone back: there is one record.
  expect(await next.send(key)).toMatchObject({ ...REPLAY, text: "answer 2" });
  expect(await old.send(key)).toMatchObject({ ...REPLAY, text: "answer 2" });
});

describe("a key that many callers have used under a narrower scope", () => {
  const OTHERS = 300;

  async function usedByMany(
    all: Deployments,
    key: string,
    body: (caller: number) => string,
    settings: object = {},
  ): Promise<void> {
    const next = all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE], ...settings });
    for (let caller = 0; caller < OTHERS; caller += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, at) => next.send(key, body(caller + at), as(`${caller + at}`))));
    }
  }

  it("costs an older deployment no more than one that one caller has used", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: NONE });
    const next = all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE] });
    const [few, many] = [fresh(), fresh()];
    await next.send(few, "of 0", as("0"));
    await usedByMany(all, many, (caller) => `of ${caller}`);
    for (const [body, expected] of [
      ["of another", { status: 422, code: "key-reused" }],
      ["of 0", REPLAY],
    ] as const) {
      const send = (key: string) => async (): Promise<void> => {
        expect(await old.send(key, body)).toMatchObject(expected);
      };
      const least = (await all.watched(1, few, send(few))).length;
      expect(least).toBeGreaterThan(2);
      expect((await all.watched(1, many, send(many))).length).toBeLessThanOrEqual(least + MAX_TARGETS);
    }
    expect(await old.send(many, `of ${OTHERS - 1}`)).toMatchObject(REPLAY);
    expect(all.calls).toHaveLength(OTHERS + 1);
  });

  it("gets 503 where more records of one request may start again than are looked at, also on a route that fails open", async () => {
    const all = new Deployments();
    const open = { on_store_failure: "open", unknown: "retry" };
    const old = all.deploy(1, [], { scope: NONE, ...open });
    const key = fresh();
    all.origin = () => new Response("not now", { status: 503 });
    await usedByMany(all, key, () => "same", open);
    const calls = all.calls.length;
    expect(await old.send(key, "same")).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(all.calls).toHaveLength(calls);
    // Each caller's own record is found as before.
    all.origin = () => new Response("done", { status: 201 });
    const next = all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE], ...open });
    expect(await next.send(key, "same", as("7"))).toMatchObject(FIRST);
  });

  it("begins again when all its records have expired, a few of them at a time", async () => {
    const all = new Deployments();
    const old = all.deploy(1, [], { scope: NONE });
    const key = fresh();
    await usedByMany(all, key, (caller) => `of ${caller}`);
    const late = Date.now() + 30 * 3_600_000;
    vi.spyOn(Date, "now").mockImplementation(() => late);
    const before = await all.records(1, key);
    let said = await old.send(key, "new");
    for (let tries = 0; said.status === 503 && tries < OTHERS; tries += 1) {
      said = await old.send(key, "new");
    }
    expect(said).toMatchObject(FIRST);
    expect(await all.records(1, key)).toBeLessThan(before);
    expect(all.calls).toHaveLength(OTHERS + 1);
    vi.spyOn(Date, "now").mockRestore();
    expect(await old.send(key, "new")).toMatchObject(REPLAY);
  });
});

it("a claim that SQLite refuses leaves the shard working for all others", async () => {
  const all = new Deployments();
  const old = all.deploy(1, [], { scope: NONE });
  const next = all.deploy(1, [], { scope: CREDENTIAL, previous_scope: [NONE] });
  const before = fresh();
  await old.send(before);
  const refused = (query: string): boolean => query.includes("INTO records");
  const statements = await all.watched(
    1,
    before,
    async () => {
      expect(await next.send(fresh())).toMatchObject({ status: 503, code: "store-unavailable" });
    },
    refused,
  );
  expect(statements.some(refused)).toBe(true);
  expect(await old.send(before)).toMatchObject(REPLAY);
  for (const deployment of [old, next]) expect(await deployment.send(fresh())).toMatchObject(FIRST);
});

it("each older scope costs two rows for each key, and one when it is erased", async () => {
  const shard = new CountedShard({ previous_scope: [NONE] });
  await shard.begin();
  await shard.send(fresh());
  const { first } = COUNTS;
  shard.take();
  await shard.send(fresh());
  expect(shard.take()).toMatchObject({ rowsWritten: first.rowsWritten + 2, objectCalls: 1, syncs: first.syncs });
  await shard.within((_ledger, { sql }) => {
    sql.exec("UPDATE records SET number = (1 << 31) | (number & 2147483647), expires_at = 1");
  });
  const held = await shard.within((_ledger, { sql }) => sql.exec("SELECT id FROM records").toArray().length);
  await shard.restart();
  await shard.alarm();
  expect(shard.take()).toMatchObject({ rowsWritten: 2 * held });
  expect(await shard.within(({ aliases }) => aliases.exist)).toBe(false);
});
