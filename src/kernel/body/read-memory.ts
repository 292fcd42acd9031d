// The memory that readers of stored bodies hold, in all objects of the isolate. Each reader holds one piece until its client has
// taken it, so the size of the pieces bounds the total: the more is held, the smaller the next piece. An idle client makes the
// pieces of others smaller; it never makes them wait.

import type { BytePiece } from "../request/body-reader.ts";
import { freeBytes } from "../request/byte-budget.ts";
import { CHUNK_BYTES } from "../store/bodies.ts";

/** The part of the isolate's 128 MB that all pieces share. */
const SHARED_BYTES = 16 << 20;

/** A piece takes an eighth of what is left, so that enough is left for many later readers. */
const SHARE = 8;

/** A smaller piece costs more than its bytes. A reader gets this much even when nothing is left. */
const MIN_BYTES = 16 * 1024;

let held = 0;

/** How many bytes are held now. */
export function heldBytes(): number {
  return held;
}

/** How large the next piece may be. */
export function fairPieceBytes(): number {
  return Math.min(CHUNK_BYTES, Math.max(MIN_BYTES, Math.floor((SHARED_BYTES - held) / SHARE)));
}

/** Whether a piece of so many bytes is no larger than a fair one. */
export function isFair(bytes: number): boolean {
  return bytes <= fairPieceBytes();
}

/** Counts bytes as held until the returned function is called (only once), which also frees their buffer. */
export function holdBytes(bytes: Uint8Array): () => void {
  const { byteLength } = bytes;
  held += byteLength;
  return () => {
    held -= byteLength;
    freeBytes(bytes);
  };
}

/** A piece that counts as held until it is released. */
export function heldPiece(bytes: Uint8Array): BytePiece {
  return { kind: "bytes", bytes, release: holdBytes(bytes) };
}
