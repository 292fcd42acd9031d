// A request's body as the shard has it: whole in memory when small; in chunks when large, so that it is complete and
// durable before the claim and never in memory at once; or as it comes, where the route compares no bodies.

import type { Rest } from "../http/body.ts";
import type { Bodies } from "./bodies.ts";
import { bytePipe, type Piece } from "./byte-pipe.ts";
import { storedStream } from "./stored-stream.ts";

export interface RequestBody {
  /**
   * What goes to the origin. Once. `broke` is called when it breaks off on its way here: the runtime leaves a call whose
   * body breaks off hanging (measured), so the call has to be ended.
   */
  open(broke: () => void): Uint8Array | ReadableStream<Uint8Array>;
  /** To be called when nobody needs it any more. */
  release(): void;
}

export function bytesBody(bytes: Uint8Array): RequestBody {
  return { open: () => bytes, release: () => undefined };
}

/** A body that is still on its way. `length` is what the client declared; `null` sends it chunked. */
export function streamedBody(rest: Rest, length: number | null): RequestBody {
  return {
    open(broke) {
      const next = async (): Promise<Piece | null> => {
        try {
          const piece = await rest.read();
          return piece.done ? null : { bytes: piece.value, release: () => undefined };
        } catch (error) {
          broke();
          throw error;
        }
      };
      return bytePipe({ next, close: () => undefined }, length, null).readable;
    },
    // What of a body nobody took (a replay, a conflict) is not read on.
    release: () => void rest.cancel().catch(() => undefined),
  };
}

/** A body that is stored. */
export function chunkedBody(bodies: Bodies, name: string, count: number, size: number): RequestBody {
  return {
    open: () => storedStream(bodies, { name, count, size }, 0, () => undefined, null),
    release: () => bodies.release(name),
  };
}
