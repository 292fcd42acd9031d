// The body of a request in its exchange. A small body is in memory. A larger one is offered, and taken only by an exchange that
// needs it. One that is too large for memory is in chunks, complete and durable before the claim. If the route compares no bodies,
// it flows through as it comes.

import { readHeld } from "../request/body.ts";
import type { BodyReader, NextPiece } from "../request/body-reader.ts";
import { ByteBudget } from "../request/byte-budget.ts";
import { ReadingPace, pacedBody } from "../request/pace.ts";
import type { BodyStore } from "../store/bodies.ts";
import type { RequestBytes } from "../store/stored-request.ts";
import { bytePipe } from "./byte-pipe.ts";
import type { ObjectTimers } from "../object/timers.ts";
import { START } from "../resume/event-offsets.ts";
import { storeBody, type StoredUpload } from "./stored-body.ts";
import { storedStream } from "./stored-stream.ts";

/** The bytes for the origin, and how many bodies share their memory. */
interface Content {
  /** Calls `broke` when the body breaks off before it is complete: the runtime itself never ends such a call (measured). */
  open(broke: () => void): Uint8Array | ReadableStream<Uint8Array>;
  users: number;
  free(): void;
  /** For a record that keeps the request. */
  stored(): RequestBytes;
}

/** A body that the Worker holds and offers. */
interface Offer {
  /** `null` when it is gone. Rejects when it cannot be stored. */
  take(): Promise<Content | null>;
  /**
   * Not needed, and the answer comes later. The body is read and thrown away, so that the Worker can free it at once: it would
   * notice a cancelled stream only when the answer comes (measured).
   */
  discard(): void;
  /** Not needed, and the answer is ready. */
  cancel(): void;
}

export class RequestBody {
  #content: Content | null;
  #offer: Offer | null;

  constructor(content: Content | null, offer: Offer | null = null) {
    this.#content = content;
    this.#offer = offer;
  }

  /** Whether it can be opened. */
  get isHere(): boolean {
    return this.#content !== null;
  }

  /** Takes an offered body. Returns whether the body is here now. Rejects when it cannot be stored. */
  async take(): Promise<boolean> {
    const offer = this.#offer;
    this.#offer = null;
    if (offer !== null) this.#content = await offer.take();
    return this.#content !== null;
  }

  /** Uses the equal bytes of another body instead of its own, which are released or never taken. */
  share(other: RequestBody): void {
    const content = other.#content;
    if (content === null || content === this.#content) return;
    content.users += 1;
    this.#offer?.discard();
    this.#offer = null;
    this.release();
    this.#content = content;
  }

  /** The bytes for the origin. */
  open(broke: () => void): Uint8Array | ReadableStream<Uint8Array> {
    if (this.#content === null) throw new TypeError("a body that is not here was opened");
    return this.#content.open(broke);
  }

  /** What the record of an accepted request keeps. The body has to be here, and to be known as a whole. */
  stored(): RequestBytes {
    if (this.#content === null) throw new TypeError("a body that is not here was to be stored");
    return this.#content.stored();
  }

  /** To be called when it is no longer needed. */
  release(): void {
    this.#offer?.cancel();
    this.#offer = null;
    const content = this.#content;
    this.#content = null;
    if (content === null) return;
    content.users -= 1;
    if (content.users === 0) content.free();
  }
}

export function bytesBody(bytes: Uint8Array): RequestBody {
  return new RequestBody(whole(bytes, () => undefined));
}

function whole(bytes: Uint8Array, free: () => void): Content {
  return { open: () => bytes, users: 1, free, stored: () => ({ kind: "inline", bytes }) };
}

/** The memory that request bodies share in the attempts of an isolate; when it is used up, bodies go to disk. */
const IN_MEMORY_BYTES = 16 << 20;

/** The platform allows no longer call. */
const MAX_MS = 15 * 60_000;

/** Counts the request bodies that the attempts of the isolate hold in memory. */
export const attemptMemory = new ByteBudget(IN_MEMORY_BYTES, MAX_MS);

/** The Worker holds the body, so that it comes at once, or never because the Worker has been stopped. */
const OFFER_MS = 30_000;

const OFFERED = {
  limitBytes: Number.POSITIVE_INFINITY,
  budget: attemptMemory,
  idleMs: OFFER_MS,
  unlessHeld: "flow",
  caller: null,
} as const;

/** A body that is sent only on demand, and whose fingerprint is already known. `isEncrypted`: if it is stored. */
export function offeredBody(
  offered: BodyReader,
  bodies: BodyStore,
  timers: Pick<ObjectTimers, "firstOf">,
  isEncrypted: boolean,
): RequestBody {
  // Also where it is stored, or thrown away: a Worker that has stopped in the middle of it must hold no exchange.
  const rest = pacedBody(offered, timers, new ReadingPace(OFFER_MS));
  const cancel = (): void => rest.cancel();
  const discard = (): void => void readAway(rest).catch(() => undefined);
  const take = async (): Promise<Content | null> => {
    const held = await readHeld(rest, OFFERED).catch(() => null);
    switch (held?.kind) {
      case "whole":
        return whole(held.body.bytes, () => held.body.free());
      case "over": {
        const stored = await storeBody(bodies, held.rest, { maxBytes: Number.POSITIVE_INFINITY, isEncrypted });
        return stored.kind === "stored" ? chunks(bodies, stored) : null;
      }
      case "late":
      case "no-room":
      case undefined:
        return null;
    }
  };
  return new RequestBody(null, { take, discard, cancel });
}

async function readAway(rest: BodyReader): Promise<void> {
  for (;;) {
    const piece = await rest.next();
    if (piece.kind === "whole") return;
    piece.release();
  }
}

/** A body that is still arriving. `length` is what the client declared; `null` sends it chunked. */
export function streamedBody(rest: BodyReader, length: number | null): RequestBody {
  return new RequestBody({
    open(broke) {
      const next = async (): Promise<NextPiece> => {
        try {
          return await rest.next();
        } catch (error) {
          broke();
          throw error;
        }
      };
      // `free` cancels it.
      return bytePipe({ next, cancel: () => undefined }, length, null).readable;
    },
    users: 1,
    // If the body is not needed (a replay, a conflict), its rest is not read.
    free: () => rest.cancel(),
    stored() {
      throw new TypeError("a body that flows through cannot be stored");
    },
  });
}

/** A body in chunks of the store. */
export function chunkedBody(bodies: BodyStore, stored: StoredUpload): RequestBody {
  return new RequestBody(chunks(bodies, stored));
}

/** The body of a request that its record keeps. */
export function storedRequestBody(bodies: BodyStore, stored: Extract<RequestBytes, { kind: "chunks" }>): RequestBody {
  bodies.hold(stored.body);
  return new RequestBody(chunks(bodies, { ...stored, cipher: null }));
}

function chunks(bodies: BodyStore, stored: Omit<StoredUpload, "kind" | "digest">): Content {
  const { body, count, size } = stored;
  return {
    open: () =>
      storedStream(bodies, stored, { from: START, close: () => undefined, patience: null, cipher: stored.cipher }),
    users: 1,
    free: () => bodies.release(body),
    stored: () => ({ kind: "chunks", body, count, size }),
  };
}
