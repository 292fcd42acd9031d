// The body of an answer that is no result: it is passed on to all who waited for it, and kept for nobody. One that is small
// and quick is a buffer that they share; of any other they read the same chunks, each at their own speed, so that a reader
// costs no copy of it.

import type { BrokenOff } from "../../core/verdict.ts";
import { joinBytes } from "../../http/body.ts";
import type { OriginResponse } from "../origin-call.ts";
import type { Spool } from "./spool.ts";
import type { Timers } from "../timers.ts";

export type SmallBody =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  /** There is more than was asked for. */
  | { readonly kind: "more"; readonly bytes: Uint8Array }
  | BrokenOff;

export async function readSmall(response: OriginResponse, limitBytes: number): Promise<SmallBody> {
  const pieces: Uint8Array[] = [];
  for (let size = 0; size <= limitBytes;) {
    const piece = await response.next();
    switch (piece.kind) {
      case "bytes":
        pieces.push(piece.bytes.slice());
        size += piece.bytes.byteLength;
        break;
      case "whole":
        return { kind: "whole", bytes: joinBytes(pieces) };
      case "dropped":
      case "timed-out":
        return piece;
    }
  }
  return { kind: "more", bytes: joinBytes(pieces) };
}

export class PassedBody {
  readonly #response: OriginResponse;
  readonly #spool: Spool;
  readonly #isWhole: Promise<boolean>;
  /** All of it, where it is shared as one buffer. */
  #bytes: Uint8Array | null = null;
  #hasReaders = false;
  #isCutOff = false;

  /** The reading begins at once. `spool` is this body's own, and empty. */
  constructor(response: OriginResponse, spool: Spool) {
    this.#response = response;
    this.#spool = spool;
    this.#isWhole = this.#read();
  }

  /** Resolves when all of it is there, or its beginning, or nothing has come for so long. */
  async ready(timers: Timers, patienceMs: number): Promise<void> {
    const isWhole = await timers.firstOf(Promise.race([this.#isWhole, this.#spool.readable()]), patienceMs);
    try {
      if (isWhole === true) this.#bytes = this.#spool.takeWhole();
    } catch (error) {
      this.#breakWith(error);
    }
  }

  /** For one more reader. All of them come in one turn, before `rest`. */
  reader(): Uint8Array | ReadableStream<Uint8Array> {
    if (this.#bytes !== null) return this.#bytes;
    this.#hasReaders = true;
    return this.#spool.reader(this.#response.length);
  }

  /** All readers have come. Resolves when the body has ended; a break is theirs alone. */
  async rest(): Promise<void> {
    if (this.#bytes !== null) return;
    try {
      this.#spool.stopKeeping();
      if (await this.#isWhole) await this.#spool.finish(() => undefined);
    } catch (error) {
      this.#breakWith(error);
    }
  }

  /** Ends the call, and breaks the body for all who read it. */
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
        // One that was cancelled looks as if it had ended.
        if (this.#isCutOff) return false;
        if (piece.kind === "whole") return true;
        if (piece.kind !== "bytes") {
          this.#spool.break();
          return false;
        }
        await this.#spool.write(piece.bytes);
        // All have left: nobody needs the rest.
        if (this.#hasReaders && !this.#spool.hasReaders) this.cutOff();
      }
    } catch (error) {
      this.#breakWith(error);
      return false;
    }
  }

  #breakWith(error: unknown): void {
    console.error({ message: "an answer could not be passed on", reason: String(error) });
    this.cutOff();
  }
}
