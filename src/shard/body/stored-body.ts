// Stores a request's body in chunk rows as it arrives, and digests it meanwhile. It is never held whole in memory.

import type { BodyNumber } from "../../core/units.ts";
import type { BodyReader } from "../../http/body-reader.ts";
import { freeBytes } from "../../http/byte-budget.ts";
import type { Bodies } from "../store/bodies.ts";
import { FillingChunk } from "./chunk.ts";

export interface StoredUpload {
  readonly body: BodyNumber;
  readonly count: number;
  readonly size: number;
  /** SHA-256; empty when the body has more than `maxBytes`. */
  readonly digest: Uint8Array;
}

const EMPTY = new Uint8Array();

/**
 * The caller holds the rows; they are erased when it releases them, or after a crash. Reading stops soon after `maxBytes`. Returns
 * `null` when the body breaks off, and rejects when it cannot be stored. In both cases, and above `maxBytes`, the rows are released.
 */
export async function storeBody(bodies: Bodies, rest: BodyReader, maxBytes: number): Promise<StoredUpload | null> {
  const body = bodies.lend();
  let stored: StoredUpload | null = null;
  try {
    stored = await store(bodies, body, rest, maxBytes);
    return stored;
  } finally {
    if (stored === null || stored.size > maxBytes) bodies.release(body);
  }
}

async function store(
  bodies: Bodies,
  body: BodyNumber,
  rest: BodyReader,
  maxBytes: number,
): Promise<StoredUpload | null> {
  const digest = new crypto.DigestStream("SHA-256");
  const writer = digest.getWriter();
  const chunk = new FillingChunk();
  let count = 0;
  let size = 0;
  const append = (): void => {
    const bytes = chunk.take();
    bodies.append(body, count++, bytes);
    freeBytes(bytes);
  };
  try {
    while (size <= maxBytes) {
      const piece = await rest.next().catch(() => null);
      if (piece === null) return null;
      if (piece.kind === "whole") {
        if (chunk.size > 0) append();
        await writer.close();
        return { body, count, size, digest: new Uint8Array(await digest.digest) };
      }
      const { bytes } = piece;
      size += bytes.byteLength;
      for (let at = 0; at < bytes.byteLength;) {
        at += chunk.fill(bytes.subarray(at));
        if (chunk.isFull) append();
      }
      await writer.write(bytes);
      piece.release();
    }
    rest.cancel();
    await writer.abort();
    return { body, count, size, digest: EMPTY };
  } finally {
    chunk.free();
  }
}
