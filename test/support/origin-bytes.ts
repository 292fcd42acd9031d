// Bodies of any size from a seed: both sides of a test generate the same bytes piece by piece, so neither has to hold the
// whole body. The bytes do not compress, and every piece contains its position, so that a lost, doubled or swapped piece is
// noticed.

import { createHash } from "node:crypto";

/** The size of all pieces but the last one. */
export const PIECE_BYTES = 64 * 1024;

export function* generateBytes(seed: string, bytes: number): Generator<Buffer, void> {
  const block = createHash("shake256", { outputLength: PIECE_BYTES }).update(seed).digest();
  for (let at = 0; at < bytes; at += PIECE_BYTES) {
    const piece = Buffer.from(block.subarray(0, Math.min(PIECE_BYTES, bytes - at)));
    // A small piece still differs from seed to seed; the position is written if there is room for it.
    if (piece.length >= 8) piece.writeDoubleBE(at + 1);
    yield piece;
  }
}

export function digestOf(pieces: Iterable<Buffer>): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
