// A body that is too large for the store, on its way to R2. The upload reads the store's chunks, part by part, as one more reader
// of the spool, so that hundreds of such bodies hold one piece each. Where R2 fails, the body is not kept and cannot be replayed;
// the client's transfer goes on.

import { type BodyReader, lentPiece, type NextPiece, type Piece, WHOLE } from "../../http/body-reader.ts";
import { raceTimer } from "../../http/first-of.ts";
import { PART_BYTES, type RemoteBodies, type RemoteUpload } from "../store/remote-bodies.ts";
import type { Due } from "../timers.ts";
import { type BytePipe, bytePipe, type Patience } from "./byte-pipe.ts";
import type { Spool } from "./spool.ts";

export interface OverflowOptions {
  readonly name: string;
  readonly remote: RemoteBodies;
  readonly spool: Spool;
  /** For R2, whenever it takes nothing. */
  readonly patience: Patience;
  /** Called once, when it is known that the body will not be kept: no R2 bucket is bound, or R2 failed. */
  readonly lost: () => void;
}

export class Overflow {
  readonly #options: OverflowOptions;
  #sending: Promise<void> = Promise.resolve();
  /** How long the body is, as soon as that is known. */
  #total = Number.POSITIVE_INFINITY;

  constructor(options: OverflowOptions) {
    this.#options = options;
  }

  /** Begins with what is in the store already, which has to be kept there until this resolves. */
  async begin(): Promise<void> {
    const { name, remote, spool, lost } = this.#options;
    let upload: RemoteUpload | null = null;
    try {
      upload = await this.#inTime(() => remote.begin(name));
    } catch (error) {
      report(error);
    }
    if (upload === null) lost();
    else this.#sending = this.#send(upload, spool.follow());
  }

  /** Resolves when the whole body is in R2, or lost. To be called when all of it has been written to the spool. */
  async complete(): Promise<void> {
    const { spool } = this.#options;
    this.#total = spool.bytes;
    await spool.flush();
    await this.#sending;
  }

  async #send(upload: RemoteUpload, body: BodyReader): Promise<void> {
    const { spool, lost } = this.#options;
    const pieces = new PartPieces(body);
    let breakPart: BytePipe["abort"] = ignore;
    try {
      for (let sent = 0; sent < this.#total;) {
        // A part is begun when all of it is there, so that a slow origin keeps no connection to R2 waiting.
        await spool.untilDurable(() => Math.min(sent + PART_BYTES, this.#total));
        const length = Math.min(PART_BYTES, this.#total - sent);
        // The body has turned out to end with the part before.
        if (length === 0) break;
        await this.#inTime(async (due) => {
          let left = length;
          const next = async (): Promise<NextPiece> => {
            due.move(this.#options.patience.idleMs);
            const piece = left === 0 ? WHOLE : await pieces.next(left);
            if (piece.kind === "bytes") left -= piece.bytes.byteLength;
            return piece;
          };
          const part = bytePipe({ next, cancel: ignore }, length, null);
          breakPart = part.abort;
          await upload.send(part.readable);
        });
        sent += length;
      }
      await this.#inTime(() => upload.complete());
    } catch (error) {
      // A body that broke off is no failure of R2: whatever broke it decides what becomes of the record.
      if (!spool.isBroken) {
        report(error);
        lost();
      }
      // Where R2 does nothing, its part is never taken, and would hold the memory of a piece.
      breakPart(new Error("the part is not sent any more"));
    } finally {
      pieces.free();
      body.cancel();
    }
  }

  /** Rejects when R2 does nothing for too long, because a body must not wait for it for ever. */
  async #inTime<T>(ask: (due: Due) => Promise<T>): Promise<T> {
    const { timers, idleMs } = this.#options.patience;
    const done = await raceTimer(async (due: Due) => ({ value: await ask(due) }), idleMs, timers);
    if (done === null) throw new Error("R2 did nothing for too long");
    return done.value;
  }
}

/** The pieces of a body, cut where its parts end. */
class PartPieces {
  readonly #body: BodyReader;
  /** The end of the last piece, which belongs to the next part. */
  #rest: Piece | null = null;

  constructor(body: BodyReader) {
    this.#body = body;
  }

  async next(mostBytes: number): Promise<NextPiece> {
    const piece = this.#rest ?? (await this.#body.next());
    this.#rest = null;
    if (piece.kind === "whole" || piece.bytes.byteLength <= mostBytes) return piece;
    this.#rest = { ...piece, bytes: piece.bytes.subarray(mostBytes) };
    // The memory of both is given back with the rest.
    return lentPiece(piece.bytes.subarray(0, mostBytes));
  }

  free(): void {
    this.#rest?.release();
    this.#rest = null;
  }
}

function report(error: unknown): void {
  console.error({ message: "a body could not be put into the bucket", reason: String(error) });
}

function ignore(): void {
  // No part is on its way, or the pieces of the next part come from the same body.
}
