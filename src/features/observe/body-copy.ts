// A copy of a body that goes elsewhere. The runtime splits the stream: whoever the body is for reads its own half, at its own pace, and this half is read
// beside it. So nothing here can change or break what the other one gets. What both halves hold is bounded: a copy ends at a size, at an age, and when all
// copies together would be too many.

import { ByteReader, type BodyReader } from "../../kernel/request/body-reader.ts";
import { joinBytes } from "../../kernel/request/body.ts";
import type { ByteBudget } from "../../kernel/request/byte-budget.ts";
import type { WaitingCaller } from "../../kernel/request/time-slicer.ts";

/** A larger body is not copied. */
export const COPIED_BYTES = 1 << 20;

/** A body that takes longer is not copied, below the platform's 30 s for work after an answer. */
const COPYING_MS = 20_000;

export type BodyCopy =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  /** It broke off. */
  | { readonly kind: "broken" }
  /** It was too large, too slow, or there was no room: nobody looked at its end. */
  | { readonly kind: "not-copied" };

export interface CopiedBody {
  readonly copy: Promise<BodyCopy>;
  /** Nothing more is read, and its memory is no longer needed. May be called again. */
  readonly free: () => void;
}

export const EMPTY_COPY: CopiedBody = {
  copy: Promise.resolve({ kind: "whole", bytes: new Uint8Array() }),
  free: () => undefined,
};

export const NO_COPY: CopiedBody = { copy: Promise.resolve({ kind: "not-copied" }), free: () => undefined };

/** Reads `half` until it ends or is not worth it. Never rejects. */
export function copyBody(half: ReadableStream<Uint8Array>, budget: ByteBudget, caller: WaitingCaller): CopiedBody {
  const lease = budget.lease(Date.now(), caller);
  const reader = readerOf(half);
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isOver = false;
  const giveUp = (): void => {
    isOver = true;
    pieces.length = 0;
    lease.shrinkTo(0);
    reader.cancel();
  };
  const timer = setTimeout(giveUp, COPYING_MS);
  const read = async (): Promise<BodyCopy> => {
    try {
      for (;;) {
        const piece = await reader.next();
        if (isOver) return { kind: "not-copied" };
        if (piece.kind === "whole") return { kind: "whole", bytes: joinBytes(pieces) };
        size += piece.bytes.byteLength;
        if (size > COPIED_BYTES || !lease.take(piece.bytes.byteLength)) {
          giveUp();
          return { kind: "not-copied" };
        }
        pieces.push(piece.bytes.slice());
      }
    } catch {
      return { kind: isOver ? "not-copied" : "broken" };
    } finally {
      clearTimeout(timer);
      pieces.length = 0;
    }
  };
  return { copy: read(), free: giveUp };
}

/** Streams that programs make may give their pieces only as they come. */
function readerOf(stream: ReadableStream<Uint8Array>): BodyReader {
  try {
    return new ByteReader(stream);
  } catch {
    const reader = stream.getReader();
    return {
      next: async () => {
        const { done, value } = await reader.read();
        return done ? { kind: "whole" } : { kind: "bytes", bytes: value, release: () => undefined };
      },
      cancel: () => void reader.cancel().catch(() => undefined),
    };
  }
}
