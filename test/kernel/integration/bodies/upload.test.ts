// A large request on its way into a shard: who is to blame when it cannot be stored, and what is left of it.

import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { ComparisonRule } from "../../../../src/kernel/request/comparison.ts";
import { fingerprintRequest } from "../../../../src/kernel/request/fingerprint.ts";
import { type ExchangeHead, UPLOAD_CALL } from "../../../../src/kernel/request/message.ts";
import { lentPiece, type NextPiece, WHOLE } from "../../../../src/kernel/request/body-reader.ts";
import { streamMessage } from "../../../../src/kernel/request/message-stream.ts";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import { receiveUpload } from "../../../../src/kernel/body/upload.ts";
import { headOf, saidBy, ShardBench } from "../../../support/integration/shard-bench.ts";
import { ObjectTimers } from "../../../../src/kernel/object/timers.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";
import { expectRuntimeError, expectThrown } from "../../../support/integration/expected-errors.ts";

const PIECE = 64 * 1024;

standStill();

function uploadHead(): ExchangeHead {
  const fingerprintParts = { method: "POST", path: "/", query: "", headers: [] };
  return headOf({ request: { upload: { fingerprintParts, length: null, maxBytes: 100 * PIECE, compare: "bytes" } } });
}

type End = "whole" | "breaks" | "stands still";

/** A message whose body comes in so many pieces, and ends as given. */
function uploadOf(pieces: number, end: End): ReadableStream<Uint8Array> {
  let left = pieces;
  const next = (): Promise<NextPiece> => {
    left -= 1;
    if (left >= 0) return Promise.resolve(lentPiece(new Uint8Array(PIECE).fill(7)));
    if (end === "breaks") return Promise.reject(new Error("the client has gone"));
    return end === "whole" ? Promise.resolve(WHOLE) : new Promise(() => undefined);
  };
  return streamMessage({ head: uploadHead(), body: new Uint8Array() }, { next, cancel: () => undefined }).stream;
}

const refuseChunks = (storage: DurableObjectStorage): unknown =>
  storage.sql.exec("CREATE TRIGGER refuse BEFORE INSERT ON chunks BEGIN SELECT RAISE(FAIL, 'no room'); END");

function chunksIn(storage: DurableObjectStorage): number {
  return storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM chunks").one().n;
}

describe("an upload", () => {
  it("that flows through may take its idle time for each byte, since the origin may have to wait for more", async () => {
    await runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), async (_instance, { storage }) => {
      const { upload } = uploadHead().request;
      if (upload === null) throw new TypeError("no upload");
      const head = headOf({ request: { upload: { ...upload, fingerprintParts: null, length: 3 } } });
      let left = 3;
      const next = (): Promise<NextPiece> => Promise.resolve(left-- > 0 ? lentPiece(new Uint8Array(1)) : WHOLE);
      const { stream } = streamMessage({ head, body: new Uint8Array() }, { next, cancel: () => undefined });
      const given: number[] = [];
      let now = 0;
      const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
      const timers = {
        firstOf: async <T>(promise: Promise<T>, ms: number): Promise<T> => {
          given.push(ms);
          const piece = await promise;
          now += 0.6 * ms;
          return piece;
        },
      };
      const reception = await receiveUpload(stream, new Ledger(storage).bodies, timers);
      if (!("body" in reception)) throw new TypeError("not received");
      const body = await new Response(reception.body.open(() => undefined)).arrayBuffer();
      clock.mockRestore();
      reception.body.release();
      expect([body.byteLength, new Set(given)]).toEqual([3, new Set([head.rules.idleTimeoutMs])]);
    });
  });

  it("that the store refuses is not the client's fault: it rejects, and nothing of it is held", async () => {
    await runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), async (_instance, { storage }) => {
      const { bodies } = new Ledger(storage);
      refuseChunks(storage);
      await expect(receiveUpload(uploadOf(10, "whole"), bodies, new ObjectTimers())).rejects.toThrow("no room");
      expect(bodies.hasErasable()).toBe(true);
      bodies.eraseSome();
      expect(bodies.eraseAt()).toBeNull();
    });
  });

  it("is compared as JSON if the route says so, exactly as in the Worker", async () => {
    await runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), async (_instance, { storage }) => {
      const { bodies } = new Ledger(storage);
      const { upload } = uploadHead().request;
      const parts = upload?.fingerprintParts ?? null;
      if (upload === null || parts === null) throw new TypeError("no upload");
      const text = (json: string): Uint8Array => new TextEncoder().encode(json);
      const fingerprintOf = async (body: Uint8Array, compare: "bytes" | "json"): Promise<string> => {
        const head = headOf({ request: { upload: { ...upload, compare } } });
        const rest = { next: () => Promise.resolve(WHOLE), cancel: () => undefined };
        const reception = await receiveUpload(streamMessage({ head, body }, rest).stream, bodies, new ObjectTimers());
        if ("body" in reception) reception.body.release();
        return reception.head.request.fingerprint;
      };
      const [one, other] = [text('{"a":1,"b":[2]}'), text('{ "b": [2], "a": 1 }')];
      expect(await fingerprintOf(one, "json")).toBe(await fingerprintRequest(parts, one, { as: "json" }));
      expect(await fingerprintOf(other, "json")).toBe(await fingerprintOf(one, "json"));
      expect(await fingerprintOf(other, "bytes")).toBe(await fingerprintRequest(parts, other, { as: "bytes" }));
    });
  });

  it("is compared as a form or a selection if the route says so, exactly as in the Worker", async () => {
    await runInDurableObject(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()), async (_instance, { storage }) => {
      const { bodies } = new Ledger(storage);
      const { upload } = uploadHead().request;
      const parts = upload?.fingerprintParts ?? null;
      if (upload === null || parts === null) throw new TypeError("no upload");
      const media = { type: "t", encoding: null, media: "t" };
      const cases: readonly (readonly [ComparisonRule, ...string[]])[] = [
        [{ as: "form", selection: null, ...media }, "a=1&b=%41", "b=A&a=1", "a=2&b=A"],
        [
          { as: "selected json", selection: { kind: "except", pointers: ["/t"] }, ...media },
          '{"a":1,"t":1}',
          '{"t":2,"a":1}',
          '{"a":2}',
        ],
        [{ as: "typed bytes", type: "t", encoding: null }, "a=1&b=2", "b=2&a=1"],
      ];
      for (const [comparison, ...texts] of cases) {
        for (const text of texts) {
          const body = new TextEncoder().encode(text);
          const head = headOf({ request: { upload: { ...upload, compare: "bytes", comparison } } });
          const rest = { next: () => Promise.resolve(WHOLE), cancel: () => undefined };
          const reception = await receiveUpload(streamMessage({ head, body }, rest).stream, bodies, new ObjectTimers());
          if (!("body" in reception)) throw new TypeError("refused");
          reception.body.release();
          expect(reception.head.request.fingerprint).toBe(await fingerprintRequest(parts, body, comparison));
        }
      }
    });
  });

  it("that the store refuses fails the call to the shard, and never calls the origin", async () => {
    const bench = new ShardBench();
    await bench.within((_ledger, { storage }) => refuseChunks(storage));
    const body = uploadOf(10, "whole");
    await expectThrown(bench.stub.fetch(UPLOAD_CALL.url, { method: "POST", body }), "no room");
    expect(bench.calls).toEqual([]);
  });

  it("that breaks off is the client's fault, and is erased", async () => {
    const bench = new ShardBench();
    const body = uploadOf(10, "breaks");
    expectRuntimeError("the client has gone");
    const said = await saidBy(await bench.stub.fetch(UPLOAD_CALL.url, { method: "POST", body }));
    expect(said).toMatchObject({ status: 400, code: "request-invalid" });
    // The alarm is set at once, and the runtime may already have started it.
    await vi.waitUntil(
      async () => {
        await bench.alarm();
        return (await bench.within((_ledger, { storage }) => chunksIn(storage))) === 0;
      },
      { timeout: 5000 },
    );
    expect(bench.calls).toEqual([]);
  });

  it("that a crash cuts off is erased by the alarm, which is set from its first byte on", async () => {
    const bench = new ShardBench();
    const body = uploadOf((2 * CHUNK_BYTES) / PIECE, "stands still");
    // The sender gives up long after the test.
    expectRuntimeError("the body came too slowly");
    void bench.stub.fetch(UPLOAD_CALL.url, { method: "POST", body }).catch(() => undefined);
    const chunks = (): Promise<number> => bench.within((_ledger, { storage }) => chunksIn(storage));
    await vi.waitUntil(async () => (await chunks()) === 2, { timeout: 10_000 });
    const alarmAt = await bench.alarmAt();
    expect(alarmAt).not.toBeNull();
    await bench.lose();
    // No request ever calls this object again.
    expect(await bench.alarmAt()).toBe(alarmAt);
    vi.setSystemTime(alarmAt ?? 0);
    expect(await bench.alarm()).toBe(true);
    expect(await chunks()).toBe(0);
    expect(bench.calls).toEqual([]);
  });
});
