// A request's body as the shard has it: whole in memory when small; in chunks when large, so that it is complete and
// durable before the claim and never in memory at once; or as it comes, where the route compares no bodies.

import type { Rest } from "../http/body.ts";
import type { Bodies } from "./bodies.ts";

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
  const streamTo = (broke: () => void): ReadableStream<Uint8Array> =>
    new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const piece = await rest.read();
            if (piece.done) controller.close();
            else controller.enqueue(piece.value);
          } catch (error) {
            broke();
            throw error;
          }
        },
      },
      { highWaterMark: 0 },
    );
  return {
    open: (broke) =>
      piped(streamTo(broke), length === null ? new IdentityTransformStream() : new FixedLengthStream(length)),
    // What of a body nobody took (a replay, a conflict) is not read on.
    release: () => void rest.cancel().catch(() => undefined),
  };
}

export function chunkedBody(bodies: Bodies, name: string, count: number, size: number): RequestBody {
  return { open: () => ofLength(chunkStream(bodies, name, count), size), release: () => bodies.release(name) };
}

/** The chunks of a stored body, one at a time. Breaks when one of them is gone, so that half a body never looks whole. */
export function chunkStream(bodies: Bodies, name: string, count: number, skipBytes = 0): ReadableStream<Uint8Array> {
  let number = 0;
  let skip = skipBytes;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        while (number < count) {
          const bytes = bodies.read(name, number);
          if (bytes === null) throw new Error(`chunk ${number} of ${name} is gone`);
          number += 1;
          const rest = bytes.subarray(Math.min(skip, bytes.byteLength));
          skip -= bytes.byteLength - rest.byteLength;
          if (rest.byteLength === 0) continue;
          controller.enqueue(rest);
          return;
        }
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Gives a stream a Content-Length; the runtime sets none otherwise. */
export function ofLength(stream: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  return piped(stream, new FixedLengthStream(length));
}

/** Makes a stream one of the runtime's own, which hands on how it ends: a break breaks the other side too. */
function piped(
  stream: ReadableStream<Uint8Array>,
  { readable, writable }: IdentityTransformStream,
): ReadableStream<Uint8Array> {
  void stream.pipeTo(writable).catch(() => undefined);
  return readable;
}
