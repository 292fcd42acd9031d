// A request's body as an exchange has it: in memory when small; offered, and taken only by the one who needs it, when larger;
// in chunks when it is too large for memory, so that it is complete and durable before the claim; or as it comes, where the
// route compares no bodies.

import { ByteBudget } from "../../http/byte-budget.ts";
import { readHeld, type BodyReader } from "../../http/body.ts";
import type { Bodies } from "../store/bodies.ts";
import { START } from "./body-position.ts";
import { bytePipe, type Piece } from "./byte-pipe.ts";
import { storeBody } from "./stored-body.ts";
import { storedStream } from "./stored-stream.ts";

/** What goes to the origin, and how often its memory is wanted. */
interface Content {
  /** `broke` is called when it breaks off on its way here: the runtime leaves a call whose body breaks off hanging (measured). */
  open(broke: () => void): Uint8Array | ReadableStream<Uint8Array>;
  users: number;
  free(): void;
}

/** Where a body comes from that is not here yet. */
interface Offer {
  /** `null` when it cannot be had any more. Rejects when it cannot be stored. */
  take(): Promise<Content | null>;
  /**
   * Nobody needs it, and the answer comes later: it is read and thrown away, so that whoever offers it learns at once that he
   * need not hold it. That reading was cancelled he learns only with the answer (measured).
   */
  discard(): void;
  /** Nobody needs it, and here is the answer. */
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

  /** Brings it here, and tells whether it is. Rejects when it cannot be stored. */
  async take(): Promise<boolean> {
    const offer = this.#offer;
    this.#offer = null;
    if (offer !== null) this.#content = await offer.take();
    return this.#content !== null;
  }

  /** Takes the bytes of another body in the place of its own, which are the same; its own are given back, or never taken. */
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

/** What the bodies share that the attempts of an isolate have in memory; those for which it is too little go to the disk. */
const IN_MEMORY_BYTES = 16 << 20;

/** The longest that the platform lets a call be under way. */
const MOST_MS = 15 * 60_000;

/** What the attempts of the isolate hold of their requests' bodies. */
export const attemptMemory = new ByteBudget(IN_MEMORY_BYTES, MOST_MS);

/** A body that comes when it is asked for, and whose fingerprint is known before. `name` is what it is called if it is stored. */
export function offeredBody(rest: BodyReader, bodies: Bodies, name: string): RequestBody {
  const cancel = (): void => void rest.cancel().catch(() => undefined);
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
  for (;;) if ((await rest.read()).done) return;
}

/** A body that is still on its way. `length` is what the client declared; `null` sends it chunked. */
export function streamedBody(rest: BodyReader, length: number | null): RequestBody {
  return new RequestBody({
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
    users: 1,
    // What of a body nobody took (a replay, a conflict) is not read on.
    free: () => void rest.cancel().catch(() => undefined),
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
