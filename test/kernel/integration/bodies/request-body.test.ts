import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { lentPiece, type NextPiece, WHOLE } from "../../../../src/kernel/request/body-reader.ts";
import { Ledger } from "../../../../src/kernel/store/ledger.ts";
import {
  bytesBody,
  chunkedBody,
  offeredBody,
  RequestBody,
  streamedBody,
} from "../../../../src/kernel/body/request-body.ts";
import { storeBody } from "../../../../src/kernel/body/stored-body.ts";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";
import { eventually } from "../../../support/eventually.ts";

const nothing = (): void => undefined;

/** A body that reports when its memory is released. */
function watched(bytes: Uint8Array): { readonly body: RequestBody; readonly freed: () => number } {
  let freed = 0;
  const stored = (): { readonly kind: "inline"; readonly bytes: Uint8Array } => ({ kind: "inline", bytes });
  const body = new RequestBody({ open: () => bytes, users: 1, free: () => (freed += 1), stored });
  return { body, freed: () => freed };
}

describe("a request's body", () => {
  it.each([1, 2, CHUNK_BYTES])("that is stored is read whole, with %d bytes in its last chunk", async (last) => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    await runInDurableObject(stub, async (_instance, { storage }) => {
      const { bodies } = new Ledger(storage);
      const bytes = Uint8Array.from({ length: CHUNK_BYTES + last }, (_, at) => at % 251);
      const coming: NextPiece[] = [lentPiece(bytes.slice())];
      const rest = { next: () => Promise.resolve(coming.shift() ?? WHOLE), cancel: nothing };
      const stored = await storeBody(bodies, rest, { maxBytes: bytes.length, isEncrypted: false });
      if (stored.kind !== "stored") throw new TypeError("not stored");
      const body = chunkedBody(bodies, stored);
      const read = new Uint8Array(await new Response(body.open(nothing)).arrayBuffer());
      expect([read.length, read.every((byte, at) => byte === bytes[at])]).toEqual([bytes.length, true]);
      body.release();
    });
  });

  it("is shared by waiting requests, and released when the last of them no longer needs it", () => {
    const first = watched(new Uint8Array([1]));
    const own = watched(new Uint8Array([1]));
    const waiting = bytesBody(new Uint8Array([1]));
    own.body.share(first.body);
    waiting.share(first.body);
    // Again, after another wait.
    waiting.share(first.body);
    expect({ first: first.freed(), own: own.freed() }).toEqual({ first: 0, own: 1 });
    first.body.release();
    own.body.release();
    expect(first.freed()).toBe(0);
    // The next attempt, which one of the waiting requests starts.
    expect(waiting.open(nothing)).toEqual(new Uint8Array([1]));
    waiting.release();
    waiting.release();
    expect(first.freed()).toBe(1);
  });

  it("that is offered is drained for a waiting request, cancelled for an answered one, and taken once", async () => {
    const calls: string[] = [];
    const offered = (): RequestBody =>
      new RequestBody(null, {
        take: () => {
          calls.push("taken");
          const bytes = new Uint8Array();
          const stored = (): { readonly kind: "inline"; readonly bytes: Uint8Array } => ({ kind: "inline", bytes });
          return Promise.resolve({ open: () => bytes, users: 1, free: nothing, stored });
        },
        discard: () => void calls.push("read away"),
        cancel: () => void calls.push("cancelled"),
      });
    const waiting = offered();
    waiting.share(bytesBody(new Uint8Array([1])));
    waiting.release();
    expect(calls.splice(0)).toEqual(["read away"]);
    offered().release();
    expect(calls.splice(0)).toEqual(["cancelled"]);
    const starting = offered();
    expect([starting.isHere, await starting.take(), starting.isHere, await starting.take()]).toEqual([
      false,
      true,
      true,
      true,
    ]);
    starting.release();
    expect(calls).toEqual(["taken"]);
  });

  it("that is offered and stands still after its first piece is given up, also while it is thrown away", async () => {
    const stub = env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId());
    await runInDurableObject(stub, async (_instance, { storage }) => {
      const coming: Promise<NextPiece>[] = [Promise.resolve(lentPiece(new Uint8Array(100)))];
      const allowed: number[] = [];
      const cancel = vi.fn<() => void>();
      const reader = { next: () => coming.shift() ?? new Promise<never>(nothing), cancel };
      const timers = {
        firstOf: <T>(promise: Promise<T>, ms: number): Promise<T | null> => {
          allowed.push(ms);
          return allowed.length === 1 ? promise : Promise.resolve(null);
        },
      };
      const waiting = offeredBody(reader, new Ledger(storage).bodies, timers, false);
      waiting.share(bytesBody(new Uint8Array([1])));
      await eventually(() => expect(cancel).toHaveBeenCalledTimes(1));
      expect(Math.max(...allowed)).toBeLessThanOrEqual(30_000);
      expect(allowed).toHaveLength(2);
      waiting.release();
    });
  });

  it("that is streamed is cancelled when no attempt took it", () => {
    let cancelled = 0;
    const rest = {
      next: () => new Promise<never>(nothing),
      cancel: () => {
        cancelled += 1;
      },
    };
    streamedBody(rest, null).release();
    expect(cancelled).toBe(1);
  });
});
