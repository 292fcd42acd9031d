// The body of an answer that is not a result: it is passed on to every client that waited for it, and not kept. If it is small and
// quick, they share one buffer. Otherwise they read the same chunks, each at its own speed, so that no client costs a copy.

import type { OriginResponse } from "../object/origin-call.ts";
import type { ObjectTimers } from "../object/timers.ts";
import type { LogNames } from "../request/message.ts";
import type { Spool } from "./spool.ts";

export class PassedBody {
  readonly #response: OriginResponse;
  readonly #spool: Spool;
  /** Of the record, for the log. */
  readonly #names: LogNames;
  readonly #isWhole: Promise<boolean>;
  /** The whole body, if it is shared as one buffer. */
  #bytes: Uint8Array | null = null;
  #hasReaders = false;
  #isCutOff = false;

  /** Begins to read at once. `spool` must be empty and belongs to this body alone. */
  constructor(response: OriginResponse, spool: Spool, names: LogNames) {
    this.#names = names;
    this.#response = response;
    this.#spool = spool;
    this.#isWhole = this.#read();
  }

  /** Resolves when the whole body or its beginning is there, or after `maxWaitMs`. */
  async ready(timers: ObjectTimers, maxWaitMs: number): Promise<void> {
    const isWhole = await timers.firstOf(Promise.race([this.#isWhole, this.#spool.readable()]), maxWaitMs);
    try {
      if (isWhole === true) this.#bytes = this.#spool.takeWhole();
    } catch (error) {
      this.#breakWith(error);
    }
  }

  /** The body for one more reader. All readers must come in one turn, before `rest` is called. */
  reader(): Uint8Array | ReadableStream<Uint8Array> {
    if (this.#bytes !== null) return this.#bytes;
    this.#hasReaders = true;
    return this.#spool.reader(this.#response.length);
  }

  /** To be called when all readers have come. Resolves when the body has ended; a broken body breaks only its readers' streams. */
  async rest(): Promise<void> {
    if (this.#bytes !== null) return;
    try {
      this.#spool.stopKeeping();
      if (await this.#isWhole) await this.#spool.finish(() => undefined);
    } catch (error) {
      this.#breakWith(error);
    }
  }

  /** Ends the call, and breaks the body for every reader. */
  cutOff(): void {
    this.#isCutOff = true;
    this.#response.cancel();
    this.#spool.break();
  }

  /** Whether the whole body came. Never rejects. */
  async #read(): Promise<boolean> {
    try {
      for (;;) {
        const piece = await this.#response.next();
        // The body of a cancelled call looks complete.
        if (this.#isCutOff) return false;
        if (piece.kind === "whole") return true;
        if (piece.kind !== "bytes") {
          this.#spool.break();
          return false;
        }
        await this.#spool.write(piece.bytes);
        piece.release();
        // All readers have disconnected, so the rest is not needed.
        if (this.#hasReaders && !this.#spool.hasReaders) this.cutOff();
      }
    } catch (error) {
      this.#breakWith(error);
      return false;
    }
  }

  #breakWith(error: unknown): void {
    console.error({ message: "an answer could not be passed on", ...this.#names, reason: String(error) });
    this.cutOff();
  }
}
