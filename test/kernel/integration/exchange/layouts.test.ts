// A change of the layout, with deployments of different layouts side by side on the same objects. What decides is what the
// objects have stored, never which deployment asks.

import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { PAUSE_MS } from "../../../../src/kernel/previous-shards/elder-questions.ts";
import { KeyLister } from "../../../../src/kernel/previous-shards/key-lister.ts";
import { Deployments, keyThatBegins, FIRST, REPLAY } from "../../../support/integration/deployments.ts";
import { heldAnswer } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { expectRuntimeError } from "../../../support/integration/expected-errors.ts";

silence();

const fresh = (): string => crypto.randomUUID();

describe("a key of before", () => {
  it("replays where it was claimed, whichever deployment asks", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    expect(await old.send(key)).toMatchObject({ ...FIRST, text: "answer 1" });
    expect(await next.send(key)).toMatchObject({ ...REPLAY, text: "answer 1" });
    expect(next.objectCalls()).toEqual(["/1/exchange", "/1/exchange"]);
    expect(await old.send(key)).toMatchObject({ ...REPLAY, text: "answer 1" });
    expect(await all.records(2, key)).toBe(0);
    expect(all.calls).toHaveLength(1);
  });

  it("has one attempt at a time, also when the other deployment asks during it", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1], { duplicate: "wait", wait: "10s" })];
    const held = heldAnswer(() => new Response("held", { status: 201 }));
    all.origin = () => held.origin(new Request("http://origin.example"), 1);
    const key = fresh();
    const first = old.send(key);
    await vi.waitFor(() => expect(all.calls).toHaveLength(1), { timeout: 10_000 });
    const second = next.send(key);
    await vi.waitFor(() => expect(next.objectCalls().length).toBeGreaterThan(0), { timeout: 10_000 });
    held.release();
    expect(await first).toMatchObject({ ...FIRST, text: "held" });
    expect(await second).toMatchObject({ status: 201, text: "held" });
    expect(all.calls).toHaveLength(1);
  });

  it("makes its further attempts there, although the object is sealed", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    all.origin = () => new Response("not now", { status: 503 });
    expect(await old.send(key)).toMatchObject({ status: 503 });
    expect(await next.send(key)).toMatchObject({ status: 503 });
    expect(await all.sealed(1, key)).toBe(2);
    all.origin = () => new Response("done", { status: 201 });
    expect(await next.send(key)).toMatchObject({ ...FIRST, text: "done" });
    expect(all.calls.map((call) => call[0])).toEqual(["1", "2", "3"]);
    expect(await old.send(key)).toMatchObject(REPLAY);
    expect(await all.records(2, key)).toBe(0);
  });

  it("gets 422 for another request, whichever deployment asks", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    await old.send(key);
    expect(await next.send(key, "another")).toMatchObject({ status: 422, code: "key-reused" });
    expect(all.calls).toHaveLength(1);
  });
});

describe("a new key", () => {
  it("begins in the newer layout, once the older object has said that it has none, and older deployments find it there", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    expect(await next.send(key)).toMatchObject(FIRST);
    expect(next.objectCalls()).toEqual(["/1/exchange"]);
    expect(await all.sealed(1, key)).toBe(2);
    expect(await old.send(key)).toMatchObject(REPLAY);
    expect(old.objectCalls()).toEqual(["/1/exchange", "/1/exchange"]);
    expect(await all.records(1, key)).toBe(0);
    expect(all.calls).toHaveLength(1);
  });

  it("begins in the older layout as long as nobody has asked", async () => {
    const all = new Deployments();
    const old = all.deploy(1);
    const key = fresh();
    expect(await old.send(key)).toMatchObject(FIRST);
    expect(await all.sealed(1, key)).toBeNull();
  });

  it("of an older deployment begins in the newer layout after the seal, without another question", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    await next.send(fresh());
    const key = fresh();
    const asks = await all.asks(1, key);
    expect(await old.send(key)).toMatchObject(FIRST);
    expect(await all.records(2, key)).toBeGreaterThan(0);
    expect(asks()).toBe(0);
    expect(await next.send(key)).toMatchObject(REPLAY);
  });

  it("begins once, however the requests of both deployments meet", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const keys = Array.from({ length: 20 }, fresh);
    const said = await Promise.all(
      keys.flatMap((key) => [old.send(key), next.send(key), old.send(key), next.send(key)]),
    );
    for (const { status } of said) expect([201, 409]).toContain(status);
    expect(all.calls).toHaveLength(keys.length);
    for (const key of keys) expect(await next.send(key)).toMatchObject(REPLAY);
  });
});

describe("a third layout", () => {
  it("asks both before it, and the one that has the record answers", async () => {
    const all = new Deployments();
    const [one, two, three] = [all.deploy(1), all.deploy(2, [1]), all.deploy(3, [1, 2])];
    const [ofOne, ofTwo, ofThree] = [fresh(), fresh(), fresh()];
    await one.send(ofOne);
    await two.send(ofTwo);
    for (const key of [ofOne, ofTwo]) expect(await three.send(key)).toMatchObject(REPLAY);
    expect(await three.send(ofThree)).toMatchObject(FIRST);
    expect(await all.sealed(2, ofThree)).toBe(3);
    for (const deployment of [one, two]) expect(await deployment.send(ofThree)).toMatchObject(REPLAY);
    expect(all.calls).toHaveLength(3);
  });

  it("that does not list the second is not used for keys that the first was sealed for", async () => {
    const all = new Deployments();
    const [two, three] = [all.deploy(2, [1]), all.deploy(3, [1])];
    await two.send(fresh());
    const key = fresh();
    expect(await three.send(key)).toMatchObject(FIRST);
    expect(await all.records(3, key)).toBe(0);
    expect(await two.send(key)).toMatchObject(REPLAY);
    // It stays open, for the day when it lists the second too.
    expect(await all.sealed(3, key)).toBeNull();
    const later = fresh();
    expect(await all.deploy(3, [1, 2]).send(later)).toMatchObject(FIRST);
    expect(await all.records(3, later)).toBe(1);
  });

  it("that lists the second alone learns of the first from it", async () => {
    const all = new Deployments();
    const [one, two, three] = [all.deploy(1), all.deploy(2, [1]), all.deploy(3, [2])];
    const key = fresh();
    await one.send(key);
    // Every object of the second layout has asked the first.
    for (let sent = 0; sent < 12; sent += 1) await two.send(fresh());
    expect(await three.send(key)).toMatchObject(REPLAY);
    expect(await three.send(fresh())).toMatchObject(FIRST);
  });
});

describe("a fourth layout", () => {
  it("that seals the second leaves the third, still open, a way to begin new keys", async () => {
    const all = new Deployments();
    const [three, four] = [all.deploy(3, [1, 2]), all.deploy(4, [1, 2, 3])];
    // The first is left for the third, the second for the fourth, and no object of these two has been asked.
    await all.close(1, 3);
    await all.close(2, 4);
    const keys = Array.from({ length: 5 }, fresh);
    for (const key of keys) expect(await three.send(key)).toMatchObject(FIRST);
    for (const key of keys) expect(await four.send(key)).toMatchObject(REPLAY);
    for (const key of keys) expect(await three.send(key)).toMatchObject(REPLAY);
    expect(all.calls).toHaveLength(keys.length);
  });

  it("does so too where one retry has sealed the second", async () => {
    const all = new Deployments();
    const [two, three, four] = [all.deploy(2, [1]), all.deploy(3, [1, 2]), all.deploy(4, [1, 2, 3])];
    const key = fresh();
    await all.close(1, 3);
    all.origin = () => new Response("not now", { status: 503 });
    await two.send(key);
    expect(await four.send(key)).toMatchObject({ status: 503, code: null });
    all.origin = () => new Response("done", { status: 201 });
    const keys = Array.from({ length: 12 }, fresh);
    for (const one of [key, ...keys]) expect(await three.send(one)).toMatchObject(FIRST);
    for (const one of [key, ...keys]) expect(await four.send(one)).toMatchObject(REPLAY);
  });
});

describe("a way back", () => {
  it("of the configuration stays in the newer layout, with a hop", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    await next.send(fresh());
    const key = fresh();
    expect(await old.send(key)).toMatchObject(FIRST);
    expect(old.objectCalls()).toEqual(["/1/exchange", "/1/exchange"]);
    expect(await all.records(1, key)).toBe(0);
  });

  it("to as many objects with other names finds the keys of all layouts before", async () => {
    const all = new Deployments();
    const [one, two, back] = [all.deploy(1), all.deploy(2, [1]), all.deploy(4, [1, 2])];
    const keys = [fresh(), fresh()] as const;
    await one.send(keys[0]);
    await two.send(keys[1]);
    for (const key of keys) expect(await back.send(key)).toMatchObject(REPLAY);
  });
});

describe("objects for each key", () => {
  it("follow a number of shards", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deployed({ shards: "per-key", previous_shards: [all.layout(1)] })];
    const [before, after] = [fresh(), fresh()];
    await old.send(before);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(await old.send(after)).toMatchObject(REPLAY);
  });

  it("are followed by a number of shards, which stores nothing about each of them", async () => {
    const all = new Deployments();
    const [old, next] = [all.deployed({ shards: "per-key" }), all.deploy(1, [], { previous_shards: ["per-key"] })];
    const [before, after] = [fresh(), fresh()];
    await old.send(before);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(await old.send(after)).toMatchObject(REPLAY);
    expect(await all.within(1, after, ({ elders }) => elders.isEmpty)).toBe(true);
  });
});

describe("an expired record", () => {
  it("is gone from an object that has said that it has none, even if the clock goes back", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    await old.send(key);
    const late = Date.now() + 25 * 3_600_000;
    vi.spyOn(Date, "now").mockImplementation(() => late);
    expect(await next.send(key)).toMatchObject({ ...FIRST, text: "answer 2" });
    vi.spyOn(Date, "now").mockRestore();
    expect(await all.records(1, key)).toBe(0);
    expect(await old.send(key)).toMatchObject({ ...REPLAY, text: "answer 2" });
  });

  it("is gone from a sealed object that sends a request on", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    await old.send(key);
    await next.send(fresh());
    const late = Date.now() + 25 * 3_600_000;
    vi.spyOn(Date, "now").mockImplementation(() => late);
    expect(await old.send(key)).toMatchObject({ ...FIRST, text: "answer 3" });
    vi.spyOn(Date, "now").mockRestore();
    expect(await all.records(1, key)).toBe(0);
    for (const deployment of [old, next]) expect(await deployment.send(key)).toMatchObject({ text: "answer 3" });
  });
});

describe("an elder", () => {
  it("is asked no more about keys that it does not list, also after a restart of the newer object", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const before = fresh();
    await old.send(before);
    const asks = await all.asks(1, before);
    const key = fresh();
    await next.send(key);
    expect(asks()).toBe(1);
    const others: string[] = [];
    for (let sent = 0; sent < 10; sent += 1) {
      others.push(fresh());
      expect(await next.send(others.at(-1) ?? "")).toMatchObject(FIRST);
    }
    // Once for the other object of the newer layout.
    expect(asks()).toBeLessThanOrEqual(2);
    const known = asks();
    await all.evict(2, key);
    expect(await next.send(key)).toMatchObject(REPLAY);
    for (let sent = 0; sent < 5; sent += 1) expect(await next.send(fresh())).toMatchObject(FIRST);
    expect(asks()).toBe(known);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(asks()).toBe(known + 1);
  });

  it("that holds many keys is asked once about a part of them, and about those that it lists", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = await keyThatBegins("a");
    await old.send(key);
    await all.fill(1, key, 4100);
    const asks = await all.asks(1, key);
    for (let sent = 0; sent < 6; sent += 1) expect(await next.send(await keyThatBegins("a"))).toMatchObject(FIRST);
    // Once for each object of the newer layout.
    expect(asks()).toBeLessThanOrEqual(2);
    const known = asks();
    expect(await next.send(key)).toMatchObject(REPLAY);
    expect(asks()).toBe(known + 1);
    expect(await next.send(await keyThatBegins("b"))).toMatchObject(FIRST);
    expect(asks()).toBe(known + 2);
  });

  it("with too many keys that begin alike is asked about each of them, tries to list them now and then, and lists all others", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    await old.send(key);
    await all.fill(1, key, 4100, "abc");
    const asks = await all.asks(1, key);
    const around = vi.spyOn(KeyLister.prototype, "around");
    /** What was tried to be listed since the last call. */
    const tried = (): readonly string[] => around.mock.calls.splice(0).map(([hash]) => hash.slice(0, 1));
    const clock = vi.spyOn(Date, "now");
    const [begun, late] = [Date.now(), Date.now() + 11_000];
    clock.mockImplementation(() => begun);
    const sendSome = async (begin: string, count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 1)
        expect(await next.send(await keyThatBegins(begin))).toMatchObject(FIRST);
    };
    await sendSome("abc", 3);
    expect([asks(), tried()]).toEqual([3, ["a"]]);
    // Others are listed meanwhile, once for each object of the newer layout.
    await sendSome("d", 6);
    const listed = asks() - 3;
    expect(listed).toBeLessThanOrEqual(2);
    expect(tried()).toEqual(Array.from({ length: listed }, () => "d"));
    await sendSome("abc", 2);
    expect([asks(), tried()]).toEqual([5 + listed, []]);
    clock.mockImplementation(() => late);
    await sendSome("abc", 3);
    expect([asks(), tried()]).toEqual([8 + listed, ["a"]]);
    clock.mockRestore();
    around.mockRestore();
  });

  it("that cannot be reached keeps new keys from beginning: 503, and nothing is sent", async () => {
    const all = new Deployments();
    const [closed, open] = [all.deploy(2, [1]), all.deploy(2, [1], { on_store_failure: "open" })];
    const key = fresh();
    const stub = await all.stub(1, key);
    expectRuntimeError("not now");
    await runInDurableObject(stub, (instance) => {
      vi.spyOn(instance, "fetch").mockImplementation(() => {
        throw new Error("not now");
      });
    });
    expect(await closed.send(key)).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(all.calls).toEqual([]);
    expect(await open.send(key)).toMatchObject({ status: 201, isReplay: false });
    expect(all.calls).toEqual(["- 2"]);
    await runInDurableObject(stub, (instance) => {
      vi.spyOn(instance, "fetch").mockRestore();
    });
    // It is not asked again at once.
    expect(await closed.send(key)).toMatchObject({ status: 503 });
    const later = Date.now() + PAUSE_MS;
    vi.spyOn(Date, "now").mockImplementation(() => later);
    expect(await closed.send(key)).toMatchObject(FIRST);
    vi.spyOn(Date, "now").mockRestore();
  });

  it("that could not be reached may be a newer layout of this one afterwards: nothing was learned from it", async () => {
    const all = new Deployments();
    const key = fresh();
    const stub = await all.stub(1, key);
    expectRuntimeError("not now");
    await runInDurableObject(stub, (instance) => {
      vi.spyOn(instance, "fetch").mockRejectedValueOnce(new Error("not now"));
    });
    expect(await all.deploy(2, [1]).send(key)).toMatchObject({ status: 503 });
    expect(await all.deploy(1, [2]).send(key)).toMatchObject(FIRST);
  });

  it("that is slow is asked once for all duplicates of a key, and about no more than a hundred keys at a time", async () => {
    const all = new Deployments();
    const next = all.deploy(2, [1], { duplicate: "wait", wait: "20s" });
    const keys: string[] = [fresh()];
    const [key = ""] = keys;
    const { id } = await all.stub(2, key);
    while (keys.length < 120) {
      const other = fresh();
      if ((await all.stub(2, other)).id.equals(id)) keys.push(other);
    }
    let asks = 0;
    const open = Promise.withResolvers<null>();
    await all.within(1, key, (_ledger, _storage, instance) => {
      const fetch = instance.fetch.bind(instance);
      vi.spyOn(instance, "fetch").mockImplementation(async (request) => {
        asks += 1;
        await open.promise;
        return fetch(request);
      });
    });
    const duplicates = Array.from({ length: 60 }, () => next.send(key));
    await vi.waitFor(() => expect(asks).toBe(1), { timeout: 10_000 });
    const others = keys.slice(1).map((one) => next.send(one));
    // Those above the bound are refused while the others wait.
    const refused = await Promise.race(others.toReversed());
    expect(refused).toMatchObject({ status: 503, code: "store-unavailable" });
    await vi.waitFor(() => expect(asks).toBe(100), { timeout: 10_000 });
    open.resolve(null);
    for (const said of await Promise.all(duplicates)) expect(said).toMatchObject({ status: 201, text: "answer 1" });
    const statuses = (await Promise.all(others)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(20);
    expect(asks).toBe(100);
  });

  it("refuses a newer object that it follows itself, so that two deployments that contradict each other lose nothing", async () => {
    const all = new Deployments();
    const [one, two] = [all.deploy(1, [2]), all.deploy(2, [1])];
    const key = fresh();
    await Promise.all([one.send(key), two.send(key)]);
    expect(all.calls.length).toBeLessThanOrEqual(1);
    // A further layout mends it.
    const three = all.deploy(3, [1, 2]);
    expect((await three.send(key)).status).toBe(201);
    expect(all.calls).toHaveLength(1);
  });
});

describe("two deployments that contradict each other", () => {
  it("send nothing without protection, although they find no home for a key: nothing is down", async () => {
    const all = new Deployments();
    const open = { on_store_failure: "open", unknown: "retry" };
    const [one, two] = [all.deploy(1, [2], open), all.deploy(2, [1], open)];
    const key = fresh();
    await all.close(1, 2);
    await all.close(2, 1);
    for (const deployment of [one, two, one]) {
      expect(await deployment.send(key)).toMatchObject({ status: 503, code: "store-unavailable" });
    }
    expect(all.calls).toEqual([]);
  });

  it("send nothing without protection either when an elder refuses to be left for the layout that it follows", async () => {
    const all = new Deployments();
    const two = all.deploy(2, [3]);
    const three = all.deploy(3, [2], { on_store_failure: "open", unknown: "retry" });
    const asked = fresh();
    const [younger, elder] = await Promise.all([all.stub(2, asked), all.stub(3, asked)]);
    expect(await two.send(asked)).toMatchObject(FIRST);
    // A key of the same object of the second layout, whose object of the third has not been asked.
    let key = "";
    do key = fresh();
    while (!(await all.stub(2, key)).id.equals(younger.id) || (await all.stub(3, key)).id.equals(elder.id));
    expect(await three.send(key)).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(all.calls).toHaveLength(1);
  });
});

describe("an object that is sealed while it asks", () => {
  it("claims nothing: its own seal counts in the turn of the claim", async () => {
    const all = new Deployments();
    const [two, three] = [all.deploy(2, [1]), all.deploy(3, [2])];
    const key = fresh();
    const stub = await all.stub(1, key);
    const asked = { times: 0 };
    await runInDurableObject(stub, (instance) => {
      const fetch = instance.fetch.bind(instance);
      vi.spyOn(instance, "fetch").mockImplementation(async (request) => {
        const answer = await fetch(request);
        asked.times += 1;
        while (asked.times < 99) await scheduler.wait(1);
        return answer;
      });
    });
    const first = two.send(key);
    await vi.waitFor(() => expect(asked.times).toBe(1), { timeout: 10_000 });
    // The third layout seals the second meanwhile.
    const second = three.send(key);
    await vi.waitFor(async () => expect(await all.sealed(2, key)).toBe(3), { timeout: 10_000 });
    asked.times = 99;
    const said = [await first, await second];
    expect(said.map(({ status }) => status)).toContain(201);
    expect(all.calls).toHaveLength(1);
    expect(await all.records(2, key)).toBe(0);
    expect(await two.send(key)).toMatchObject(REPLAY);
  });
});

describe("a large body", () => {
  const large = new Uint8Array(2 << 20);
  const medium = new Uint8Array(200_000);

  it("that can be sent only once is sent when the home of its key is known", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    const [before, after] = [fresh(), fresh()];
    expect(await old.send(before, large)).toMatchObject(FIRST);
    expect(old.objectCalls()).toEqual(["/1/upload"]);
    expect(await next.send(before, large)).toMatchObject(REPLAY);
    expect(next.objectCalls()).toEqual(["/1/locate", "/1/locate", "/1/upload"]);
    expect(await next.send(after, large)).toMatchObject(FIRST);
    expect(next.objectCalls()).toEqual(["/1/locate", "/1/upload"]);
    expect(all.calls).toEqual([`1 ${2 << 20}`, `1 ${2 << 20}`]);
  });

  it("of a deployment that knows no newer layout is refused once, and then finds the home of its key", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    await next.send(fresh());
    const key = fresh();
    expect(await old.send(key, large)).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(await old.send(key, large)).toMatchObject(FIRST);
    expect(old.objectCalls()).toEqual(["/1/upload", "/1/locate", "/1/locate", "/1/upload"]);
    expect(all.calls).toHaveLength(2);
    expect(await next.send(key, large)).toMatchObject(REPLAY);
  });

  it("that is held in memory goes with its request from object to object", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deploy(2, [1])];
    await next.send(fresh());
    const key = fresh();
    expect(await old.send(key, medium)).toMatchObject(FIRST);
    expect(old.objectCalls()).toEqual(["/1/offer", "/1/offer"]);
    expect(all.calls.at(-1)).toBe("1 200000");
    expect(await next.send(key, medium)).toMatchObject(REPLAY);
  });
});

it("an origin cannot send a Worker elsewhere", async () => {
  const all = new Deployments();
  const old = all.deploy(1);
  const layout = { shards: all.layout(2), jurisdiction: null, locationHint: null };
  const hop = JSON.stringify({ kind: "moved", to: layout, elders: [], absent: [] });
  all.origin = () => new Response(null, { status: 204, headers: { "Onceway-Moved": hop } });
  const key = fresh();
  expect(await old.send(key)).toMatchObject({ status: 204, isReplay: false });
  expect(await old.send(key)).toMatchObject({ status: 204, isReplay: true });
  expect(old.objectCalls()).toEqual(["/1/exchange", "/1/exchange"]);
});

describe("a jurisdiction", () => {
  it("is part of the layout: older records stay where they are, and new ones begin within it", async () => {
    const all = new Deployments();
    const old = all.deploy(1);
    const previous_shards = [{ shards: all.layout(1), jurisdiction: "none" }];
    const next = all.deploy(1, [], { jurisdiction: "eu", previous_shards });
    const [before, after] = [fresh(), fresh()];
    await old.send(before);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(await all.records(1, before)).toBe(1);
    // A deployment without the jurisdiction is sent there.
    expect(await old.send(after)).toMatchObject(REPLAY);
    expect(old.objectCalls()).toEqual(["/1/exchange", "/1/exchange", "/1/exchange"]);
    expect(all.calls).toHaveLength(2);
    expect(await all.within(1, before, ({ seal }) => seal.next)).toBe(
      JSON.stringify({ shards: all.layout(1), jurisdiction: "eu", locationHint: null }),
    );
  });
});
