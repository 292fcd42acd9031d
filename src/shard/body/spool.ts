// The body of one response on its way: from the origin into the store, and from there to all readers, each at its own speed.
// No reader sees a byte before it is durable (G4), no reader slows the origin down, and a body that ends early breaks for every
// reader. A body that is small and quick never touches a chunk row: it is handed over whole.
//
// Memory: one chunk that fills, one that is being written, and one for each reader (src/shard/body/README.md, "Memory").

import { type BodyReader, type NextPiece, skipBytes, WHOLE } from "../../http/body-reader.ts";
import { type Bodies } from "../store/bodies.ts";
import type { Due } from "../timers.ts";
import { bytePipe, type Patience } from "./byte-pipe.ts";
import { FillingChunk } from "./chunk.ts";
import { type BodyPosition, START } from "./event-offsets.ts";
import { type SpoolReader, SpoolReaders } from "./spool-readers.ts";
import { ChunkCursor } from "./stored-stream.ts";

export interface SpoolOptions {
  readonly bodies: Bodies;
  /** The body's name in the store. */
  readonly name: string;
  /** Whether a record will own the body; a body without an owner is erased when nobody reads it, also after a crash. */
  readonly isOwned: boolean;
  /** How long it is by the origin's word; `null` when that says nothing. Its last bytes are its end, and are shown with the end. */
  readonly length: number | null;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  /** How long the first bytes may wait for more, so that a quick body is written once. */
  readonly firstFlushMs: number;
  /** How far a body that is not kept may run ahead of its slowest reader, in chunks. */
  readonly windowChunks: number;
  /** For each of its readers, whether the body is kept or not. */
  readonly patience: Patience;
}

/** Bytes that come slowly are written together: with 40 commits a second, nobody sees the steps. */
const FLUSH_MS = 25;

const BROKEN = "the origin's response broke off";

type End = "open" | "whole" | "broken";

/** Wakes those who wait for a change; each checks again whether it was the one. */
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
  /** Bytes taken so far. */
  bytes = 0;
  /** Chunks written, and chunks that readers may see. */
  #written = 0;
  #readable = 0;
  /** The same in bytes. */
  #writtenBytes = 0;
  /** What is durable, which is all that `follow` may see. */
  #durable = 0;
  #durableBytes = 0;
  #end: End = "open";
  /** Whether it holds its body in the store. */
  #isHeld = false;
  /** Whether the body is kept; where it is not, chunks are deleted as soon as every reader has read them. */
  #kept = true;
  /** When the bytes that have come are written. */
  #flushDue: Due | null = null;
  #flushing: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  readonly #change = new Signal();
  readonly #readers = new SpoolReaders();

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** How many chunks it has in the store. */
  get chunks(): number {
    return this.#written;
  }

  /** Copies the next bytes. Resolves when it has them all and there is room for more. */
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

  /** All bytes, as long as none of them is in the store and nobody reads; `null` from then on. */
  takeWhole(): Uint8Array | null {
    if (this.#failure !== null) throw this.#failure;
    if (this.#written > 0 || this.#readers.count > 0) return null;
    this.#stopFlush();
    const bytes = this.#filling.take();
    this.#finishAs("whole");
    return bytes;
  }

  /** Resolves when readers can begin, or when the body has ended before. */
  async readable(): Promise<void> {
    while (this.#readable === 0 && this.#end === "open") await this.#change.next;
  }

  /**
   * Writes what is left, and calls `settle` in the same commit: the record never says "whole" of a body that is not. Readers see
   * the end only when it is durable.
   */
  async finish(settle: () => void): Promise<void> {
    this.#stopFlush();
    await this.#flushing;
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

  /** The body is too large to keep: its readers get all of it, but nothing is stored for others. */
  stopKeeping(): void {
    // Chunks are deleted as they are read. The last ones have to be erased too, also after a crash.
    this.#options.bodies.disown(this.#options.name);
    this.#kept = false;
    this.#dropRead();
  }

  /**
   * The body from its first byte, or from a position that has been written, as it comes. `length` is the length of the whole body
   * by the origin's word; `null` when that says nothing.
   */
  reader(length: number | null, from = START): ReadableStream<Uint8Array> {
    const left = length === null ? null : length - from.bytes;
    const reader = this.#join(from);
    const body = this.#following(reader, () => this.#readable);
    const pipe = bytePipe(skipBytes(body, from.bytes - from.before), left, this.#options.patience);
    reader.abort = pipe.abort;
    return pipe.readable;
  }

  /** The body from its first byte, as far as it is durable, for the upload to R2. */
  follow(): BodyReader {
    return this.#following(this.#join(START), () => this.#durable);
  }

  /** Resolves when `follow` has so many bytes; rejects when the body has broken. `bytes` is called again at each change. */
  async untilDurable(bytes: () => number): Promise<void> {
    while (this.#durableBytes < bytes()) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#end !== "open") throw new Error(BROKEN);
      await this.#change.next;
    }
  }

  #join({ chunk }: BodyPosition): SpoolReader {
    const { bodies, name } = this.#options;
    const reader = this.#readers.add(new ChunkCursor(bodies, name, chunk));
    bodies.hold(name);
    return reader;
  }

  /** What comes, chunk by chunk, below the number that `limit` gives. */
  #following(reader: SpoolReader, limit: () => number): BodyReader {
    const { cursor } = reader;
    const next = async (): Promise<NextPiece> => {
      for (;;) {
        if (this.#end === "broken") throw new Error(BROKEN);
        if (cursor.number < limit()) {
          const { number } = cursor;
          const piece = this.#readers.read(reader);
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
    this.#options.bodies.release(this.#options.name);
  }

  #stopFlush(): void {
    this.#flushDue?.cancel();
    this.#flushDue = null;
  }

  /** Writes the bytes that have come, and shows them when they are durable. One flush at a time, in order. */
  flush(): Promise<void> {
    this.#stopFlush();
    this.#flushing = this.#flushAfter(this.#flushing);
    return this.#flushing;
  }

  async #flushAfter(before: Promise<void>): Promise<void> {
    await before;
    if (this.#end !== "open" || this.#failure !== null) return;
    try {
      this.#writeChunk();
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
    const { byteLength } = bytes;
    this.#hold();
    this.#options.bodies.append(this.#options.name, this.#written, bytes);
    this.#readers.written(this.#written, bytes);
    this.#written += 1;
    this.#writtenBytes += byteLength;
  }

  /** Holds the body in the store, from before its first chunk until its end. */
  #hold(): void {
    if (this.#isHeld) return;
    const { bodies, name, isOwned } = this.#options;
    if (isOwned) bodies.hold(name);
    else bodies.lend(name);
    this.#isHeld = true;
  }

  /** Waits until the slowest reader is near. A reader that does not move at all is let go, so this ends. */
  async #untilRead(): Promise<void> {
    while (this.#written - this.#readers.slowest(this.#written) > this.#options.windowChunks) await this.#change.next;
  }

  /** Drops what every reader has read. */
  #dropRead(): void {
    const slowest = this.#readers.slowest(this.#written);
    if (!this.#kept) this.#options.bodies.deleteBelow(this.#options.name, slowest);
    this.#readers.forgetBelow(slowest);
  }

  #finishAs(end: Exclude<End, "open">): void {
    if (this.#isHeld) this.#options.bodies.release(this.#options.name);
    this.#isHeld = false;
    this.#end = end;
    this.#filling.free();
    this.#readers.forgetUnread();
    this.#change.notify();
  }
}
