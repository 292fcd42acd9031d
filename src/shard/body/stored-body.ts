// Takes a request's body down in chunk rows while it comes, and digests it on the way; it is never in memory at once.

import { freeBytes } from "../../http/byte-budget.ts";
import type { BodyReader } from "../../http/body.ts";
import type { Bodies } from "../store/bodies.ts";
import { FillingChunk } from "./chunk.ts";

export interface StoredUpload {
  readonly count: number;
  readonly size: number;
  /** SHA-256; nothing where there were more than `maxBytes`. */
  readonly digest: Uint8Array;
}

const EMPTY = new Uint8Array();

/**
 * Lends the body, so that it is erased when it is released, also after a crash. Stops soon after the bound. `null` when the body
 * breaks off; rejects when it cannot be stored. In both cases, and where it is over the bound, it has been released.
 */
export async function storeBody(
  bodies: Bodies,
  name: string,
  rest: BodyReader,
  maxBytes: number,
): Promise<StoredUpload | null> {
  bodies.lend(name);
  let stored: StoredUpload | null = null;
  try {
    stored = await store(bodies, name, rest, maxBytes);
    return stored;
  } finally {
    if (stored === null || stored.size > maxBytes) bodies.release(name);
  }
}

async function store(bodies: Bodies, name: string, rest: BodyReader, maxBytes: number): Promise<StoredUpload | null> {
  const digest = new crypto.DigestStream("SHA-256");
  const writer = digest.getWriter();
  const chunk = new FillingChunk();
  let count = 0;
  let size = 0;
  const append = (): void => {
    const bytes = chunk.take();
    bodies.append(name, count++, bytes);
    freeBytes(bytes);
  };
  try {
    while (size <= maxBytes) {
      const piece = await rest.read().catch(() => null);
      if (piece === null) return null;
      if (piece.done) {
        if (chunk.size > 0) append();
        await writer.close();
        return { count, size, digest: new Uint8Array(await digest.digest) };
      }
      size += piece.value.byteLength;
      for (let at = 0; at < piece.value.byteLength;) {
        at += chunk.fill(piece.value.subarray(at));
        if (chunk.isFull) append();
      }
      await writer.write(piece.value);
    }
    await rest.cancel();
    await writer.abort();
    return { count, size, digest: EMPTY };
  } finally {
    chunk.free();
  }
}
