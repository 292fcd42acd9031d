import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type BodyReader, lentPiece, type NextPiece, WHOLE } from "../../../../src/kernel/request/body-reader.ts";
import {
  BodyCipher,
  placeInChunk,
  plainSizeAt,
  STORED_CHUNK_BYTES,
  storedSize,
  wholeFrames,
} from "../../../../src/kernel/encryption/body-cipher.ts";
import { decryptingReader, encryptingReader } from "../../../../src/kernel/encryption/encrypted-reader.ts";
import { CHUNK_BYTES } from "../../../../src/kernel/store/bodies.ts";

const FRAME = 16 * 1024;
/** Around the bounds of frames. */
const SIZES = [0, 1, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME, 3 * FRAME + 7, CHUNK_BYTES];

function bytesOf(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
}

/** Compared by hand: for so many bytes, `toEqual` takes seconds. */
function areSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && one.every((byte, at) => byte === other[at]);
}

const FIRST = placeInChunk(0, 0);

describe("what is encrypted in frames", () => {
  it.each(SIZES)("opens to the same %i bytes, and has the size that is told", async (size) => {
    const cipher = await BodyCipher.withOwnKey();
    const stored = await cipher.encrypt(bytesOf(size), FIRST);
    expect(stored.byteLength).toBe(storedSize(size));
    expect(areSame(await cipher.decrypt(stored, FIRST), bytesOf(size))).toBe(true);
  });

  it("fills a chunk with what is said of a chunk", () => {
    expect(storedSize(CHUNK_BYTES)).toBe(STORED_CHUNK_BYTES);
    expect(wholeFrames(CHUNK_BYTES).bytes).toBe(STORED_CHUNK_BYTES);
    expect(wholeFrames(1)).toEqual({ frames: 1, bytes: FRAME + 16 });
  });

  it("opens from any frame on", async () => {
    const cipher = await BodyCipher.withOwnKey();
    const stored = await cipher.encrypt(bytesOf(3 * FRAME + 7), placeInChunk(5, 0));
    const { bytes } = wholeFrames(2 * FRAME);
    const rest = await cipher.decrypt(stored.subarray(bytes), placeInChunk(5, 2));
    expect(areSame(rest, bytesOf(3 * FRAME + 7).subarray(2 * FRAME))).toBe(true);
  });

  it("does not open at another place, under another attempt's prefix, with another key or with a changed byte", async () => {
    const key = new Uint8Array(32).fill(1);
    const cipher = await BodyCipher.withKey(key);
    const stored = await cipher.encrypt(bytesOf(2 * FRAME), placeInChunk(1, 0));
    await expect(cipher.decrypt(stored, placeInChunk(2, 0))).rejects.toThrow();
    const swapped = new Uint8Array(stored);
    swapped.set(stored.subarray(FRAME + 16));
    swapped.set(stored.subarray(0, FRAME + 16), FRAME + 16);
    await expect(cipher.decrypt(swapped, placeInChunk(1, 0))).rejects.toThrow();
    await expect((await BodyCipher.withKey(key)).decrypt(stored, placeInChunk(1, 0))).rejects.toThrow();
    const other = await BodyCipher.withKey(new Uint8Array(32).fill(2), cipher.prefix);
    await expect(other.decrypt(stored, placeInChunk(1, 0))).rejects.toThrow();
    stored[FRAME] = (stored[FRAME] ?? 0) ^ 1;
    await expect(cipher.decrypt(stored, placeInChunk(1, 0))).rejects.toThrow();
  });

  it("has a place of its own for each frame of each chunk", () => {
    const places = [0, 1, 2, 2 ** 26 - 1].flatMap((chunk) => [0, 1, 15].map((frame) => placeInChunk(chunk, frame)));
    expect(new Set(places).size).toBe(places.length);
    expect(Math.max(...places)).toBeLessThan(2 ** 31);
  });
});

/** A body in pieces of these sizes. */
function readerOf(bytes: Uint8Array, sizes: readonly number[]): BodyReader {
  let at = 0;
  let index = 0;
  const next = (): Promise<NextPiece> => {
    if (at >= bytes.byteLength) return Promise.resolve(WHOLE);
    const size = sizes[index % sizes.length] ?? bytes.byteLength;
    index += 1;
    const piece = bytes.subarray(at, at + size);
    at += piece.byteLength;
    return Promise.resolve(lentPiece(piece));
  };
  return { next, cancel: () => undefined };
}

async function readAll(body: BodyReader): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = await body.next();
    if (piece.kind === "whole") return new Uint8Array(await new Blob(pieces).arrayBuffer());
    pieces.push(piece.bytes.slice());
    piece.release();
  }
}

/** It never says that it has ended, as a spool that waits for its upload. */
function endless(body: BodyReader): BodyReader {
  const nextPiece = async (): Promise<NextPiece> => {
    const piece = await body.next();
    return piece.kind === "whole" ? new Promise(() => undefined) : piece;
  };
  return { next: nextPiece, cancel: () => body.cancel() };
}

const pieceSizes = fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 5 });

describe("a body on its way to R2 and back", () => {
  it("is the same, in whatever pieces it comes", async () => {
    const sizes = fc.oneof(fc.constantFrom(...SIZES), fc.integer({ min: 0, max: 200_000 }));
    await fc.assert(
      fc.asyncProperty(sizes, pieceSizes, pieceSizes, async (size, before, after) => {
        const cipher = await BodyCipher.withOwnKey();
        const stored = await readAll(encryptingReader(endless(readerOf(bytesOf(size), before)), cipher, () => size));
        expect(stored.byteLength).toBe(storedSize(size));
        const plain = await readAll(decryptingReader(readerOf(stored, after), cipher));
        expect(areSame(plain, bytesOf(size))).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it("needs at most so many plain bytes for the first uploaded ones", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1 << 24 }), (uploaded) => {
        const plain = plainSizeAt(uploaded);
        expect(storedSize(plain)).toBeGreaterThanOrEqual(uploaded);
        expect(storedSize(plain - FRAME)).toBeLessThan(uploaded);
      }),
    );
  });
});
