// Carries the body of one response from the origin into the store, and from there to all readers, each at its own speed. No reader
// sees a byte before it is durable (G4), no reader slows the origin down, and a body that ends early breaks for every reader. A
// small and quick body needs no chunk row: it is handed over whole.
//
// Memory: one chunk being filled, one being written, and one for each reader (src/kernel/body/README.md, "Memory").

import { type BodyReader, type NextPiece, skipBytes, WHOLE } from "../request/body-reader.ts";
import { freeBytes } from "../request/byte-budget.ts";
import type { BodyNumber } from "../record/units.ts";
import { type BodyStore } from "../store/bodies.ts";
import type { ScheduledWork } from "../object/timers.ts";
import { type BodyCipher, placeInChunk } from "../encryption/body-cipher.ts";
import { bytePipe, type ReaderPatience } from "./byte-pipe.ts";
import { FillingChunk } from "./chunk.ts";
import { type BodyPosition, START } from "../resume/event-offsets.ts";
import { type SpoolReader, SpoolReaders } from "./spool-readers.ts";
import { ChunkCursor } from "./stored-stream.ts";

/** The body that belongs to a record, and the response's headers, which are stored with its first chunk unless it is encrypted. */
export interface BodyOwner {
  readonly body: BodyNumber;
  readonly head: string | null;
}

export interface SpoolOptions {
  readonly bodies: BodyStore;
  /** What the record's claim named; `null` for a body that no record will own, which is erased when nobody reads it. */
  readonly owner: BodyOwner | null;
  /** The length that the origin declared; `null` if none. Readers see the last bytes only together with the end. */
  readonly length: number | null;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  /** How long the first bytes may wait for more, so that a quick body is written once. */
  readonly firstFlushMs: number;
  /** How far a body that is not kept may run ahead of its slowest reader, in chunks. */
  readonly windowChunks: number;
  /** How long each reader may be idle. */
  readonly patience: ReaderPatience;
  /** Encrypts what is stored; `null` for none. */
  readonly cipher: BodyCipher | null;
}

/** Bytes that come slowly are written together: at 40 commits a second, a stream still looks smooth. */
const FLUSH_MS = 25;

const BROKEN = "the origin's response broke off";

type End = "open" | "whole" | "broken";

/** Wakes everything that waits for a change; each waiter re-checks its condition. */
class Signal {
  #next = Promise.withResolvers<void>();

  /** Resolves at the next change. */
  get next(): Promise<void> {
    return this.#next.promise;
  }

  notify(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers<void>();
    resolve();
  }
}

export class Spool {
  readonly #options: SpoolOptions;
  readonly #filling = new FillingChunk();
  #number: BodyNumber | null = null;
  /** Bytes taken so far. */
  bytes = 0;
  /** Chunks written, and chunks that readers may read. */
  #written = 0;
  #readable = 0;
  /** Bytes in the written chunks. */
  #writtenBytes = 0;
  /** Durable chunks and bytes, which is all that `follow` may read. */
  #durable = 0;
  #durableBytes = 0;
  #end: End = "open";
  /** Whether this spool holds its body in the store. */
  #isHeld = false;
  /** Whether the body is kept; if not, chunks are deleted as soon as every reader has read them. */
  #kept = true;
  /** Whether a chunk is being encrypted: it is in memory only. */
  #isEncrypting = false;
  /** The timer of the next flush. */
  #flushDue: ScheduledWork | null = null;
  #flushing: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  readonly #change = new Signal();
  readonly #readers = new SpoolReaders();

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** How many chunks it has written to the store. */
  get chunks(): number {
    return this.#written;
  }

  /** Copies the next bytes. Resolves when all are copied and there is room for more. */
  async write(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.byteLength;
    if (!this.#kept && this.#readers.count === 0) return;
    let at = 0;
    while (at < bytes.byteLength) {
      at += this.#filling.fill(bytes.subarray(at));
      if (this.#filling.isFull) await this.flush();
      if (this.#failure !== null) throw this.#failure;
    }
    const delayMs = this.#written === 0 ? this.#options.firstFlushMs : FLUSH_MS;
    if (this.#filling.size > 0) this.#flushDue ??= this.#options.patience.timers.set(delayMs, () => void this.flush());
    if (!this.#kept) await this.#untilRead();
  }

  get hasReaders(): boolean {
    return this.#readers.count > 0;
  }

  get isBroken(): boolean {
    return this.#end === "broken";
  }

  /** Whether there is, or will be, something to read. */
  get isReadable(): boolean {
    return this.#end === "open" || (this.#end === "whole" && this.#written > 0);
  }

  /** All bytes, if none is in the store yet and there are no readers; otherwise `null`. */
  takeWhole(): Uint8Array | null {
    if (this.#failure !== null) throw this.#failure;
    if (this.#written > 0 || this.#isEncrypting || this.#readers.count > 0) return null;
    this.#stopFlush();
    const bytes = this.#filling.take();
    this.#finishAs("whole");
    return bytes;
  }

  /** Resolves when readers can begin, or when the body has ended. */
  async readable(): Promise<void> {
    while (this.#readable === 0 && this.#end === "open") await this.#change.next;
  }

  /**
   * Writes the remaining bytes and calls `settle` in the same commit, so that a record never has an incomplete body. Readers see the
   * end only when it is durable.
   */
  async finish(settle: () => void): Promise<void> {
    this.#stopFlush();
    // An encrypted chunk is not ready in the turn of the settlement, so the last one is written before it.
    const mustEncrypt = this.#options.cipher !== null && this.#filling.size > 0;
    await (mustEncrypt ? this.flush() : this.#flushing);
    if (this.#failure !== null) throw this.#failure;
    if (this.#kept || this.#readers.count > 0) this.#writeChunk();
    settle();
    await this.#sync();
    this.#readable = this.#written;
    this.#finishAs("whole");
  }

  /** Breaks the body for every reader. */
  break(): void {
    this.#stopFlush();
    this.#finishAs("broken");
    this.#readers.abort(new Error(BROKEN));
  }

  /** To be called when the body is too large to keep: its readers get all of it, but later requests get none of it. */
  stopKeeping(): void {
    // Chunks are deleted once they are read. Disowned, so that the last ones are erased too, also after a crash.
    this.#options.bodies.disown(this.#body);
    this.#kept = false;
    this.#dropRead();
  }

  /**
   * The body as it arrives, from its first byte or from a position that has been written. `length` is the length of the whole body
   * that the origin declared; `null` if none.
   */
  reader(length: number | null, from = START): ReadableStream<Uint8Array> {
    const left = length === null ? null : length - from.bytes;
    const reader = this.#join(from);
    const body = this.#following(reader, () => this.#readable);
    const pipe = bytePipe(skipBytes(body, from.bytes - from.before), left, this.#options.patience);
    reader.abort = pipe.abort;
    return pipe.readable;
  }

  /** The durable part of the body from its first byte, for the upload to R2. */
  follow(): BodyReader {
    return this.#following(this.#join(START), () => this.#durable);
  }

  /** Resolves when so many bytes are durable; rejects when the body is broken. `bytes` is called again at each change. */
  async untilDurable(bytes: () => number): Promise<void> {
    while (this.#durableBytes < bytes()) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#end !== "open") throw new Error(BROKEN);
      await this.#change.next;
    }
  }

  /** A body that no record owns gets its number when it is first needed. */
  get #body(): BodyNumber {
    this.#number ??= this.#options.owner?.body ?? this.#options.bodies.allot();
    return this.#number;
  }

  #join({ chunk }: BodyPosition): SpoolReader {
    const { bodies } = this.#options;
    const reader = this.#readers.add(new ChunkCursor(bodies, this.#body, chunk, this.#options.cipher));
    bodies.hold(this.#body);
    return reader;
  }

  /** Reads chunk by chunk, below the number that `limit` returns, and waits for more. */
  #following(reader: SpoolReader, limit: () => number): BodyReader {
    const { cursor } = reader;
    const next = async (): Promise<NextPiece> => {
      for (;;) {
        if (this.#end === "broken") throw new Error(BROKEN);
        if (cursor.number < limit()) {
          const { number } = cursor;
          const reading = this.#readers.read(reader);
          const piece = reading instanceof Promise ? await reading : reading;
          if (cursor.number !== number) {
            this.#dropRead();
            this.#change.notify();
          }
          if (piece !== null) return piece;
        } else if (this.#end === "whole") return WHOLE;
        else await this.#change.next;
      }
    };
    return { next, cancel: () => this.#leave(reader) };
  }

  async #sync(): Promise<void> {
    await this.#options.sync();
    this.#durable = this.#written;
    this.#durableBytes = this.#writtenBytes;
  }

  #leave(reader: SpoolReader): void {
    if (!this.#readers.remove(reader)) return;
    this.#dropRead();
    this.#readers.forgetUnread();
    this.#change.notify();
    this.#options.bodies.release(this.#body);
  }

  #stopFlush(): void {
    this.#flushDue?.cancel();
    this.#flushDue = null;
  }

  /** Writes the bytes that have come; readers see them when they are durable. One flush at a time, in order. */
  flush(): Promise<void> {
    this.#stopFlush();
    this.#flushing = this.#flushAfter(this.#flushing);
    return this.#flushing;
  }

  async #flushAfter(before: Promise<void>): Promise<void> {
    await before;
    if (this.#end !== "open" || this.#failure !== null) return;
    try {
      if (this.#options.cipher === null) this.#writeChunk();
      else await this.#writeEncrypted(this.#options.cipher);
      await this.#sync();
      if (this.#writtenBytes < (this.#options.length ?? Number.POSITIVE_INFINITY)) this.#readable = this.#written;
    } catch (error) {
      this.#failure = error;
    }
    this.#change.notify();
  }

  #writeChunk(): void {
    if (this.#filling.size === 0) return;
    const bytes = this.#filling.take();
    this.#append(bytes, bytes);
  }

  async #writeEncrypted(cipher: BodyCipher): Promise<void> {
    if (this.#filling.size === 0) return;
    const bytes = this.#filling.take();
    this.#isEncrypting = true;
    try {
      const encrypted = await cipher.encrypt(bytes, placeInChunk(this.#written, 0));
      // The body may have broken off meanwhile.
      if (this.#end === "open") this.#append(bytes, encrypted);
      freeBytes(encrypted);
    } finally {
      this.#isEncrypting = false;
    }
  }

  /** Writes a chunk of which readers get `bytes`. */
  #append(bytes: Uint8Array, stored: Uint8Array): void {
    const { byteLength } = bytes;
    this.#hold();
    const head = this.#written === 0 ? (this.#options.owner?.head ?? null) : null;
    this.#options.bodies.append(this.#body, this.#written, stored, head);
    this.#readers.written(this.#written, bytes);
    this.#written += 1;
    this.#writtenBytes += byteLength;
  }

  /** Holds the body in the store from before its first chunk until its end. */
  #hold(): void {
    if (this.#isHeld) return;
    const { bodies, owner } = this.#options;
    if (owner !== null) bodies.hold(this.#body);
    else bodies.lend(this.#body);
    this.#isHeld = true;
  }

  /** Waits until the slowest reader is within the window. This ends, because an idle reader is disconnected. */
  async #untilRead(): Promise<void> {
    while (this.#written - this.#readers.slowest(this.#written) > this.#options.windowChunks) await this.#change.next;
  }

  /** Drops the chunks that every reader has read. */
  #dropRead(): void {
    const slowest = this.#readers.slowest(this.#written);
    if (!this.#kept) this.#options.bodies.deleteBelow(this.#body, slowest);
    this.#readers.forgetBelow(slowest);
  }

  #finishAs(end: Exclude<End, "open">): void {
    if (this.#isHeld) this.#options.bodies.release(this.#body);
    this.#isHeld = false;
    this.#end = end;
    this.#filling.free();
    this.#readers.forgetUnread();
    this.#change.notify();
  }
}
