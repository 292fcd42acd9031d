// A body that lies in chunk rows, as a stream.

import type { Bodies } from "./bodies.ts";
import type { BodyPosition } from "./body-position.ts";
import { bytePipe, freeBytes, type Piece, Skip } from "./byte-pipe.ts";

export interface StoredChunks {
  readonly name: string;
  readonly count: number;
  readonly size: number;
}

/** One chunk at a time, from a position on. Breaks when one of them is gone, so that half a body never looks whole. */
export function storedStream(
  bodies: Bodies,
  { name, count, size }: StoredChunks,
  from: BodyPosition,
  close: () => void,
): ReadableStream<Uint8Array> {
  let number = from.chunk;
  const skip = new Skip(from.bytes - from.before);
  const next = (): Piece | null => {
    while (number < count) {
      const bytes = bodies.read(name, number);
      if (bytes === null) throw new Error(`chunk ${number} of ${name} is gone`);
      number += 1;
      const piece = skip.past({ bytes, release: () => freeBytes(bytes) });
      if (piece !== null) return piece;
    }
    return null;
  };
  return bytePipe({ next, close }, size - from.bytes).readable;
}
