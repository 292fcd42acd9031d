// A request's body that is offered to the shard: only the request that starts an attempt uses it.

import { describe, expect, it, vi } from "vitest";
import { fingerprint as fingerprintOf } from "../../../../src/kernel/record/units.ts";
import { type ExchangeHead, OFFER_CALL } from "../../../../src/kernel/request/message.ts";
import { SMALL_BYTES } from "../../../../src/kernel/request/body.ts";
import { offerMessage } from "../../../../src/kernel/request/message-stream.ts";
import { attemptMemory } from "../../../../src/kernel/body/request-body.ts";
import {
  again,
  headOf,
  heldAnswer,
  messageOf,
  type Said,
  saidBy,
  ShardBench,
} from "../../../support/integration/shard-bench.ts";

const BYTES = new Uint8Array(1_000_000).map((_byte, index) => (index * 31 + (index >> 8)) % 251);

interface Offer {
  /** Whether the body has been taken, or refused. */
  readonly isOver: () => boolean;
  readonly said: Promise<Said>;
}

function offer(bench: ShardBench, head: ExchangeHead, body = BYTES): Offer {
  const { stream, taken } = offerMessage({ head, body });
  let isOver = false;
  void taken.then(() => (isOver = true));
  return {
    isOver: () => isOver,
    said: bench.stub.fetch(OFFER_CALL.url, { method: "POST", body: stream }).then(saidBy),
  };
}

/** The bytes held of so many bodies. */
function heldOf(bodies: number): number {
  return bodies * (BYTES.byteLength - SMALL_BYTES);
}

/** An origin that holds its answer and keeps what it is sent. */
function reader(bench: ShardBench): { readonly bodies: Uint8Array[]; readonly release: () => void } {
  const held = heldAnswer(() => new Response("done", { status: 201 }));
  const bodies: Uint8Array[] = [];
  bench.origin = async (request, number) => {
    bodies.push(new Uint8Array(await request.arrayBuffer()));
    return held.origin(request, number);
  };
  return { bodies, release: held.release };
}

describe("a body that is offered", () => {
  it("reaches the origin byte for byte, and is held once however many wait", async () => {
    const bench = new ShardBench();
    const { bodies, release } = reader(bench);
    const head = headOf({ rules: { duplicate: "wait", waitMs: 60_000 } });
    const first = offer(bench, head);
    await bench.called(1);
    const others = Array.from({ length: 20 }, () => offer(bench, again(head)));
    // While each of them waits.
    await vi.waitUntil(() => others.every(({ isOver }) => isOver()), { timeout: 10_000 });
    expect(attemptMemory.heldBytes).toBe(heldOf(1));
    release();
    expect(await first.said).toMatchObject({ status: 201, isReplay: false });
    for (const { said } of others) expect(await said).toMatchObject({ status: 201, isReplay: true });
    expect(bodies).toEqual([BYTES]);
    await vi.waitUntil(() => attemptMemory.heldBytes === 0, { timeout: 10_000 });
  });

  it("is taken from each waiting request if equal fingerprints do not mean equal bytes", async () => {
    const bench = new ShardBench();
    const { release } = reader(bench);
    const head = headOf({ rules: { duplicate: "wait", waitMs: 60_000 }, request: { sameBytes: false } });
    const first = offer(bench, head);
    await bench.called(1);
    const other = offer(bench, again(head));
    await vi.waitUntil(() => other.isOver(), { timeout: 10_000 });
    expect(attemptMemory.heldBytes).toBe(heldOf(2));
    release();
    await first.said;
    expect(await other.said).toMatchObject({ status: 201, isReplay: true });
    await vi.waitUntil(() => attemptMemory.heldBytes === 0, { timeout: 10_000 });
  });

  it.each([
    { what: "a replay", fingerprint: "f", says: { isReplay: true } },
    { what: "a mismatch", fingerprint: "g", says: { code: "key-reused" } },
  ])("is not taken for $what", async ({ fingerprint, says }) => {
    const bench = new ShardBench();
    const head = headOf();
    await bench.send(messageOf(head));
    const retry = again(head);
    const late = offer(bench, { ...retry, request: { ...retry.request, fingerprint: fingerprintOf(fingerprint) } });
    expect(await late.said).toMatchObject(says);
    await vi.waitUntil(() => late.isOver(), { timeout: 10_000 });
    expect(attemptMemory.heldBytes).toBe(0);
    expect(bench.calls).toHaveLength(1);
  });

  it("that is gone waits for its own attempt when its request is delivered again, whatever equal fingerprints mean", async () => {
    const bench = new ShardBench();
    const { bodies, release } = reader(bench);
    const head = headOf({ request: { sameBytes: false } });
    const first = offer(bench, head);
    await bench.called(1);
    const redelivered = offer(bench, head, new Uint8Array());
    await vi.waitUntil(() => redelivered.isOver(), { timeout: 10_000 });
    // One turn of the shard: a waiting request has not been answered.
    await bench.stored(head.record.id);
    release();
    expect(await first.said).toMatchObject({ status: 201, isReplay: false });
    expect(await redelivered.said).toMatchObject({ status: 201, isReplay: true });
    expect(bodies).toEqual([BYTES]);
  });

  it("that is gone starts no attempt, and says so; a request that needs no body is answered without it", async () => {
    const bench = new ShardBench();
    const head = headOf();
    const gone = offer(bench, head, new Uint8Array());
    expect(await gone.said).toMatchObject({ status: 503, code: "store-unavailable" });
    expect(bench.calls).toEqual([]);
    expect(await bench.stored(head.record.id)).toBeNull();
    await bench.send(messageOf(again(head)));
    expect(await offer(bench, again(head), new Uint8Array()).said).toMatchObject({ status: 201, isReplay: true });
  });

  it("goes to the disk when the memory for attempts is full, and still reaches the origin", async () => {
    const bench = new ShardBench();
    const { bodies, release } = reader(bench);
    const attempts = Array.from({ length: 24 }, () =>
      offer(bench, headOf({ rules: { lists: { refused: [], ambiguous: [] } } })),
    );
    await bench.called(24);
    expect(attemptMemory.heldBytes).toBeLessThanOrEqual(16 << 20);
    release();
    for (const { said } of attempts) expect(await said).toMatchObject({ status: 201, isReplay: false });
    expect(bodies).toHaveLength(24);
    expect(bodies.every((body) => body.every((byte, index) => byte === BYTES[index]))).toBe(true);
    const chunks = (): Promise<number> =>
      bench.within(
        (_ledger, { storage }) => storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM chunks").one().n,
      );
    await vi.waitUntil(
      async () => {
        await bench.alarm();
        return (await chunks()) === 0;
      },
      { timeout: 10_000 },
    );
    expect(attemptMemory.heldBytes).toBe(0);
  });
});
