// The body of one response on its way: from the origin into the ledger, and from there to all who read it, each at their
// own speed. No byte is shown to a reader before it is durable (G4), a reader's speed is never the origin's, and a body
// that ends early breaks for everybody. A body that is small and quick never touches a chunk row: it is handed over whole.
//
// Memory: one chunk that fills, one that is being written, and one for each reader (README, "Memory").

import { type Bodies, CHUNK_BYTES } from "./bodies.ts";
import { FillingChunk } from "./filling-chunk.ts";

export interface SpoolOptions {
  readonly bodies: Bodies;
  /** The body's name in the ledger. */
  readonly name: string;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  /** How long the first bytes may wait for company, so that a quick body is written once. */
  readonly firstFlushMs: number;
  /** How long the reading of a body that is not kept waits for a reader that does not move, before it is let go. */
  readonly patienceMs: number;
}

/** Bytes that come in a trickle are written together: at 40 commits a second no eye sees the steps. */
const FLUSH_MS = 25;

/** How far the reading of a body that is not kept may run ahead of its slowest reader. */
const WINDOW_CHUNKS = 16;

interface Reader {
  /** The chunk that it reads next. */
  next: number;
}

type End = "open" | "whole" | "broken";

export class Spool {
  readonly #options: SpoolOptions;
  readonly #filling = new FillingChunk();
  /** Bytes taken so far. */
  bytes = 0;
  /** Chunks written, and chunks that readers may see. */
  #written = 0;
  #shown = 0;
  #latest: { readonly number: number; readonly bytes: Uint8Array } | null = null;
  #end: End = "open";
  /** Whether the body is kept; when not, chunks go as soon as everybody has read them. */
  #kept = true;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #flushing: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  #change = Promise.withResolvers<void>();
  readonly #readers = new Set<Reader>();

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** How many chunks it has in the ledger. */
  get chunks(): number {
    return this.#written;
  }

  /** Takes the next bytes. Resolves when it has them all and there is room for more. */
  async write(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.byteLength;
    if (!this.#kept && this.#readers.size === 0) return;
    let at = 0;
    while (at < bytes.byteLength) {
      at += this.#filling.fill(bytes.subarray(at));
      if (this.#filling.size === CHUNK_BYTES) await this.flush();
    }
    const delayMs = this.#written === 0 ? this.#options.firstFlushMs : FLUSH_MS;
    if (this.#filling.size > 0) this.#timer ??= setTimeout(() => void this.flush(), delayMs);
    if (this.#failure !== null) throw this.#failure;
    if (!this.#kept) await this.#untilRead();
  }

  /** All bytes, as long as none of them is in the ledger; `null` from then on. */
  takeWhole(): Uint8Array | null {
    if (this.#written > 0) return null;
    this.#stopTimer();
    return this.#filling.take();
  }

  /** Resolves when readers can begin, or when the body has ended before. */
  async begun(): Promise<void> {
    while (this.#shown === 0 && this.#end === "open") await this.#change.promise;
  }

  /**
   * Writes what is left, and `settle`s in the same commit: the record never says that a body is whole which is not.
   * Readers see its end only when that is durable.
   */
  async finish(settle: () => void): Promise<void> {
    this.#stopTimer();
    await this.#flushing;
    if (this.#failure !== null) throw this.#failure;
    if (this.#kept || this.#readers.size > 0) this.#writeChunk();
    settle();
    await this.#options.sync();
    this.#shown = this.#written;
    this.#tell("whole");
  }

  /** Breaks the body for all who read it. */
  break(): void {
    this.#stopTimer();
    this.#tell("broken");
  }

  /** The body is too large to keep: those who read it get it all, but nothing is stored for others. */
  stopKeeping(): void {
    this.#kept = false;
    this.#dropRead();
  }

  /** The body from its first byte, or from `skipBytes` on, as it comes. */
  reader(skipBytes = 0): ReadableStream<Uint8Array> {
    const reader = { next: 0 };
    let skip = skipBytes;
    this.#readers.add(reader);
    this.#options.bodies.hold(this.#options.name);
    const leave = (): void => {
      if (!this.#readers.delete(reader)) return;
      this.#dropRead();
      this.#notify();
      this.#options.bodies.release(this.#options.name);
    };
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          for (;;) {
            if (this.#end === "broken" || !this.#readers.has(reader)) {
              leave();
              throw new Error("the origin's response broke off, or its reader was too slow");
            }
            if (reader.next < this.#shown) {
              const bytes = this.#read(reader.next);
              reader.next += 1;
              this.#dropRead();
              this.#notify();
              const rest = bytes.subarray(Math.min(skip, bytes.byteLength));
              skip -= bytes.byteLength - rest.byteLength;
              if (rest.byteLength === 0) continue;
              controller.enqueue(rest);
              return;
            }
            if (this.#end === "whole") {
              leave();
              controller.close();
              return;
            }
            await this.#change.promise;
          }
        },
        cancel: leave,
      },
      { highWaterMark: 0 },
    );
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #read(number: number): Uint8Array {
    if (this.#latest?.number === number) return this.#latest.bytes;
    const bytes = this.#options.bodies.read(this.#options.name, number);
    if (bytes === null) throw new Error(`chunk ${number} is gone`);
    return bytes;
  }

  /** Writes what has come together and shows it when it is durable. One at a time, in order. */
  flush(): Promise<void> {
    this.#stopTimer();
    this.#flushing = this.#flushAfter(this.#flushing);
    return this.#flushing;
  }

  async #flushAfter(before: Promise<void>): Promise<void> {
    await before;
    if (this.#end !== "open" || this.#failure !== null) return;
    try {
      this.#writeChunk();
      await this.#options.sync();
      this.#shown = this.#written;
      this.#notify();
    } catch (error) {
      this.#failure = error;
    }
  }

  #writeChunk(): void {
    if (this.#filling.size === 0) return;
    const bytes = this.#filling.take();
    if (this.#written === 0) this.#options.bodies.hold(this.#options.name);
    this.#options.bodies.append(this.#options.name, this.#written, bytes);
    this.#latest = { number: this.#written, bytes };
    this.#written += 1;
  }

  /** Waits until the slowest reader is near. One that does not move at all is let go: it must not hold up a lock. */
  async #untilRead(): Promise<void> {
    for (;;) {
      const slowest = this.#slowest();
      if (this.#readers.size === 0 || this.#written - slowest <= WINDOW_CHUNKS) return;
      const patience = setTimeout(() => this.#letGo(slowest), this.#options.patienceMs);
      await this.#change.promise;
      clearTimeout(patience);
    }
  }

  #letGo(next: number): void {
    for (const reader of this.#readers) {
      if (reader.next !== next) continue;
      this.#readers.delete(reader);
      this.#options.bodies.release(this.#options.name);
    }
    this.#dropRead();
    this.#notify();
  }

  #slowest(): number {
    return Math.min(this.#written, ...Array.from(this.#readers, ({ next }) => next));
  }

  #dropRead(): void {
    if (!this.#kept) this.#options.bodies.deleteBelow(this.#options.name, this.#slowest());
  }

  #tell(end: End): void {
    if (this.#end === "open" && this.#written > 0) this.#options.bodies.release(this.#options.name);
    this.#end = end;
    this.#notify();
  }

  #notify(): void {
    const { resolve } = this.#change;
    this.#change = Promise.withResolvers<void>();
    resolve();
  }
}
