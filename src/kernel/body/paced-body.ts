// A body that is given up when it comes too slowly (kernel/request/pace.ts).

import type { BodyReader, NextPiece } from "../request/body-reader.ts";
import type { Pace } from "../request/pace.ts";
import type { Timers } from "../object/timers.ts";

/** The body came too slowly. */
export class LateBody extends Error {}

/** Waits no longer for a piece than `pace` allows: then it stops the source, and rejects with `LateBody`. */
export function pacedBody(body: BodyReader, timers: Pick<Timers, "firstOf">, pace: Pace): BodyReader {
  const next = async (): Promise<NextPiece> => {
    const begun = performance.now();
    const reading = body.next();
    const piece = await timers.firstOf(reading, pace.leftMs);
    if (piece === null) {
      reading.catch(() => undefined);
      body.cancel();
      throw new LateBody("the body came too slowly");
    }
    if (piece.kind === "bytes") pace.came(piece.bytes.byteLength, performance.now() - begun);
    return piece;
  };
  return { next, cancel: () => body.cancel() };
}
