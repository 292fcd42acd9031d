// A message that a shard gets more than once, because its sender has lost the connection to the answer. The attempt that it
// names runs once, whatever happens in between.

import { describe, expect, it, vi } from "vitest";
import { type ExchangeHead, EXCHANGE_CALL } from "../../../../src/kernel/request/message.ts";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { again, headOf, heldAnswer, LOCK_MS, messageOf, ShardBench } from "../../../support/integration/shard-bench.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";

standStill();

/** A body whose second piece comes when the gate is open. Polled, since a promise of the test's does not wake the object. */
function twoPieces(one: string, other: string, gate: { readonly isOpen: boolean }): ReadableStream<Uint8Array> {
  const { readable, writable } = new IdentityTransformStream();
  const send = async (): Promise<void> => {
    const writer = writable.getWriter();
    await writer.write(new TextEncoder().encode(one));
    while (!gate.isOpen) await scheduler.wait(1);
    await writer.write(new TextEncoder().encode(other));
    await writer.close();
  };
  void send().catch(() => undefined);
  return readable;
}

/**
 * Another message is a duplicate and gets in-flight. Sends a few in sequence: when one has been answered, the messages sent
 * before it have been read too.
 */
async function expectInFlight(bench: ShardBench, head: ExchangeHead, stub: DurableObjectStub): Promise<void> {
  for (let times = 0; times < 10; times += 1) {
    expect(await bench.send(messageOf(again(head)), stub)).toMatchObject({ status: 409, code: "in-flight" });
  }
}

describe("the same message, delivered again", () => {
  it.each([
    ["is answered", () => new Response("done", { status: 201 }), 201, "done"],
    ["is refused", () => new Response("not now", { status: 503 }), 503, "not now"],
  ])(
    "while its attempt runs, waits for it and gets its answer: the operation %s once",
    async (_what, answer, status, text) => {
      const bench = new ShardBench();
      const { origin, release } = heldAnswer(answer);
      bench.origin = origin;
      const head = headOf();
      const first = bench.send(messageOf(head));
      await bench.called(1);
      const { stub } = bench;
      const repeated = [bench.send(messageOf(head), stub), bench.send(messageOf(head), stub)];
      await expectInFlight(bench, head, stub);
      release();
      for (const said of await Promise.all([first, ...repeated])) expect(said).toMatchObject({ status, text });
      expect(bench.calls).toEqual(["POST /act 1"]);
    },
  );

  it("while its attempt's answer comes as a stream, gets the same stream from its first byte", async () => {
    const bench = new ShardBench();
    const gate = { isOpen: false };
    bench.origin = () => new Response(twoPieces("first, ", "second", gate));
    const { stub } = bench;
    const message = messageOf(headOf());
    // Its headers are sent before the end of its body has arrived.
    const [first, repeated] = await Promise.all(
      [1, 2].map(() => stub.fetch(EXCHANGE_CALL.url, { method: "POST", body: message })),
    );
    gate.isOpen = true;
    expect(await Promise.all([first?.text(), repeated?.text()])).toEqual(["first, second", "first, second"]);
    expect(bench.calls).toEqual(["POST /act 1"]);
  });

  it("while its attempt is refused slowly, gets the whole refusal, and no other attempt starts", async () => {
    const bench = new ShardBench();
    const text = "x".repeat(2 * CHUNK_BYTES);
    const { origin, release } = heldAnswer(() => new Response(text, { status: 503 }));
    bench.origin = (request, number) =>
      number === 1 ? origin(request, number) : new Response("done", { status: 201 });
    const head = headOf();
    const { stub } = bench;
    const first = bench.send(messageOf(head), stub);
    await bench.called(1);
    const repeated = bench.send(messageOf(head), stub);
    await expectInFlight(bench, head, stub);
    release();
    for (const said of [await first, await repeated]) expect(said).toMatchObject({ status: 503, text });
    expect(bench.calls).toEqual(["POST /act 1"]);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "done", isReplay: false });
    expect((await bench.stored(head.record.id))?.attempt.id).not.toBe(head.request.attemptId);
  });

  it("at the same moment, starts one attempt", async () => {
    const bench = new ShardBench();
    const message = messageOf(headOf());
    const said = await Promise.all([1, 2, 3].map(() => bench.send(message)));
    expect(said.map(({ status, text }) => [status, text])).toEqual(said.map(() => [201, "answer 1"]));
    expect(said.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
    expect(bench.calls).toEqual(["POST /act 1"]);
  });

  it("after its attempt has ended, is a replay, also by another instance", async () => {
    const bench = new ShardBench();
    const message = messageOf(headOf());
    const first = await bench.send(message);
    expect(first.isReplay).toBe(false);
    expect(await bench.send(message)).toMatchObject({ status: 201, text: first.text, isReplay: true });
    await bench.evict();
    expect(await bench.send(message)).toMatchObject({ status: 201, text: first.text, isReplay: true });
    expect(bench.calls).toHaveLength(1);
  });

  it("after its object was lost during the attempt, never starts another: only another message may, after the lock", async () => {
    const bench = new ShardBench();
    bench.origin = () => new Promise(() => undefined);
    const head = headOf();
    const first = bench.send(messageOf(head)).catch(() => null);
    await bench.called(1);
    await bench.lose();
    expect(await first).toBeNull();
    bench.origin = () => new Response("second", { status: 201 });
    expect(await bench.send(messageOf(head))).toMatchObject({
      status: 409,
      code: "in-flight",
      retryAfterSeconds: LOCK_MS / 1000,
    });
    vi.setSystemTime(Date.now() + LOCK_MS);
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 409, code: "in-flight", retryAfterSeconds: 1 });
    expect(bench.calls).toHaveLength(1);
    const second = again(head);
    expect(await bench.send(messageOf(second))).toMatchObject({ status: 201, text: "second", isReplay: false });
    // The first attempt's message comes late: the record belongs to another attempt.
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 201, text: "second", isReplay: true });
    expect(bench.calls).toEqual(["POST /act 1", "POST /act 2"]);
  });

  it("after an eviction between two deliveries, reports the attempt as lost, and starts no other", async () => {
    const bench = new ShardBench();
    const head = headOf({}, "hold");
    bench.origin = () => Promise.reject(new Error("connection lost"));
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 502, code: "origin-dropped" });
    await bench.evict();
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 409, code: "outcome-unknown" });
    vi.setSystemTime(Date.now() + LOCK_MS);
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 409, code: "outcome-unknown" });
    expect(bench.calls).toHaveLength(1);
  });

  it("after the origin refused, starts no attempt under the id of the one that ended", async () => {
    const bench = new ShardBench();
    bench.origin = (_request, number) => new Response(`answer ${number}`, { status: number === 1 ? 503 : 201 });
    const head = headOf();
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 503, text: "answer 1" });
    expect(await bench.send(messageOf(head))).toMatchObject({ status: 409, code: "in-flight" });
    expect(bench.calls).toHaveLength(1);
    expect(await bench.send(messageOf(again(head)))).toMatchObject({ status: 201, text: "answer 2" });
  });
});
