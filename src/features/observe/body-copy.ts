// A copy of a body that goes elsewhere. The runtime splits the stream: whoever the body is for reads its own half, at its own pace, and this half is read
// beside it, piece by piece as they come. (A reader that asks for all at once, such as `arrayBuffer`, makes the runtime hold pieces back from the other half, and
// drop them if the body breaks off.) So nothing here can change or break what the other one gets. What both halves hold is bounded: a copy ends at a size, at an age, and when all
// copies together would be too many.

import { ByteReader, type BodyReader } from "../../kernel/request/body-reader.ts";
import { joinBytes, SMALL_BYTES } from "../../kernel/request/body.ts";
import type { ByteBudget } from "../../kernel/request/byte-budget.ts";
import type { WaitingCaller } from "../../kernel/request/time-slicer.ts";

/** A larger body of a request is not copied. */
const COPIED_BYTES = 1 << 20;

/**
 * Nor a larger one of a response: what its client has not read yet is held in the other half of its stream for as long as the client takes, whatever is freed
 * here. It says what took effect, and that is short.
 */
export const COPIED_RESPONSE_BYTES = 1 << 16;

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

interface CopiedSize {
  readonly most: number;
  /** The declared one. */
  readonly length: number | null;
}

/** The bodies of an isolate that are being copied. A timer for each would cost as much as the copy, so each new body looks for those that take too long. */
export class BodyCopier {
  readonly #budget: ByteBudget;
  /** Oldest first, with the time from which each takes too long. */
  readonly #copying = new Map<() => void, number>();

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** A copy of the message's body. `length`: its declared one. Never rejects. */
  copy(message: Request | Response, length: number | null, caller: WaitingCaller): CopiedBody {
    if (message.body === null) return EMPTY_COPY;
    const most = message instanceof Response ? COPIED_RESPONSE_BYTES : COPIED_BYTES;
    if ((length ?? 0) > most) return NO_COPY;
    this.#endOld();
    try {
      const half = message.clone().body;
      return half === null ? EMPTY_COPY : this.#copyStream(half, { most, length }, caller);
    } catch {
      return NO_COPY;
    }
  }

  #endOld(): void {
    const now = performance.now();
    for (const [giveUp, until] of this.#copying) {
      if (until > now) return;
      giveUp();
    }
  }

  #copyStream(half: ReadableStream<Uint8Array>, { most, length }: CopiedSize, caller: WaitingCaller): CopiedBody {
    const lease = this.#budget.lease(Date.now(), caller);
    const reader = readerOf(half, length);
    const pieces: Uint8Array[] = [];
    const stopped = Promise.withResolvers<BodyCopy>();
    const giveUp = (): void => {
      this.#copying.delete(giveUp);
      pieces.length = 0;
      lease.shrinkTo(0);
      reader.cancel();
      stopped.resolve({ kind: "not-copied" });
    };
    this.#copying.set(giveUp, performance.now() + COPYING_MS);
    // Small bodies are many, and counting them would cost more than it limits.
    const hasRoom = (bytes: number): boolean => bytes <= SMALL_BYTES || lease.take(bytes - SMALL_BYTES - lease.bytes);
    const read = async (): Promise<BodyCopy> => {
      let size = 0;
      try {
        for (;;) {
          const piece = await reader.next();
          if (piece.kind === "whole") return { kind: "whole", bytes: joinBytes(pieces) };
          size += piece.bytes.byteLength;
          if (!this.#copying.has(giveUp)) return { kind: "not-copied" };
          if (size > most || !hasRoom(size)) {
            giveUp();
            return { kind: "not-copied" };
          }
          // All that was declared has come: to wait for the end would cost as much as to read it (measured).
          if (size === length) return { kind: "whole", bytes: joinBytes([...pieces, piece.bytes]) };
          pieces.push(piece.bytes.slice());
        }
      } catch {
        return { kind: this.#copying.has(giveUp) ? "broken" : "not-copied" };
      } finally {
        this.#copying.delete(giveUp);
      }
    };
    return { copy: Promise.race([read(), stopped.promise]), free: giveUp };
  }
}

/** `length`: the declared one. Streams that programs make may give their pieces only as they come. */
function readerOf(stream: ReadableStream<Uint8Array>, length: number | null): BodyReader {
  try {
    return new ByteReader(stream, length ?? undefined);
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
