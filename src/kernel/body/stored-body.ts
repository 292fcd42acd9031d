// Stores a request's body in chunk rows as it arrives, and digests it meanwhile. It is never held whole in memory.

import { LateBody } from "../request/pace.ts";
import type { BodyNumber } from "../record/units.ts";
import type { BodyReader } from "../request/body-reader.ts";
import { freeBytes } from "../request/byte-budget.ts";
import type { BodyStore } from "../store/bodies.ts";
import { BodyCipher, placeInChunk } from "../encryption/body-cipher.ts";
import { FillingChunk } from "./chunk.ts";

export interface StoredUpload {
  readonly kind: "stored";
  readonly body: BodyNumber;
  readonly count: number;
  readonly size: number;
  /** SHA-256; empty when the body has more than `maxBytes`. */
  readonly digest: Uint8Array;
  /** Decrypts it; `null` if it is not encrypted. */
  readonly cipher: BodyCipher | null;
}

const EMPTY = new Uint8Array();

/** A body that broke off, or came too slowly. */
export interface UnstoredUpload {
  readonly kind: "broken" | "late";
}

/**
 * The caller holds the rows; they are erased when it releases them, or after a crash. Reading stops soon after `maxBytes`. Rejects when
 * the body cannot be stored. Then, and if it does not come whole, and above `maxBytes`, the rows are released. `isEncrypted`: with a
 * key that only this instance has.
 */
export async function storeBody(
  bodies: BodyStore,
  rest: BodyReader,
  { maxBytes, isEncrypted }: { readonly maxBytes: number; readonly isEncrypted: boolean },
): Promise<StoredUpload | UnstoredUpload> {
  const cipher = isEncrypted ? await BodyCipher.withOwnKey() : null;
  const body = bodies.lend();
  let stored: StoredUpload | UnstoredUpload | null = null;
  try {
    stored = await store(bodies, body, { rest, maxBytes, cipher });
    return stored;
  } finally {
    if (stored?.kind !== "stored" || stored.size > maxBytes) bodies.release(body);
  }
}

async function store(
  bodies: BodyStore,
  body: BodyNumber,
  {
    rest,
    maxBytes,
    cipher,
  }: { readonly rest: BodyReader; readonly maxBytes: number; readonly cipher: BodyCipher | null },
): Promise<StoredUpload | UnstoredUpload> {
  const digest = new crypto.DigestStream("SHA-256");
  const writer = digest.getWriter();
  const chunk = new FillingChunk();
  let count = 0;
  let size = 0;
  const append = (): void | Promise<void> => {
    const bytes = chunk.take();
    const number = count++;
    const write = (stored: Uint8Array): void => {
      bodies.append(body, number, stored);
      freeBytes(stored);
    };
    if (cipher === null) write(bytes);
    else return cipher.encrypt(bytes, placeInChunk(number, 0)).then(write);
  };
  try {
    while (size <= maxBytes) {
      const piece = await rest.next().catch((error: unknown) => (error instanceof LateBody ? "late" : "broken"));
      if (piece === "late" || piece === "broken") return { kind: piece };
      if (piece.kind === "whole") {
        if (chunk.size > 0) await append();
        await writer.close();
        return { kind: "stored", body, count, size, digest: new Uint8Array(await digest.digest), cipher };
      }
      const { bytes } = piece;
      size += bytes.byteLength;
      for (let at = 0; at < bytes.byteLength;) {
        at += chunk.fill(bytes.subarray(at));
        if (chunk.isFull) await append();
      }
      await writer.write(bytes);
      piece.release();
    }
    rest.cancel();
    await writer.abort();
    return { kind: "stored", body, count, size, digest: EMPTY, cipher };
  } finally {
    chunk.free();
  }
}
