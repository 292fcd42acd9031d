// Bodies of any size from a seed: the same bytes for the same seed on both sides of a test, made piece by piece, so that
// nobody has to hold them. They do not compress, and every piece names its place, so that none can be lost, doubled or
// swapped unseen.

import { createHash } from "node:crypto";

/** The size of all pieces but the last one. */
export const PIECE_BYTES = 64 * 1024;

export function* generateBytes(seed: string, bytes: number): Generator<Buffer, void> {
  const block = createHash("shake256", { outputLength: PIECE_BYTES }).update(seed).digest();
  for (let at = 0; at < bytes; at += PIECE_BYTES) {
    const piece = Buffer.from(block.subarray(0, Math.min(PIECE_BYTES, bytes - at)));
    // Even a single byte differs from seed to seed; a place is written where there is room for it.
    if (piece.length >= 8) piece.writeDoubleBE(at + 1);
    yield piece;
  }
}

export function digestOf(pieces: Iterable<Buffer>): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
