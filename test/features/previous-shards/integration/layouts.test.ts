// A change of the number of shards, with deployments of different layouts side by side on the same objects. What decides is what the
// objects have stored, never which deployment asks.

import { describe, expect, it, vi } from "vitest";
import { type Deployment, Deployments, FIRST, REPLAY } from "../../../support/integration/deployments.ts";
import { heldAnswer } from "../../../support/integration/shard-bench.ts";
import { silence } from "../../../support/integration/silence.ts";
import { eventually } from "../../../support/eventually.ts";

silence();

const fresh = (): string => crypto.randomUUID();

interface Change {
  readonly all: Deployments;
  readonly old: Deployment;
  readonly next: Deployment;
}

/** From one object to two. */
function change(settings: Readonly<Record<string, unknown>> = {}): Change {
  const all = new Deployments();
  return { all, old: all.deploy(1, [], settings), next: all.deploy(2, [1], settings) };
}

describe("before a layout is closed", () => {
  it("all keys begin in it, whichever deployment asks: the newer one has changed nothing", async () => {
    const { all, old, next } = change();
    const [one, two] = [fresh(), fresh()];
    expect(await next.send(one)).toMatchObject(FIRST);
    expect(await old.send(two)).toMatchObject(FIRST);
    for (const deployment of [old, next])
      for (const key of [one, two]) expect(await deployment.send(key)).toMatchObject(REPLAY);
    expect(new Set([...old.objectCalls(), ...next.objectCalls()])).toEqual(new Set(["/1/exchange"]));
    expect(await all.records(1, one)).toBe(2);
    expect(await all.records(2, one)).toBe(0);
    expect(await all.closedFor(1, one)).toBeNull();
  });

  it("a key has one attempt at a time, also when the other deployment asks during it", async () => {
    const { all, old, next } = change({ duplicate: "wait", wait: "10s" });
    const held = heldAnswer(() => new Response("held", { status: 201 }));
    all.origin = () => held.origin(new Request("http://origin.example"), 1);
    const key = fresh();
    const first = old.send(key);
    await eventually(() => expect(all.calls).toHaveLength(1));
    const second = next.send(key);
    await eventually(() => expect(next.objectCalls().length).toBeGreaterThan(0));
    held.release();
    expect(await first).toMatchObject({ ...FIRST, text: "held" });
    expect(await second).toMatchObject({ status: 201, text: "held" });
    expect(all.calls).toHaveLength(1);
  });
});

/** Requests that meet on an answer which is still arriving. */
it("an answer that is still arriving is followed through the other deployment from its first byte", async () => {
  const { all, old, next } = change({ duplicate: "attach", wait: "10s" });
  const gate = { isOpen: false };
  const pieces = ["one, ", "two"];
  const body = (): ReadableStream =>
    new ReadableStream({
      type: "bytes",
      async pull(controller) {
        while (pieces.length < 2 && !gate.isOpen) await scheduler.wait(1);
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    });
  all.origin = () => new Response(body(), { status: 201 });
  const key = fresh();
  const init = { method: "POST", headers: { "idempotency-key": key, authorization: "Bearer a" }, body: "{}" };
  const readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  for (const deployment of [next, old]) {
    const reader = (await deployment.fetch("/act", init)).body?.getReader();
    if (reader === undefined) throw new Error("no body");
    readers.push(reader);
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("one, ");
  }
  gate.isOpen = true;
  for (const reader of readers) expect(new TextDecoder().decode((await reader.read()).value)).toBe("two");
  expect(all.calls).toHaveLength(1);
});

describe("after a layout is closed", () => {
  it("its keys are replayed where they are, and new ones begin in the next, whichever deployment asks", async () => {
    const { all, old, next } = change();
    const [before, one, two] = [fresh(), fresh(), fresh()];
    await old.send(before);
    await all.close(1, 2);
    expect(await all.closedFor(1, before)).toBe(2);
    next.objectCalls();
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(next.objectCalls()).toEqual(["/1/exchange"]);
    expect(await next.send(one)).toMatchObject(FIRST);
    expect(next.objectCalls()).toEqual(["/1/exchange", "/1/exchange"]);
    expect(await old.send(two)).toMatchObject(FIRST);
    for (const deployment of [old, next])
      for (const key of [one, two]) expect(await deployment.send(key)).toMatchObject(REPLAY);
    expect(await all.records(1, before)).toBe(1);
    expect(all.calls).toHaveLength(3);
  });

  it("a key of it makes its further attempts there", async () => {
    const { all, old, next } = change();
    const key = fresh();
    all.origin = () => new Response("not now", { status: 503 });
    expect(await old.send(key)).toMatchObject({ status: 503 });
    await all.close(1, 2);
    expect(await next.send(key)).toMatchObject({ status: 503 });
    all.origin = () => new Response("done", { status: 201 });
    expect(await next.send(key)).toMatchObject({ ...FIRST, text: "done" });
    expect(all.calls.map((call) => call[0])).toEqual(["1", "2", "3"]);
    expect(await old.send(key)).toMatchObject(REPLAY);
    expect(await next.send(key, "another")).toMatchObject({ status: 422, code: "key-reused" });
    expect(await all.records(2, key)).toBe(0);
  });

  it("an attempt of it whose outcome is unknown is held there, and no deployment makes another", async () => {
    const { all, old, next } = change({ unknown: "hold" });
    const key = fresh();
    all.origin = () => Promise.reject(new Error("lost"));
    expect(await old.send(key)).toMatchObject({ status: 502 });
    await all.close(1, 2);
    for (const deployment of [next, old, all.deploy(2, [1], { unknown: "hold" })])
      expect(await deployment.send(key)).toMatchObject({ status: 409, code: "outcome-unknown" });
    expect(all.calls).toHaveLength(1);
  });

  it("a key begins once, however the requests of both deployments meet", async () => {
    const { all, old, next } = change();
    const keys = Array.from({ length: 20 }, fresh);
    const sent = keys.flatMap((key) => [old.send(key), next.send(key), old.send(key), next.send(key)]);
    const [said] = await Promise.all([Promise.all(sent), all.close(1, 2)]);
    for (const { status } of said) expect([201, 409]).toContain(status);
    expect(all.calls).toHaveLength(keys.length);
    for (const key of keys) expect(await next.send(key)).toMatchObject(REPLAY);
  });

  it("an object that is closed and empty is asked no more by this isolate, and by another one once", async () => {
    const { all, next } = change();
    await all.close(1, 2);
    for (const calls of [2, 1, 1]) {
      expect(await next.send(fresh())).toMatchObject(FIRST);
      expect(next.objectCalls()).toHaveLength(calls);
    }
    expect(await all.deploy(2, [1]).send(fresh())).toMatchObject(FIRST);
  });

  it("an object that is closed and has a record is asked about each key", async () => {
    const { all, old, next } = change();
    const key = fresh();
    await old.send(key);
    await all.close(1, 2);
    for (let sent = 0; sent < 3; sent += 1) {
      expect(await next.send(fresh())).toMatchObject(FIRST);
      expect(next.objectCalls()).toHaveLength(2);
    }
    expect(await next.send(key)).toMatchObject(REPLAY);
  });

  it("an object that does not answer keeps keys from beginning: 503, and nothing is sent", async () => {
    const all = new Deployments();
    const [closed, open] = [all.deploy(2, [1]), all.deploy(2, [1], { on_store_failure: "open" })];
    const key = fresh();
    await all.close(1, 2);
    const mend = await all.break(1, key);
    expect(await closed.send(key)).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(all.calls).toEqual([]);
    expect(await open.send(key)).toMatchObject({ status: 201, isReplay: false });
    expect(all.calls).toEqual(["- 2"]);
    mend();
    expect(await closed.send(key)).toMatchObject(FIRST);
  });

  it("a record that has expired is gone from the closed object, even if the clock goes back", async () => {
    const { all, old, next } = change();
    const key = fresh();
    await old.send(key);
    await all.close(1, 2);
    const late = Date.now() + 25 * 3_600_000;
    vi.spyOn(Date, "now").mockImplementation(() => late);
    expect(await next.send(key)).toMatchObject({ ...FIRST, text: "answer 2" });
    vi.spyOn(Date, "now").mockRestore();
    expect(await all.records(1, key)).toBe(0);
    expect(await old.send(key)).toMatchObject({ ...REPLAY, text: "answer 2" });
  });
});

describe("while the scope changes too", () => {
  const wider = { scope: ["none"], previous_scope: [["header:authorization"]] };

  it("a closed object has a key under each name that the request has", async () => {
    const { all, old } = change();
    const next = all.deploy(2, [1], wider);
    const [before, after] = [fresh(), fresh()];
    await old.send(before);
    await all.close(1, 2);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(all.calls).toHaveLength(2);
  });

  it("and under the names that its record was given besides", async () => {
    const { all, next } = change();
    const [before, after] = [fresh(), fresh()];
    await all.deploy(1, [], wider).send(before);
    await all.close(1, 2);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(all.calls).toHaveLength(2);
  });
});

describe("a third layout", () => {
  it("finds the keys of both before it, also in a deployment that lists neither, or the first alone", async () => {
    const all = new Deployments();
    const [one, two, three] = [all.deploy(1), all.deploy(2, [1]), all.deploy(3, [1, 2])];
    const [ofOne, ofTwo, ofThree] = [fresh(), fresh(), fresh()];
    await one.send(ofOne);
    await all.close(1, 2);
    await two.send(ofTwo);
    await all.close(2, 3);
    for (const key of [ofOne, ofTwo]) expect(await three.send(key)).toMatchObject(REPLAY);
    expect(await three.send(ofThree)).toMatchObject(FIRST);
    for (const deployment of [one, two, all.deploy(3, [1])])
      for (const key of [ofOne, ofTwo, ofThree]) expect(await deployment.send(key)).toMatchObject(REPLAY);
    expect(await all.records(3, ofThree)).toBe(1);
    expect(all.calls).toHaveLength(3);
  });

  it("that a deployment has instead of the second gets no key that the first was closed for", async () => {
    const all = new Deployments();
    const [two, three] = [all.deploy(2, [1]), all.deploy(3, [1])];
    await all.close(1, 2);
    const key = fresh();
    expect(await three.send(key)).toMatchObject(FIRST);
    expect(await all.records(3, key)).toBe(0);
    expect(await two.send(key)).toMatchObject(REPLAY);
  });

  it("that lists the second alone too early is sent to the first by it", async () => {
    const all = new Deployments();
    const [one, two] = [all.deploy(1), all.deploy(2, [1])];
    const key = fresh();
    await one.send(key);
    await all.close(1, 2);
    // Every object of the second layout begins a key with the answer of the first.
    for (let sent = 0; sent < 12; sent += 1) await two.send(fresh());
    for (const deployment of [all.deploy(2), all.deploy(3, [2]), all.deploy(1, [2])]) {
      expect(await deployment.send(key)).toMatchObject(REPLAY);
      expect(await deployment.send(fresh())).toMatchObject(FIRST);
    }
    // Also when it is closed itself.
    await all.close(2, 3);
    expect(await all.deploy(3, [2]).send(key)).toMatchObject(REPLAY);
  });
});

describe("two layouts that are closed for each other", () => {
  it("send nothing, also without protection: nothing is down", async () => {
    const all = new Deployments();
    const open = { on_store_failure: "open", unknown: "retry" };
    const [one, two] = [all.deploy(1, [2], open), all.deploy(2, [1], open)];
    const key = fresh();
    await all.closeEach(1, 2, [key]);
    await all.closeEach(2, 1, [key]);
    for (const deployment of [one, two, one]) {
      expect(await deployment.send(key)).toMatchObject({ status: 503, code: "store-unavailable" });
    }
    expect(all.calls).toEqual([]);
  });
});

describe("objects for each key", () => {
  it("follow a number of shards", async () => {
    const all = new Deployments();
    const [old, next] = [all.deploy(1), all.deployed({ shards: "per-key", previous_shards: [all.layout(1)] })];
    const [before, after] = [fresh(), fresh()];
    await old.send(before);
    await all.closeEach(1, "per-key", [before]);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(await old.send(after)).toMatchObject(REPLAY);
  });

  it("are followed by a number of shards: each closes when it is asked, and nothing is stored about it", async () => {
    const all = new Deployments();
    const [old, next] = [all.deployed({ shards: "per-key" }), all.deploy(1, [], { previous_shards: ["per-key"] })];
    const [before, after] = [fresh(), fresh()];
    await old.send(before);
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(await old.send(after)).toMatchObject(REPLAY);
    // Another caller's key in an object that has a record.
    expect(await next.send(before, "{}", { authorization: "Bearer b" })).toMatchObject(FIRST);
    expect(await all.within(1, after, ({ tables }) => tables.has("closed_before"))).toBe(false);
  });
});

describe("a large body", () => {
  const large = new Uint8Array(2 << 20);
  const medium = new Uint8Array(200_000);

  it("that can be sent only once is sent when it is known where its key begins", async () => {
    const { all, old, next } = change();
    const [before, after] = [fresh(), fresh()];
    expect(await old.send(before, large)).toMatchObject(FIRST);
    expect(old.objectCalls()).toEqual(["/1/upload"]);
    await all.close(1, 2);
    expect(await next.send(before, large)).toMatchObject(REPLAY);
    expect(next.objectCalls()).toEqual(["/1/locate", "/1/upload"]);
    expect(await next.send(after, large)).toMatchObject(FIRST);
    expect(next.objectCalls()).toEqual(["/1/locate", "/1/locate", "/1/upload"]);
    expect(all.calls).toEqual([`1 ${2 << 20}`, `1 ${2 << 20}`]);
  });

  it("of a deployment that knows no other layout is refused once, and then finds where its key begins", async () => {
    const { all, old, next } = change();
    await all.close(1, 2);
    const key = fresh();
    expect(await old.send(key, large)).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(await old.send(key, large)).toMatchObject(FIRST);
    expect(old.objectCalls()).toEqual(["/1/upload", "/1/locate", "/1/locate", "/1/upload"]);
    expect(all.calls).toHaveLength(1);
    expect(await next.send(key, large)).toMatchObject(REPLAY);
  });

  it("that is held in memory goes with its request from object to object", async () => {
    const { all, old, next } = change();
    await all.close(1, 2);
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
  const next = { shards: all.layout(2), jurisdiction: null, locationHint: null };
  const elsewhere = JSON.stringify({ kind: "closed", next, isEmpty: true });
  all.origin = () => new Response(null, { status: 204, headers: { "Onceway-Elsewhere": elsewhere } });
  const key = fresh();
  expect(await old.send(key)).toMatchObject({ status: 204, isReplay: false });
  expect(await old.send(key)).toMatchObject({ status: 204, isReplay: true });
  expect(old.objectCalls()).toEqual(["/1/exchange", "/1/exchange"]);
});

describe("a jurisdiction", () => {
  it("is part of the layout: its object gets a request only if the key has a record there, or begins there", async () => {
    const all = new Deployments();
    const old = all.deploy(1);
    const previous_shards = [{ shards: all.layout(1), jurisdiction: "none" }];
    const next = all.deploy(1, [], { jurisdiction: "eu", previous_shards });
    const [before, after] = [fresh(), fresh()];
    await old.send(before);
    await all.closeEach(1, 1, [before], "eu");
    expect(await next.send(before)).toMatchObject(REPLAY);
    expect(next.objectCalls()).toEqual(["/1/locate", "/1/exchange"]);
    expect(await next.send(after)).toMatchObject(FIRST);
    expect(next.objectCalls()).toEqual(["/1/locate", "/1/exchange"]);
    expect(await all.records(1, before)).toBe(1);
    // A deployment without the jurisdiction is sent there.
    expect(await old.send(after)).toMatchObject(REPLAY);
    expect(all.calls).toHaveLength(2);
  });
});
