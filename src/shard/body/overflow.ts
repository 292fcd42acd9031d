// A body that has outgrown the ledger, on its way into the bucket. It goes there behind the ledger's chunks, part by part, as one
// more reader of them, so that hundreds of such bodies hold a piece each. A bucket that fails costs the replay, never the
// client's transfer: from then on the body is not kept.

import { type BytePipe, bytePipe, type Patience, type Piece } from "./byte-pipe.ts";
import { PART_BYTES, type RemoteBodies, type RemoteUpload } from "../store/remote-bodies.ts";
import type { Follower, Spool } from "./spool.ts";
import type { Due } from "../timers.ts";

export interface OverflowOptions {
  readonly name: string;
  readonly remote: RemoteBodies;
  readonly spool: Spool;
  /** With the bucket, whenever it takes nothing. */
  readonly patience: Patience;
  /** Called once, when it is known that the body will not be kept: there is no bucket, or it failed. */
  readonly lost: () => void;
}

export class Overflow {
  readonly #options: OverflowOptions;
  #sending: Promise<void> = Promise.resolve();
  /** How long the body is, when that is known. */
  #total = Number.POSITIVE_INFINITY;

  constructor(options: OverflowOptions) {
    this.#options = options;
  }

  /** Begins with what is in the ledger already, which has to be kept there until this resolves. */
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

  /** Resolves when the whole body is in the bucket, or lost. To be called when all of it has been written to the spool. */
  async complete(): Promise<void> {
    const { spool } = this.#options;
    this.#total = spool.bytes;
    await spool.flush();
    await this.#sending;
  }

  async #send(upload: RemoteUpload, follower: Follower): Promise<void> {
    const { spool, lost } = this.#options;
    const pieces = new PartPieces(follower);
    let breakPart: BytePipe["abort"] = ignore;
    try {
      for (let sent = 0; sent < this.#total;) {
        // A part is begun when all of it is there: an origin that takes its time keeps no connection to the bucket waiting.
        await spool.shows(() => Math.min(sent + PART_BYTES, this.#total));
        const length = Math.min(PART_BYTES, this.#total - sent);
        // The body has turned out to end with a part.
        if (length === 0) break;
        await this.#inTime(async (due) => {
          let left = length;
          const next = async (): Promise<Piece | null> => {
            due.move(this.#options.patience.idleMs);
            const piece = left === 0 ? null : await pieces.next(left);
            left -= piece?.bytes.byteLength ?? 0;
            return piece;
          };
          const part = bytePipe({ next, close: () => undefined }, length, null);
          breakPart = part.abort;
          await upload.send(part.readable);
        });
        sent += length;
      }
      await this.#inTime(() => upload.complete());
    } catch (error) {
      // A body that broke off is no failure of the bucket's: whoever broke it says what that means.
      if (!spool.isBroken) {
        report(error);
        lost();
      }
      // A bucket that does nothing leaves its part untaken, and with it the memory of a piece.
      breakPart(new Error("the part is not sent any more"));
    } finally {
      pieces.free();
      follower.close();
    }
  }

  /** Rejects when the bucket does nothing for too long: a body must not wait for it for ever. */
  async #inTime<T>(ask: (due: Due) => Promise<T>): Promise<T> {
    const { timers, idleMs } = this.#options.patience;
    const { promise: tooLong, reject } = Promise.withResolvers<never>();
    const due = timers.set(idleMs, () => reject(new Error("the bucket did nothing for too long")));
    try {
      return await Promise.race([ask(due), tooLong]);
    } finally {
      due.cancel();
    }
  }
}

/** The pieces of a body, cut where its parts end. */
class PartPieces {
  readonly #follower: Follower;
  /** Of the last piece, what belongs to the next part. */
  #rest: Piece | null = null;

  constructor(follower: Follower) {
    this.#follower = follower;
  }

  async next(mostBytes: number): Promise<Piece | null> {
    const piece = this.#rest ?? (await this.#follower.next());
    this.#rest = null;
    if (piece === null || piece.bytes.byteLength <= mostBytes) return piece;
    this.#rest = { bytes: piece.bytes.subarray(mostBytes), release: piece.release };
    return { bytes: piece.bytes.subarray(0, mostBytes), release: () => undefined };
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
  // No part is on its way.
}
