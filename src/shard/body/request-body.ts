// A request's body, as an exchange has it: in memory when it is small; offered, and taken only by an exchange that needs it,
// when it is larger; in chunks when it is too large for memory, so that it is complete and durable before the claim; or as it
// comes, where the route compares no bodies.

import { readHeld } from "../../http/body.ts";
import type { BodyReader, NextPiece } from "../../http/body-reader.ts";
import { ByteBudget } from "../../http/byte-budget.ts";
import type { Bodies } from "../store/bodies.ts";
import { bytePipe } from "./byte-pipe.ts";
import { START } from "./event-offsets.ts";
import { storeBody } from "./stored-body.ts";
import { storedStream } from "./stored-stream.ts";

/** What goes to the origin, and how many bodies share its memory. */
interface Content {
  /** `broke` is called when it breaks off on its way here: the runtime never ends a call whose body breaks off (measured). */
  open(broke: () => void): Uint8Array | ReadableStream<Uint8Array>;
  users: number;
  free(): void;
}

/** A body that is still with the Worker, which offers it. */
interface Offer {
  /** `null` when it is not there any more. Rejects when it cannot be stored. */
  take(): Promise<Content | null>;
  /**
   * Nobody needs it, and the answer comes later: it is read and thrown away, so that the Worker learns at once that it need not
   * hold the body. A cancelled stream would tell it only when the answer comes (measured).
   */
  discard(): void;
  /** Nobody needs it, and the answer is ready. */
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

  /** Takes an offered body, and returns whether the body is here then. Rejects when it cannot be stored. */
  async take(): Promise<boolean> {
    const offer = this.#offer;
    this.#offer = null;
    if (offer !== null) this.#content = await offer.take();
    return this.#content !== null;
  }

  /** Uses the bytes of another body instead of its own, which are the same; its own are given back, or never taken. */
  share(other: RequestBody): void {
    const content = other.#content;
    if (content === null || content === this.#content) return;
    content.users += 1;
    this.#offer?.discard();
    this.#offer = null;
    this.release();
    this.#content = content;
  }

  /** What goes to the origin. */
  open(broke: () => void): Uint8Array | ReadableStream<Uint8Array> {
    if (this.#content === null) throw new TypeError("a body that is not here was opened");
    return this.#content.open(broke);
  }

  /** To be called when nobody needs it any more. */
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
  return new RequestBody({ open: () => bytes, users: 1, free: () => undefined });
}

/** What the requests' bodies share that the attempts of an isolate have in memory; when it is used up, bodies go to the disk. */
const IN_MEMORY_BYTES = 16 << 20;

/** The platform lets no call last longer. */
const MAX_MS = 15 * 60_000;

/** What the attempts of the isolate hold of their requests' bodies. */
export const attemptMemory = new ByteBudget(IN_MEMORY_BYTES, MAX_MS);

/** A body that comes when it is asked for, and whose fingerprint is known before. It is stored under `name`, if at all. */
export function offeredBody(rest: BodyReader, bodies: Bodies, name: string): RequestBody {
  const cancel = (): void => rest.cancel();
  const discard = (): void => void readAway(rest).catch(() => undefined);
  const take = async (): Promise<Content | null> => {
    const held = await readHeld(rest, Number.POSITIVE_INFINITY, attemptMemory).catch(() => null);
    if (held === null) return null;
    if (held.kind === "whole") return { open: () => held.body.bytes, users: 1, free: () => held.body.free() };
    const stored = await storeBody(bodies, name, held.rest, Number.POSITIVE_INFINITY);
    return stored === null ? null : chunks(bodies, name, stored.count, stored.size);
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

/** A body that is still on its way. `length` is what the client declared; `null` sends it chunked. */
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
    // What nobody took of the body (a replay, a conflict) is not read.
    free: () => rest.cancel(),
  });
}

/** A body that is stored. */
export function chunkedBody(bodies: Bodies, name: string, count: number, size: number): RequestBody {
  return new RequestBody(chunks(bodies, name, count, size));
}

function chunks(bodies: Bodies, name: string, count: number, size: number): Content {
  return {
    open: () => storedStream(bodies, { name, count, size }, START, () => undefined, null),
    users: 1,
    free: () => bodies.release(name),
  };
}
