// The memory of those who read bodies from the ledger, in all objects of the isolate. Each reader holds one piece until its
// client has taken it, so the size of the pieces is what bounds them: the more is held, the smaller the next piece. A
// client that stands still makes others' pieces smaller; it never makes them wait.

import { CHUNK_BYTES } from "../store/bodies.ts";
import { freeBytes } from "../../http/byte-budget.ts";
import { type Piece } from "./byte-pipe.ts";

/** What all pieces share, of the isolate's 128 MB. */
const SHARED_BYTES = 16 << 20;

/** Each takes an eighth of what is left: so the many that come after the few still find something. */
const SHARE = 8;

/** Below this a piece costs more than its bytes. Whoever comes when all is taken has this much all the same. */
const LEAST_BYTES = 16 * 1024;

let held = 0;

/** How many bytes are held right now. */
export function heldBytes(): number {
  return held;
}

/** How large the next piece may be. */
export function fairPieceBytes(): number {
  return Math.min(CHUNK_BYTES, Math.max(LEAST_BYTES, Math.floor((SHARED_BYTES - held) / SHARE)));
}

/** Whether so many bytes at once are no more than a fair piece. */
export function isFair(bytes: number): boolean {
  return bytes <= fairPieceBytes();
}

/** Counts bytes until the function that it gives is called, once. Their buffer is freed then. */
export function holdBytes(bytes: Uint8Array): () => void {
  const { byteLength } = bytes;
  held += byteLength;
  return () => {
    held -= byteLength;
    freeBytes(bytes);
  };
}

/** Bytes that a reader holds until he has taken them. */
export function heldPiece(bytes: Uint8Array): Piece {
  return { bytes, release: holdBytes(bytes) };
}
