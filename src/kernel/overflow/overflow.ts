// The upload to R2 of a body that is too large for the store. It reads the store's chunks, part by part, as one more reader of the
// spool, so that hundreds of such bodies hold only one piece each. If R2 fails, the body is not kept and cannot be replayed; the
// client's transfer continues.

import { type BodyReader, lentPiece, type NextPiece, type BytePiece, WHOLE } from "../request/body-reader.ts";
import { raceTimer } from "../request/first-of.ts";
import { encryptingReader } from "../encryption/encrypted-reader.ts";
import { PART_BYTES, type RemoteBodies, type RemoteUpload } from "./remote-bodies.ts";
import type { ScheduledWork } from "../object/timers.ts";
import { type BodyCipher, plainSizeAt, storedSize } from "../encryption/body-cipher.ts";
import { type BytePipe, bytePipe, type ReaderPatience } from "../body/byte-pipe.ts";
import type { LogNames } from "../request/message.ts";
import type { Spool } from "../body/spool.ts";

export interface OverflowOptions {
  readonly name: string;
  /** Of the record, for the log. */
  readonly names: LogNames;
  readonly remote: RemoteBodies;
  readonly spool: Spool;
  /** Encrypts what is uploaded; `null` for none. */
  readonly cipher: BodyCipher | null;
  /** How long R2 may take nothing. */
  readonly patience: ReaderPatience;
  /** Called once if the body will not be kept: no R2 bucket is bound, or R2 failed. */
  readonly lost: () => void;
}

export class OverflowBucket {
  readonly #options: OverflowOptions;
  #sending: Promise<void> = Promise.resolve();
  /** The body's length, once it is known. */
  #total = Number.POSITIVE_INFINITY;

  constructor(options: OverflowOptions) {
    this.#options = options;
  }

  /** Begins with the bytes that are already in the store, which must stay there until this resolves. */
  async begin(): Promise<void> {
    const { name, remote, spool, lost } = this.#options;
    let upload: RemoteUpload | null = null;
    try {
      upload = await this.#inTime(() => remote.begin(name));
    } catch (error) {
      this.#report(error);
    }
    if (upload === null) lost();
    else this.#sending = this.#send(upload, spool.follow());
  }

  /** To be called when the whole body has been written to the spool. Resolves when it is in R2 or lost. */
  async complete(): Promise<void> {
    const { spool } = this.#options;
    this.#total = spool.bytes;
    await spool.flush();
    await this.#sending;
  }

  async #send(upload: RemoteUpload, body: BodyReader): Promise<void> {
    const { spool, lost, cipher } = this.#options;
    const pieces = new PartPieces(cipher === null ? body : encryptingReader(body, cipher, () => this.#total));
    let breakPart: BytePipe["abort"] = ignore;
    try {
      for (let sent = 0; sent < this.#uploadBytes;) {
        // A part begins only when all of it is durable, so that a slow origin keeps no connection to R2 waiting.
        await spool.untilDurable(() => Math.min(this.#needed(sent + PART_BYTES), this.#total));
        const length = Math.min(PART_BYTES, this.#uploadBytes - sent);
        // The body ended exactly with the previous part.
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
      // If the body broke off, R2 has not failed, and the attempt settles the record.
      if (!spool.isBroken) {
        this.#report(error);
        lost();
      }
      // If R2 does nothing, its part is never taken and would hold the memory of a piece.
      breakPart(new Error("the part is no longer sent"));
    } finally {
      pieces.free();
      body.cancel();
    }
  }

  #report(error: unknown): void {
    const { names } = this.#options;
    console.error({ message: "a body could not be uploaded to R2", ...names, reason: String(error) });
  }

  /** What is uploaded, once it is known. */
  get #uploadBytes(): number {
    return this.#options.cipher === null ? this.#total : storedSize(this.#total);
  }

  /** How much of the body the first uploaded bytes need. */
  #needed(uploadBytes: number): number {
    return this.#options.cipher === null ? uploadBytes : plainSizeAt(uploadBytes);
  }

  /** Rejects when R2 does nothing for too long, because a body must not wait for it forever. */
  async #inTime<T>(ask: (due: ScheduledWork) => Promise<T>): Promise<T> {
    const { timers, idleMs } = this.#options.patience;
    const done = await raceTimer(async (due: ScheduledWork) => ({ value: await ask(due) }), idleMs, timers);
    if (done === null) throw new Error("R2 did nothing for too long");
    return done.value;
  }
}

/** The pieces of a body, cut at the ends of its parts. */
class PartPieces {
  readonly #body: BodyReader;
  /** The end of the last piece, which belongs to the next part. */
  #rest: BytePiece | null = null;

  constructor(body: BodyReader) {
    this.#body = body;
  }

  async next(mostBytes: number): Promise<NextPiece> {
    const piece = this.#rest ?? (await this.#body.next());
    this.#rest = null;
    if (piece.kind === "whole" || piece.bytes.byteLength <= mostBytes) return piece;
    this.#rest = { ...piece, bytes: piece.bytes.subarray(mostBytes) };
    // The memory of both is released with the rest.
    return lentPiece(piece.bytes.subarray(0, mostBytes));
  }

  free(): void {
    this.#rest?.release();
    this.#rest = null;
  }
}

function ignore(): void {
  // No part is being sent, or the next part continues with the same body.
}
