// The memory that readers of stored bodies hold, in all objects of the isolate. Each reader holds one piece until its client
// has taken it, so the size of the pieces bounds the whole: the more is held, the smaller is the next piece. A client that
// stands still makes the pieces of others smaller; it never makes them wait.

import type { Piece } from "../../http/body-reader.ts";
import { freeBytes } from "../../http/byte-budget.ts";
import { CHUNK_BYTES } from "../store/bodies.ts";

/** What all pieces share of the isolate's 128 MB. */
const SHARED_BYTES = 16 << 20;

/** A piece takes an eighth of what is left, so that there is something left for many readers that come later. */
const SHARE = 8;

/** A smaller piece costs more than its bytes. A reader that comes when all is taken gets this much too. */
const MIN_BYTES = 16 * 1024;

let held = 0;

/** How many bytes are held right now. */
export function heldBytes(): number {
  return held;
}

/** How large the next piece may be. */
export function fairPieceBytes(): number {
  return Math.min(CHUNK_BYTES, Math.max(MIN_BYTES, Math.floor((SHARED_BYTES - held) / SHARE)));
}

/** Whether so many bytes at once are no more than a fair piece. */
export function isFair(bytes: number): boolean {
  return bytes <= fairPieceBytes();
}

/** Counts bytes until the function that it returns is called, once; then their buffer is freed. */
export function holdBytes(bytes: Uint8Array): () => void {
  const { byteLength } = bytes;
  held += byteLength;
  return () => {
    held -= byteLength;
    freeBytes(bytes);
  };
}

/** A piece that counts as held until it is released. */
export function heldPiece(bytes: Uint8Array): Piece {
  return { kind: "bytes", bytes, release: holdBytes(bytes) };
}
