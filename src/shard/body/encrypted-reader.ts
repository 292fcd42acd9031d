// A body on its way to R2 and back, encrypted: plain bytes become frames of one size, whatever the pieces in which they come.

import { type BodyReader, lentPiece, type NextPiece, WHOLE } from "../../http/body-reader.ts";
import { type BodyCipher, placeInRemote, wholeFrames } from "./body-cipher.ts";

/** How many plain bytes are encrypted at once, or decrypted: a few frames, so that hundreds of bodies hold little. */
const BLOCK_BYTES = 64 * 1024;

const BLOCK = wholeFrames(BLOCK_BYTES);

/** The frames of a plain body. */
export function encrypting(body: BodyReader, cipher: BodyCipher): BodyReader {
  return inBlocks(body, BLOCK_BYTES, (block, place) => cipher.encrypt(block, place));
}

/** The plain bytes of a body in frames. */
export function decrypting(body: BodyReader, cipher: BodyCipher): BodyReader {
  return inBlocks(body, BLOCK.bytes, (block, place) => cipher.decrypt(block, place));
}

function inBlocks(
  body: BodyReader,
  blockBytes: number,
  convert: (block: Uint8Array, place: number) => Promise<Uint8Array>,
): BodyReader {
  const block = new Uint8Array(blockBytes);
  let size = 0;
  let frame = 0;
  /** What is left of a piece that was larger than the block. */
  let rest: { bytes: Uint8Array; readonly release: () => void } | null = null;
  let isWhole = false;

  /** Fills the block as far as the body goes. */
  async function fill(): Promise<void> {
    while (size < blockBytes && !isWhole) {
      if (rest === null) {
        const piece = await body.next();
        if (piece.kind === "whole") isWhole = true;
        else rest = { bytes: piece.bytes, release: piece.release };
        continue;
      }
      const taken = rest.bytes.subarray(0, blockBytes - size);
      block.set(taken, size);
      size += taken.byteLength;
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
    frame += BLOCK.frames;
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
