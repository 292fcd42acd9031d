// A body on its way to R2 and back, encrypted: plain bytes become frames of one size, whatever the pieces in which they come.

import { type BodyReader, lentPiece, type NextPiece, WHOLE } from "../request/body-reader.ts";
import { type BodyCipher, FRAME_BYTES, placeInRemote, wholeFrames } from "./body-cipher.ts";

/** How many frames are decrypted at once: a few, so that hundreds of bodies hold little. */
const BLOCK = wholeFrames(64 * 1024);

/**
 * The frames of a plain body. It reads no byte beyond the frame that is asked for, nor beyond `total`, because its source may end
 * only when these frames have been taken.
 */
export function encryptingReader(body: BodyReader, cipher: BodyCipher, total: () => number): BodyReader {
  const blocks = { bytes: FRAME_BYTES, frames: 1, total };
  return inBlocks(body, blocks, (block, place) => cipher.encrypt(block, place));
}

/** The plain bytes of a body in frames. */
export function decryptingReader(body: BodyReader, cipher: BodyCipher): BodyReader {
  const blocks = { ...BLOCK, total: () => Number.POSITIVE_INFINITY };
  return inBlocks(body, blocks, (block, place) => cipher.decrypt(block, place));
}

interface Blocks {
  readonly bytes: number;
  readonly frames: number;
  /** How many bytes are read at most. */
  readonly total: () => number;
}

function inBlocks(
  body: BodyReader,
  { bytes: blockBytes, frames, total }: Blocks,
  convert: (block: Uint8Array, place: number) => Promise<Uint8Array>,
): BodyReader {
  const block = new Uint8Array(blockBytes);
  let size = 0;
  /** Of all blocks. */
  let read = 0;
  let frame = 0;
  /** What is left of a piece that was larger than the block. */
  let rest: { bytes: Uint8Array; readonly release: () => void } | null = null;
  let isWhole = false;

  /** Fills the block as far as the body goes. */
  async function fill(): Promise<void> {
    while (size < blockBytes && !isWhole && read < total()) {
      if (rest === null) {
        const piece = await body.next();
        if (piece.kind === "whole") isWhole = true;
        else rest = { bytes: piece.bytes, release: piece.release };
        continue;
      }
      const taken = rest.bytes.subarray(0, blockBytes - size);
      block.set(taken, size);
      size += taken.byteLength;
      read += taken.byteLength;
      rest.bytes = rest.bytes.subarray(taken.byteLength);
      if (rest.bytes.byteLength > 0) continue;
      rest.release();
      rest = null;
    }
  }

  const next = async (): Promise<NextPiece> => {
    await fill();
    if (size === 0) return WHOLE;
    const place = placeInRemote(frame);
    // A copy, because the block is filled again.
    const converted = await convert(block.slice(0, size), place);
    frame += frames;
    size = 0;
    return lentPiece(converted);
  };
  return {
    next,
    cancel: () => {
      rest?.release();
      rest = null;
      body.cancel();
    },
  };
}
